// Waits, lengths and paces of a fragment's steps, and what is changed in them on request.
#include "compiler/cost/FragmentShape.h"

#include "compiler/cost/Exchange.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Tiers.h"

#include <algorithm>
#include <map>

namespace npar::cost {

using program::StepKind;

double filledPart(const program::Program &program, const program::Step &step) {
  if (step.kind() == StepKind::Kernel)
    return program.kernels()->Get(step.payload())->filled();
  if (step.kind() == StepKind::Collective)
    return program.collectives()->Get(step.payload())->filled();
  if (step.kind() != StepKind::Matmul)
    return 1;
  const program::Matmul &product = *program.matmuls()->Get(step.payload());
  if (product.grouping() == program::Grouping::None)
    return 1;
  return step.flops() / (2.0 * static_cast<double>(product.m()) * static_cast<double>(product.n()) * static_cast<double>(product.k()) *
                         static_cast<double>(product.batch()->Get(0)));
}

bool computes(const program::Step &step) {
  return step.kind() != StepKind::Collective && step.kind() != StepKind::Send && step.kind() != StepKind::Receive;
}

namespace {

struct Maker {
  const program::Program &program;
  const program::RankClass &rankClass;
  const program::Fragment &fragment;
  const std::vector<int64_t> &ranks; ///< one on each kind of host
  const Topology &topology;
  const Deviations &deviations;

  FragmentShape run() const {
    FragmentShape shape;
    size_t count = fragment.steps()->size();
    shape.waits.resize(count), shape.followers.resize(count), shape.messages.resize(count);
    for (uint32_t place = 0; place < count; ++place) {
      const program::Step &step = *fragment.steps()->Get(place);
      bool waitsForNobody = deviations.postValidated && makesNorm(step);
      for (uint32_t i = 0; i < step.dependency_count(); ++i) {
        uint32_t before = fragment.dependencies()->Get(step.first_dependency() + i);
        if (waitsForNobody && fragment.steps()->Get(before)->kind() == StepKind::Collective)
          continue;
        ++shape.waits[place];
        shape.followers[before].push_back(place);
      }
      if (!computes(step))
        shape.messages[place] = message(step);
      if (!program::isAsync(step))
        shape.chain.push_back(place);
    }
    if (deviations.taskTimes)
      joinMessages(shape);
    shape.seconds = seconds();
    for (const program::Step *step : *fragment.steps())
      shape.tiers.push_back(program::tiersOfCopy(rankClass, fragment, *step));
    for (uint32_t place = 0; place < count; ++place)
      if (fragment.steps()->Get(place)->kind() == StepKind::Collective)
        passBeside(shape, place);
    shape.reports = reports(shape);
    return shape;
  }

  double slowed(double seconds, LinkLevel level) const {
    return deviations.messages.empty() ? seconds : seconds * deviations.messages[static_cast<size_t>(level)];
  }

  /// The message as the slowest of the ranks sees it.
  Message message(const program::Step &step) const {
    Message slowest = message(step, ranks.front());
    for (size_t other = 1; other < ranks.size(); ++other)
      if (Message one = message(step, ranks[other]); one.seconds > slowest.seconds)
        slowest = one;
    return slowest;
  }

  Message message(const program::Step &step, int64_t rank) const {
    Message message;
    if (step.kind() != StepKind::Collective) {
      const program::Transfer &transfer = *program.transfers()->Get(step.payload());
      std::vector<int64_t> peer = program::coordinatesOf(program, rank);
      peer[transfer.axis()] = transfer.peer();
      if (deviations.taskTimes) {
        message.seconds = deviations.taskTimes->message;
        return message;
      }
      std::vector<int64_t> both{rank, program::rankAt(program, peer)};
      LinkLevel level = topology.levelBetween(both[0], both[1]);
      const Machine &machine = topology.machineJoining(both);
      message.seconds =
          slowed(transferSeconds(machine, static_cast<double>(transfer.count() * program::sizeOf(transfer.type())), level), level);
      message.holds = message.seconds * linkOf(machine, level).holds;
      message.links.push_back({level, 1});
      return message;
    }
    const program::Collective &collective = *program.collectives()->Get(step.payload());
    std::vector<int64_t> group = program::groupOf(program, collective, rank);
    GroupSpan span = topology.spanOf(group);
    const Machine &machine = topology.machineJoining(group);
    double bytes = 0;
    for (uint32_t part = 0; part < program::partsOf(step); ++part) {
      const program::Collective &piece = *program.collectives()->Get(step.payload() + part);
      double input = static_cast<double>(piece.count() * program::sizeOf(piece.type()));
      bytes += piece.kind() == program::CollectiveKind::AllGather ? input * span.members : input;
    }
    if (collective.kind() == program::CollectiveKind::AllToAll) {
      ExchangedBytes exchanged = sent(collective, bytes, span);
      message.seconds = slowed(exchangeSeconds(machine, exchanged, span), span.level);
      message.links = linksOf(machine, exchanged, span);
    } else {
      message.seconds = slowed(collectiveSeconds(machine, collective.kind(), bytes, span), span.level);
      message.links = linksOf(machine, span);
    }
    message.beside = linkOf(machine, span.level).beside;
    message.members = span.members;
    return message;
  }

