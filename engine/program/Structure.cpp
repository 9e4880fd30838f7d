// Checks that every index of a program is in range and every size fits, so that all later code may index without asking.
#include "engine/program/Attentions.h"
#include "engine/program/CheckpointRules.h"
#include "engine/program/Checks.h"
#include "engine/program/Describe.h"
#include "engine/program/Elements.h"
#include "engine/program/HostPlacement.h"
#include "engine/program/Pieces.h"
#include "engine/program/Precision.h"
#include "engine/program/Ranks.h"
#include "engine/program/RateWords.h"
#include "engine/program/SizeCheck.h"
#include "engine/program/Steps.h"
#include "engine/program/Tiers.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <limits>
#include <set>

namespace npar::program {
namespace {

bool fits(uint64_t offset, uint64_t bytes, uint64_t limit) { return offset <= limit && bytes <= limit - offset; }

/// Collects the first thing that is wrong; every method returns true when all is well.
class Structure {
public:
  explicit Structure(const Program &program) : program(program) {}

  std::string run() {
    if (wrong = wrongCheckpointRule(program); !wrong.empty())
      return wrong;
    if (checkMesh() && take(checkInputs(program)) && take(checkData(program)) && take(checkResults(program)) &&
        take(checkAttentions(program)) && take(checkMatmuls(program)) && take(checkCollectiveSizes(program)) && take(wrongRate(program)) &&
        checkTables() && checkVariables()) {
      for (const RankClass *rankClass : *program.classes())
        if (!checkClass(*rankClass))
          return wrong;
      take(checkKeptResults(program));
    }
    return wrong;
  }

private:
  const Program &program;
  std::string wrong;

  bool fail(std::string message) {
    if (wrong.empty())
      wrong = std::move(message);
    return false;
  }

  bool take(std::string found) { return found.empty() || fail(std::move(found)); }

  bool checkAxes(const flatbuffers::Vector<uint32_t> &axes, const std::string &what) {
    return take(program::checkAxes(program, axes, what));
  }

  bool checkMesh() {
    uint64_t world = 1;
    for (const MeshAxis *axis : *program.mesh()) {
      if (axis->size() == 0 || (world *= axis->size()) > (1u << 24))
        return fail("mesh axis '" + axis->name()->str() + "' of size " + number(axis->size()) + ": the mesh must hold 1 to 2^24 ranks");
    }
    if (program.micro_count() < 1 || program.micro_count() > (1 << 24))
      return fail("micro_count is " + std::to_string(program.micro_count()));
    if (!known(program.compute()))
      return fail("unknown element type of computation");
    if (!known(program.products()))
      return fail("unknown order of products");
    if (program.classes()->size() == 0)
      return fail("no rank class");
    uint64_t combinations = 1;
    std::set<std::vector<int64_t>> seen;
    for (const RankClass *rankClass : *program.classes()) {
      std::vector<int64_t> fixed(program.mesh()->size(), -1);
      for (const Coordinate *coordinate : *rankClass->fixed()) {
        if (coordinate->axis() >= program.mesh()->size() || coordinate->value() >= program.mesh()->Get(coordinate->axis())->size() ||
            fixed[coordinate->axis()] != -1)
          return fail("class '" + rankClass->name()->str() + "' fixes coordinate " + number(coordinate->value()) + " of mesh axis " +
                      number(coordinate->axis()));
        fixed[coordinate->axis()] = coordinate->value();
        if (rankClass == program.classes()->Get(0))
          combinations *= program.mesh()->Get(coordinate->axis())->size();
      }
      if (!seen.insert(fixed).second)
        return fail("class '" + rankClass->name()->str() + "' has the fixed coordinates of another class");
      if (rankClass->fixed()->size() != program.classes()->Get(0)->fixed()->size())
        return fail("class '" + rankClass->name()->str() + "' fixes other mesh axes than the first class");
      for (const Coordinate *coordinate : *program.classes()->Get(0)->fixed())
        if (fixed[coordinate->axis()] == -1)
          return fail("class '" + rankClass->name()->str() + "' fixes other mesh axes than the first class");
    }
    if (combinations != program.classes()->size())
      return fail(number(program.classes()->size()) + " classes for " + number(combinations) + " fixed coordinates");
    return checkAxes(*program.data_axes(), "data_axes") && checkPlace();
  }

  bool checkPlace() {
    if (!program.place())
      return true;
    engine::Result<PlaceOrder> order = placeOrder(program, placeOf(program));
    return order.ok() || fail(order.status().message());
  }

