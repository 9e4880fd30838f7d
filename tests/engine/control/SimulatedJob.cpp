// Control cores of many processes in simulated time.
#include "SimulatedJob.h"

namespace npar::testing {

using namespace engine;

namespace {
constexpr double latency = 0.001;
} // namespace

struct SimulatedJob::Process final : ControlLink {
  Process(SimulatedJob &job, uint32_t number) : job(job), number(number) {}

  void send(uint32_t to, const Message &message) override {
    std::vector<uint8_t> bytes = encode(message);
    ++messages, ++job.messageCount, job.byteCount += bytes.size();
    job.flying.emplace(job.time + latency, Delivery{number, to, std::move(bytes)});
  }
  ProcessState look(bool waits) override {
    ProcessState state;
    state.progress = missing.empty() ? ++progress : progress;
    RankState &rank = state.ranks.emplace_back();
    rank.place = {number, 7, 0, "F0:0", "step " + std::to_string(number), "model.npar:1:1", 7};
    rank.inStep = true;
    if (waits && !missing.empty())
      rank.waits.push_back({rank.place, {7, false, 1, 0, 0, int64_t(job.processes.size()) - 1}, missing});
    return state;
  }
  Joined joined(const Question &) override { return missing.empty() ? Joined::NotYet : Joined::Posted; }
  void decided(const FailureReport &) override { decidedAt = job.time; }

  SimulatedJob &job;
  uint32_t number;
  std::unique_ptr<ControlCore> core;
  bool stopped = false, killed = false;
  double delay = 0, decidedAt = -1;
  uint64_t progress = 0, messages = 0;
  std::vector<int64_t> missing;
};

SimulatedJob::SimulatedJob(uint32_t count, double timeoutSeconds, uint32_t perHost) : perHost(perHost) {
  for (uint32_t number = 0; number < count; ++number)
    processes.push_back(std::make_unique<Process>(*this, number));
  for (uint32_t number = 0; number < count; ++number) {
    CoreOptions options;
    options.process = number, options.timeoutSeconds = timeoutSeconds;
    for (uint32_t peer = 0; peer < count; ++peer)
      options.peers.push_back({"host" + std::to_string(peer / perHost), peer + 1000});
    at(number).core = std::make_unique<ControlCore>(options, at(number), time);
    at(number).core->hold({number});
  }
}

SimulatedJob::~SimulatedJob() = default;

void SimulatedJob::deliver(const Delivery &delivery) {
  Process &to = at(delivery.to);
  if (to.killed || !reaches(delivery.from, delivery.to))
    return;
  if (to.stopped) { // it will read the message after it resumes
    flying.emplace(time + 0.01, delivery);
    return;
  }
  ++to.messages;
  if (delivery.bytes.empty())
    return to.core->lost(time, delivery.from, "its connection closed");
  std::optional<Message> message = decode(delivery.bytes.data(), delivery.bytes.size());
  if (message)
    to.core->received(time, delivery.from, std::move(*message));
}

void SimulatedJob::run(double seconds) {
  double end = time + seconds;
  while (time < end) {
    double next = flying.empty() ? end : std::min(end, flying.begin()->first);
    Process *ticking = nullptr;
    for (auto &process : processes)
      if (!process->killed && !process->stopped && process->core->due() + process->delay < next)
        next = process->core->due() + process->delay, ticking = process.get();
    time = std::max(time, next);
    if (ticking) {
      ticking->core->tick(time);
    } else if (!flying.empty() && flying.begin()->first <= time) {
      Delivery delivery = std::move(flying.begin()->second);
      flying.erase(flying.begin());
      deliver(delivery);
    }
  }
}

void SimulatedJob::kill(uint32_t process) {
  at(process).killed = true;
  for (uint32_t other = 0; other < processes.size(); ++other)
    if (other != process && (other <= 1 || process <= 1))
      flying.emplace(time + latency, Delivery{process, other, {}});
}

void SimulatedJob::stop(uint32_t process) { at(process).stopped = true; }

void SimulatedJob::resume(uint32_t process) { at(process).stopped = false; }

void SimulatedJob::delay(uint32_t process, double seconds) { at(process).delay = seconds; }

const std::optional<FailureReport> &SimulatedJob::verdict(uint32_t process) { return at(process).core->verdict(); }

double SimulatedJob::decidedAt(uint32_t process) { return at(process).decidedAt; }

ControlCore &SimulatedJob::core(uint32_t process) { return *at(process).core; }

uint64_t SimulatedJob::messagesOf(uint32_t process) { return at(process).messages; }

void SimulatedJob::wait(uint32_t process, std::vector<int64_t> missing) { at(process).missing = std::move(missing); }

void SimulatedJob::complain(uint32_t process) { fail(process, Code::Timeout, "no progress"); }

void SimulatedJob::fail(uint32_t process, Code code, const std::string &text) {
  Told told;
  told.code = code, told.text = text;
  at(process).core->tell(time, told);
}

void SimulatedJob::leave(uint32_t process) { at(process).core->leave(); }

} // namespace npar::testing