  /// Bytes that the members of an all-to-all send: of the rows that exist, the parts that the deviations leave.
  ExchangedBytes sent(const program::Collective &collective, double bytes, const GroupSpan &span) const {
    bool isOfRows = collective.places() > 0 || collective.filled() < 1;
    ExchangedBytes sent = exchangedBytes(deviations.worstLoad ? bytes : bytes * collective.filled(), span);
    if (!isOfRows || (deviations.sentToRanks == 1 && deviations.sentToHosts == 1))
      return sent;
    // rows that have reached a host are passed on from there
    double near = span.level <= LinkLevel::Host ? span.members : span.inside;
    sent.near = (sent.near + sent.far * (near - 1) / near) * deviations.sentToRanks;
    sent.far *= deviations.sentToHosts;
    return sent;
  }

  /// Compute steps wait for everything received, and everything sent waits for the compute steps.
  void joinMessages(FragmentShape &shape) const {
    auto wait = [&](uint32_t place, uint32_t before) { ++shape.waits[place], shape.followers[before].push_back(place); };
    for (uint32_t place = 0; place < shape.waits.size(); ++place)
      for (uint32_t other = 0; other < shape.waits.size(); ++other)
        if (computes(*fragment.steps()->Get(other))) {
          if (fragment.steps()->Get(place)->kind() == StepKind::Receive)
            wait(other, place);
          else if (fragment.steps()->Get(place)->kind() == StepKind::Send)
            wait(place, other);
        }
  }

  double pace() const {
    if (!deviations.taskTimes)
      return 1;
    const TaskTimes &times = *deviations.taskTimes;
    double chunks = 0, planned = 0, wanted = 0;
    bool parted = false;
    for (const program::Fragment *other : *rankClass.fragments()) {
      chunks += other->phase() == fragment.phase();
      parted |= other->phase() == program::Phase::Weight;
    }
    for (const program::Step *step : *fragment.steps())
      planned += computes(*step) ? step->end() - step->begin() : 0;
    if (fragment.phase() == program::Phase::Forward)
      wanted = times.forward;
    else if (fragment.phase() == program::Phase::Backward)
      wanted = times.backward + (parted ? 0 : times.weight);
    else if (fragment.phase() == program::Phase::Weight)
      wanted = times.weight;
    return planned > 0 ? wanted / chunks / planned : 0;
  }

  /// Identifies the work of a step on rows, whatever part of the rows exists. The rounds of a buffer for experts have equal work.
  std::vector<double> workOf(const program::Step &step) const {
    if (step.kind() == StepKind::Kernel) {
      const program::Kernel &kernel = *program.kernels()->Get(step.payload());
      return {0, static_cast<double>(kernel.extent()), kernel.flops()};
    }
    const program::Matmul &product = *program.matmuls()->Get(step.payload());
    return {1, static_cast<double>(product.m()), static_cast<double>(product.n()), static_cast<double>(product.k()),
            static_cast<double>(product.grouping())};
  }

  /// Seconds of steps without their launch if all their rows exist, by their work; of those that have rows at a balanced load.
  std::map<std::vector<double>, double> worstSeconds() const {
    std::map<std::vector<double>, double> worst;
    if (deviations.worstLoad)
      for (const program::Step *step : *fragment.steps())
        if (double filled = filledPart(program, *step);
            (step->kind() == StepKind::Kernel || step->kind() == StepKind::Matmul) && filled > 0)
          worst.emplace(workOf(*step), withoutLaunch(*step) / filled);
    return worst;
  }

  double withoutLaunch(const program::Step &step) const {
    return std::max(0.0, step.end() - step.begin() - topology.machineOf(ranks.front()).launch);
  }

  /// Seconds of a computing step: as planned for a balanced load, or for the worst. A step without rows at a balanced load takes as long as
  /// one with the same work.
  double lasting(const program::Step &step, const std::map<std::vector<double>, double> &worst) const {
    double planned = step.end() - step.begin(), filled = filledPart(program, step);
    if (!deviations.worstLoad || filled >= 1)
      return planned;
    double work = withoutLaunch(step);
    if (filled > 0)
      return planned - work + work / filled;
    auto other = worst.find(workOf(step));
    return other == worst.end() ? planned : planned - work + std::max(work, other->second);
  }