  bool checkTables() {
    if (program.table_parameters() > program.active_parameters() || program.active_parameters() > program.parameters())
      return fail("of " + number(program.parameters()) + " parameters " + number(program.active_parameters()) +
                  " are active, and of these " + number(program.table_parameters()) + " are in tables");
    for (const Transfer *transfer : *program.transfers())
      if (transfer->axis() >= program.mesh()->size() || !known(transfer->type()) || transfer->count() > largestSize / 8 ||
          transfer->peer() >= program.mesh()->Get(transfer->axis())->size())
        return fail("a transfer to coordinate " + number(transfer->peer()) + " of mesh axis " + number(transfer->axis()) +
                    ", which does not exist");
    for (const Kernel *kernel : *program.kernels())
      if (kernel->extent() < 0)
        return fail("kernel '" + kernel->symbol()->str() + "' has extent " + std::to_string(kernel->extent()));
      else if (!isPart(kernel->filled()))
        return fail("kernel '" + kernel->symbol()->str() + "', of whose elements the part " + std::to_string(kernel->filled()) + " exists");
    return true;
  }

  bool checkVariables() {
    for (const Variable *variable : *program.variables()) {
      std::string name = "variable '" + variable->name()->str() + "'";
      uint64_t elements = 0;
      if (!known(variable->kind()) || !known(variable->type()) || !known(variable->init()))
        return fail(name + " has an unknown kind or type");
      if (!product(*variable->shape(), elements) || elements > largestSize / 8 || variable->axes()->size() != variable->shape()->size())
        return fail(name + " has an impossible shape");
      if (variable->of() < -1 || variable->of() >= static_cast<int64_t>(program.variables()->size()))
        return fail(name + " refers to variable " + std::to_string(variable->of()) + ", which does not exist");
      if (variable->of() >= 0 && program.variables()->Get(variable->of())->frozen())
        return fail(name + " belongs to '" + program.variables()->Get(variable->of())->name()->str() + "', which is frozen and has none");
    }
    std::set<int32_t> withMaster;
    for (const Variable *variable : *program.variables()) {
      if (!isMaster(*variable))
        continue;
      const Variable *parameter = program.variables()->Get(variable->of());
      std::string name = "variable '" + variable->name()->str() + "' is ", of = "master of '" + parameter->name()->str() + "'";
      if (parameter->kind() != VariableKind::Parameter ||
          !std::equal(parameter->shape()->begin(), parameter->shape()->end(), variable->shape()->begin(), variable->shape()->end()))
        return fail(name + "the " + of + ", which has another shape or is no parameter");
      if (!withMaster.insert(variable->of()).second)
        return fail(name + "a second " + of);
    }
    return true;
  }

  bool checkClass(const RankClass &rankClass) {
    std::string name = "class '" + rankClass.name()->str() + "'";
    if (rankClass.regions()->size() == 0)
      return fail(name + " has no static region");
    const TierBytes tiers = tierBytesOf(rankClass);
    if (Wide(tiers[0]) + tiers[1] + tiers[2] > UINT64_MAX)
      return fail(name + " has more bytes than offsets count");
    if (tiers[static_cast<size_t>(Tier::File)] > 0 && !program.tier_folder())
      return fail(name + " has memory in files, and the program names no folder for them");
    if (rankClass.regions()->Get(0)->tier() != Tier::Device)
      return fail(name + " has its static region in the tier '" + wordOf(rankClass.regions()->Get(0)->tier()) + "'");
    for (uint32_t index = 0; index < rankClass.regions()->size(); ++index) {
      const Region *region = rankClass.regions()->Get(index);
      if (!known(region->tier()))
        return fail(name + ": region '" + region->name()->str() + "' is in an unknown tier");
      const uint64_t first = firstOf(tiers, region->tier()), room = tiers[static_cast<size_t>(region->tier())];
      Wide end = Wide(region->bytes()) * region->slots() + region->offset();
      if (region->offset() < first || end > Wide(first) + room || region->offset() % 64 || (region->slots() > 1 && region->bytes() % 64))
        return fail(name + ": region '" + region->name()->str() + "' of " + number(region->slots()) + " x " + number(region->bytes()) +
                    " bytes at " + number(region->offset()) + " does not fit " +
                    (region->tier() == Tier::Device ? "the arena" : "the tier '" + std::string(wordOf(region->tier())) + "'") + " of " +
                    number(room) + " bytes, or is not aligned to 64");
      if (region->slots() == 0 || (index == 0 && (region->offset() != 0 || region->slots() != 1)))
        return fail(name + ": region '" + region->name()->str() + "' has " + number(region->slots()) + " slots at " +
                    number(region->offset()));
    }
    return checkPieces(rankClass, name) && take(checkInputs(program, rankClass)) && checkFragments(rankClass, name) &&
           checkTasks(rankClass, name);
  }

  bool checkPieces(const RankClass &rankClass, const std::string &name) {
    uint64_t limit = rankClass.regions()->Get(0)->bytes();
    for (const Piece *piece : *rankClass.pieces()) {
      if (piece->variable() >= program.variables()->size())
        return fail(name + " keeps a piece of variable " + number(piece->variable()) + ", which does not exist");
      const Variable *variable = program.variables()->Get(piece->variable());
      std::string which = name + ": the piece of '" + variable->name()->str() + "'";
      if (!fits(piece->offset(), piece->bytes(), limit) && !isElsewhere(rankClass, *piece))
        return fail(which + " is outside the static region of " + number(limit) + " bytes");
      if (!checkAxes(*piece->mesh_axes(), which) || !checkAxes(*piece->flat_axes(), which))
        return false;
      for (uint32_t axis : *piece->flat_axes())
        if (std::find(piece->mesh_axes()->begin(), piece->mesh_axes()->end(), axis) != piece->mesh_axes()->end())
          return fail(which + " is split and dealt out over mesh axis '" + program.mesh()->Get(axis)->name()->str() + "'");
      if (piece->dimensions()->size() != variable->shape()->size())
        return fail(which + " has " + number(piece->dimensions()->size()) + " dimensions, the variable " +
                    number(variable->shape()->size()));
      std::vector<int64_t> local;
      for (uint32_t i = 0; i < piece->dimensions()->size(); ++i) {
        const PieceDimension *dimension = piece->dimensions()->Get(i);
        if (!fits(dimension->first_axis(), dimension->axis_count(), piece->mesh_axes()->size()))
          return fail(which + " has mesh axes out of range");
        Wide splits = 1;
        for (uint32_t j = 0; j < dimension->axis_count(); ++j)
          splits *= program.mesh()->Get(piece->mesh_axes()->Get(dimension->first_axis() + j))->size();
        if (dimension->global() != variable->shape()->Get(i) || dimension->local() <= 0 ||
            splits * static_cast<uint64_t>(dimension->local()) < static_cast<uint64_t>(dimension->global()))
          return fail(which + ": dimension " + number(i) + " of size " + std::to_string(dimension->global()) + " kept as " +
                      std::to_string(dimension->local()) + " does not cover the variable's " + std::to_string(variable->shape()->Get(i)));
        local.push_back(dimension->local());
      }
      uint64_t elements = 0;
      bool possible = product(local, elements);
      if (possible && piece->flat_axes()->size() > 0)
        elements = flatShare(elements, ranksAlong(program, *piece->flat_axes()));
      Wide needed = Wide(elements) * sizeOf(variable->type());
      bool atLeast = variable->kind() == VariableKind::Accumulator;
      if (!possible || (atLeast ? needed > piece->bytes() : needed != piece->bytes()))
        return fail(which + " has " + number(piece->bytes()) + " bytes, its shape needs " + number(elements * sizeOf(variable->type())));
    }
    for (const Output *output : *rankClass.outputs())
      if (!fits(output->offset(), 8, limit))
        return fail(name + ": output '" + output->name()->str() + "' lies outside the static region");
    return true;
  }

  /// True if the piece is in a region of one slot in another tier.
  static bool isElsewhere(const RankClass &rankClass, const Piece &piece) {
    return std::any_of(rankClass.regions()->begin(), rankClass.regions()->end(), [&](const Region *region) {
      return region->tier() != Tier::Device && region->slots() == 1 && piece.offset() >= region->offset() &&
             fits(piece.offset() - region->offset(), piece.bytes(), region->bytes());
    });
  }