  /// Of computing steps. Times of tasks that were measured have all in them.
  std::vector<double> seconds() const {
    std::vector<double> seconds(fragment.steps()->size());
    double times = pace();
    const std::map<std::vector<double>, double> worst = worstSeconds();
    for (uint32_t place = 0; place < seconds.size(); ++place)
      if (const program::Step &step = *fragment.steps()->Get(place); computes(step)) {
        seconds[place] = lasting(step, worst) * times;
        if (deviations.sumsApart && !deviations.taskTimes)
          seconds[place] += sumSeconds(step);
      }
    return seconds;
  }

  /// Seconds of a separate pass that adds a product to its sum over micro-batches: it reads the product and the sum and writes the
  /// sum.
  double sumSeconds(const program::Step &step) const {
    if (step.kind() != StepKind::Matmul || !program::runsPerMicro(fragment.phase()))
      return 0;
    const program::Matmul &product = *program.matmuls()->Get(step.payload());
    if (!product.accumulate())
      return 0;
    double values = static_cast<double>(product.m() * product.n());
    bool sumsSamples = product.grouping() == program::Grouping::Depth; // the first of its loops
    for (uint32_t loop = sumsSamples ? 1 : 0; loop < product.batch()->size(); ++loop)
      values *= static_cast<double>(product.batch()->Get(loop));
    Operation sum;
    sum.work = Work::Kernel;
    sum.type = product.result();
    sum.operations = values;
    sum.bytes = values * static_cast<double>(program::sizeOf(product.type()) + 2 * program::sizeOf(product.result()));
    double seconds = 0;
    for (int64_t rank : ranks)
      seconds = std::max(seconds, stepDuration(topology.machineOf(rank), sum).seconds);
    return seconds;
  }

  /// A collective that is cut in pieces, each of which goes while the product that made it or takes it works on another: of n members'
  /// pieces the first or the last one is waited for (Wang et al. 2023, "Overlap Communication with Dependent Computation via
  /// Decomposition").
  void passBeside(FragmentShape &shape, uint32_t place) const {
    const program::Step &step = *fragment.steps()->Get(place);
    Message &message = shape.messages[place];
    double share = message.beside, product = 0;
    if (share <= 0 || step.free())
      return;
    auto take = [&](uint32_t neighbour) {
      const program::Step &other = *fragment.steps()->Get(neighbour);
      if (other.kind() == StepKind::Matmul)
        product = std::max(product, other.end() - other.begin());
    };
    std::for_each(shape.followers[place].begin(), shape.followers[place].end(), take);
    for (uint32_t i = 0; i < step.dependency_count(); ++i)
      take(fragment.dependencies()->Get(step.first_dependency() + i));
    message.seconds -= share * std::min(product, message.seconds * (message.members - 1) / message.members);
  }

  /// Returns whether the step computes the gradients' norm from the ranks' sums and thereby decides whether to update.
  bool makesNorm(const program::Step &step) const {
    for (const program::Output *output : *rankClass.outputs())
      for (uint32_t place = 0; place < step.outputs() && output->name()->str() == "grad_norm"; ++place) {
        const program::Operand &operand = *fragment.operands()->Get(step.first_operand() + step.inputs() + place);
        if (fragment.phase() == program::Phase::Update && operand.region() == 0 && operand.offset() == output->offset())
          return true;
      }
    return false;
  }

  bool isKept(const program::Operand &operand) const {
    return operand.region() == 0 && std::any_of(rankClass.pieces()->begin(), rankClass.pieces()->end(), [&](const program::Piece *piece) {
             return operand.offset() < piece->offset() + piece->bytes() && piece->offset() < operand.offset() + operand.bytes();
           });
  }

  /// Steps of the update that make numbers for people, such as the gradients' norm where nothing is clipped.
  std::vector<char> reports(const FragmentShape &shape) const {
    std::vector<char> reports(shape.waits.size(), fragment.phase() == program::Phase::Update);
    for (size_t place = reports.size(); place-- > 0 && fragment.phase() == program::Phase::Update;) {
      const program::Step &step = *fragment.steps()->Get(static_cast<uint32_t>(place));
      for (uint32_t follower : shape.followers[place])
        reports[place] = reports[place] && reports[follower];
      for (uint32_t output = 0; output < step.outputs() && reports[place]; ++output)
        reports[place] = !isKept(*fragment.operands()->Get(step.first_operand() + step.inputs() + output));
    }
    return reports;
  }
};

} // namespace

FragmentShape shapeOf(const program::Program &program, const program::RankClass &rankClass, const program::Fragment &fragment,
                      const std::vector<int64_t> &ranks, const Topology &topology, const Deviations &deviations) {
  return Maker{program, rankClass, fragment, ranks, topology, deviations}.run();
}

} // namespace npar::cost