  bool checkFragments(const RankClass &rankClass, const std::string &name) {
    for (const Fragment *fragment : *rankClass.fragments()) {
      std::string where = name + " fragment '" + fragment->name()->str() + "'";
      if (!known(fragment->phase()))
        return fail(where + " has an unknown phase");
      for (uint32_t index = 0; index < fragment->steps()->size(); ++index) {
        const Step *step = fragment->steps()->Get(index);
        std::string which = where + " step " + number(index);
        if (!known(step->kind()) || step->label() >= program.labels()->size())
          return fail(which + " has an unknown kind or label");
        if (!fits(step->first_dependency(), step->dependency_count(), fragment->dependencies()->size()))
          return fail(which + " has dependencies out of range");
        for (uint32_t i = 0; i < step->dependency_count(); ++i)
          if (fragment->dependencies()->Get(step->first_dependency() + i) >= index)
            return fail(which + " depends on step " + number(fragment->dependencies()->Get(step->first_dependency() + i)) +
                        ", which is not earlier");
        if (!fits(step->first_operand(), uint64_t(step->inputs()) + step->outputs(), fragment->operands()->size()))
          return fail(which + " has operands out of range");
        for (uint32_t i = 0; i < uint32_t(step->inputs()) + step->outputs(); ++i) {
          const Operand *operand = fragment->operands()->Get(step->first_operand() + i);
          if (operand->region() >= rankClass.regions()->size() ||
              !fits(operand->offset(), operand->bytes(), rankClass.regions()->Get(operand->region())->bytes()))
            return fail(which + " operand " + number(i) + " is outside its region");
          if (rankClass.regions()->Get(operand->region())->tier() == Tier::File && step->kind() != StepKind::Copy)
            return fail(which + " operand " + number(i) + " is in a file, which only copies read and write");
        }
        if (step->free() && step->kind() != StepKind::Collective)
          return fail(which + " is free of the compute chain, which only collectives may be");
        if (!checkStep(*fragment, *step, which))
          return false;
        if (step->kind() == StepKind::Copy && tiersOfCopy(rankClass, *fragment, *step) == std::pair(Tier::File, Tier::File))
          return fail(which + " copies from a file to a file");
      }
    }
    return true;
  }

  /// Checks the numbers and sizes of a step's operands against its payload.
  bool checkStep(const Fragment &fragment, const Step &step, const std::string &which) {
    auto bytes = [&](uint32_t i) { return fragment.operands()->Get(step.first_operand() + i)->bytes(); };
    auto shape = [&](uint32_t inputs, uint32_t outputs) { return step.inputs() == inputs && step.outputs() == outputs; };
    auto mismatch = [&] { return fail(which + ": its operands do not match what it does"); };
    switch (step.kind()) {
    case StepKind::Kernel:
      return step.payload() < program.kernels()->size() ||
             fail(which + " runs kernel " + number(step.payload()) + ", which does not exist");
    case StepKind::Zero:
      return shape(0, 1) || mismatch();
    case StepKind::Copy:
      return (shape(1, 1) && bytes(0) == bytes(1)) || mismatch();
    case StepKind::Send:
    case StepKind::Receive: {
      if (step.payload() >= program.transfers()->size())
        return fail(which + " runs transfer " + number(step.payload()) + ", which does not exist");
      const Transfer *transfer = program.transfers()->Get(step.payload());
      bool send = step.kind() == StepKind::Send;
      return (shape(send, !send) && bytes(0) == transfer->count() * sizeOf(transfer->type())) || mismatch();
    }
    case StepKind::Collective: {
      uint32_t parts = partsOf(step);
      if (parts == 0 || step.inputs() < parts)
        return mismatch();
      for (uint32_t part = 0; part < parts; ++part) {
        uint64_t index = uint64_t(step.payload()) + part;
        if (index >= program.collectives()->size())
          return fail(which + " runs collective " + number(index) + ", which does not exist");
        const Collective *collective = program.collectives()->Get(index), *first = program.collectives()->Get(step.payload());
        if (collective->kind() != first->kind() || collective->op() != first->op() || collective->type() != first->type() ||
            !std::equal(collective->axes()->begin(), collective->axes()->end(), first->axes()->begin(), first->axes()->end()))
          return fail(which + " is a bucket of collectives that differ in more than geometry");
        const CollectiveBytes sizes = bytesOf(program, *collective);
        uint32_t ends = collective->places() ? 2 : 0;
        if (!shape(parts + ends, parts) || (ends && parts > 1) || bytes(part) != sizes.input ||
            bytes(parts + ends + part) != sizes.output || (ends && (bytes(1) != sizes.inputEnds || bytes(2) != sizes.outputEnds)))
          return mismatch();
      }
      return true;
    }
    case StepKind::Attention:
      return checkAttention(step, which, bytes);
    case StepKind::Matmul:
      break;
    }
    if (step.payload() >= program.matmuls()->size())
      return fail(which + " runs matrix product " + number(step.payload()) + ", which does not exist");
    const Matmul &matmul = *program.matmuls()->Get(step.payload());
    const uint32_t inputs = matmulInputs(matmul);
    if (!shape(inputs, 1))
      return mismatch();
    std::vector<uint64_t> sizes;
    for (uint32_t i = 0; i <= inputs; ++i)
      sizes.push_back(bytes(i));
    return !reachesBeyond(matmul, sizes) || fail(which + ": the matrix product reaches beyond its operands");
  }

  /// `bytes(i)`: of the step's operand.
  template <typename Bytes> bool checkAttention(const Step &step, const std::string &which, Bytes bytes) {
    if (step.payload() >= program.attentions()->size())
      return fail(which + " runs attention " + number(step.payload()) + ", which does not exist");
    const Attention &attention = *program.attentions()->Get(step.payload());
    AttentionOperands operands = attentionOperands(attention);
    if (step.inputs() != operands.inputs || size_t(step.inputs()) + step.outputs() != operands.all.size())
      return fail(which + ": its operands do not match what it does");
    for (uint32_t i = 0; i < operands.all.size(); ++i)
      if (reachesBeyond(attention, i, bytes(i)))
        return fail(which + ": the attention reaches beyond its operand " + number(i));
    return true;
  }

  static bool mayOverlap(const Task &earlier, const RankClass &rankClass) {
    return !overlaps(earlier) && isWork(rankClass.fragments()->Get(earlier.fragment())->phase());
  }

  bool checkTasks(const RankClass &rankClass, const std::string &name) {
    std::set<std::pair<uint32_t, uint32_t>> instances;
    std::set<std::pair<uint32_t, uint32_t>> communication;
    for (uint32_t index = 0; index < rankClass.tasks()->size(); ++index) {
      const Task *task = rankClass.tasks()->Get(index);
      if (task->fragment() >= rankClass.fragments()->size() || task->micro() >= program.micro_count() ||
          !fits(task->first_base(), rankClass.regions()->size(), rankClass.bases()->size()))
        return fail(name + " task " + number(index) + " is out of range");
      if (!instances.emplace(task->fragment(), task->micro()).second)
        return fail(name + " runs task " + describeTask(rankClass, index) + " twice");
      for (uint32_t i = 0; i < rankClass.regions()->size(); ++i) {
        const Region *region = rankClass.regions()->Get(i);
        uint64_t base = rankClass.bases()->Get(task->first_base() + i), relative = base - region->offset();
        bool legal =
            base >= region->offset() &&
            (relative == 0 || (region->bytes() && relative % region->bytes() == 0 && relative / region->bytes() < region->slots()));
        if (!legal)
          return fail(name + " task " + describeTask(rankClass, index) + " has base " + number(base) + " for region '" +
                      region->name()->str() + "', which is no slot of it");
      }
      const Fragment *fragment = rankClass.fragments()->Get(task->fragment());
      if (overlaps(*task) && (index == 0 || !mayOverlap(*rankClass.tasks()->Get(index - 1), rankClass) || !isWork(fragment->phase())))
        return fail(name + " task " + describeTask(rankClass, index) + " overlaps a task that it cannot overlap");
      for (uint32_t step = 0; step < fragment->steps()->size(); ++step) {
        StepKind kind = fragment->steps()->Get(step)->kind();
        if (kind == StepKind::Send || kind == StepKind::Receive || kind == StepKind::Collective)
          communication.emplace(index, step);
      }
    }
    for (const CommunicationRef *reference : *rankClass.communication_order())
      if (communication.erase({reference->task(), reference->step()}) == 0)
        return fail(name + ": the communication order names step " + number(reference->step()) + " of task " + number(reference->task()) +
                    ", which does not communicate or was named before");
    if (!communication.empty())
      return fail(describeStep(program, rankClass, communication.begin()->first, communication.begin()->second) +
                  " is missing from the communication order");
    auto exists = [&](uint32_t task, uint32_t step) {
      return task < rankClass.tasks()->size() &&
             step < rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment())->steps()->size();
    };
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      if (!exists(edge->task(), edge->step()) || !exists(edge->on_task(), edge->on_step()) || edge->on_task() >= edge->task())
        return fail(name + ": step " + number(edge->step()) + " of task " + number(edge->task()) + " depends on step " +
                    number(edge->on_step()) + " of task " + number(edge->on_task()) + ", which is not earlier");
    return true;
  }
};

} // namespace

std::string checkStructure(const Program &program) { return Structure(program).run(); }

} // namespace npar::program
