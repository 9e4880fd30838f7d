// The job's control channel over TCP: one thread between the sockets and the rules.
#include "engine/control/ControlChannel.h"

#include "engine/control/ControlCore.h"
#include "engine/control/Message.h"
#include "engine/control/ThreadWithoutAborts.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace npar::engine {

namespace {
constexpr double patienceWithStopped = 0.5; // seconds; no launcher is to hear of a dead process before the report
} // namespace

struct ControlChannel::State final : ControlLink {
  State(const ControlOptions &options, JoinedJob job)
      : options(options), job(std::move(job)), wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CoreOptions core;
    core.process = options.process, core.timeoutSeconds = options.timeoutSeconds;
    for (const JobPeer &peer : this->job.peers)
      core.peers.push_back(peer.name);
    this->core = std::make_unique<ControlCore>(core, *this, steadyNow());
    thread = threadWithoutAborts([this] { run(); });
  }

  ~State() override {
    ask([this] { quitting = true; });
    thread.join();
  }

  /// Runs a function on the channel's thread, later.
  void ask(std::function<void()> what) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      inbox.push_back(std::move(what));
    }
    uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake.get(), &one, sizeof(one));
  }

  void run();
  void waitForNews();
  void readAll();
  void runInbox();
  void farewell();
  /// The first live process of each host ends the stopped ones, if they are still the same processes.
  void endStopped() const;

  // Calls from the core, on the channel's thread.
  void send(uint32_t to, const Message &message) override {
    bool matters = message.kind != Message::Kind::Beat && message.kind != Message::Kind::Alive;
    job.connections[to].send(encode(message), matters);
  }
  ProcessState look(bool waits) override {
    std::lock_guard<std::mutex> lock(watching);
    ProcessState state = observed ? observed->look(waits) : ProcessState();
    if (flight)
      flight->alive();
    state.progress += phases.load();
    std::lock_guard<std::mutex> texts(mutex);
    state.phase = phaseNow;
    return state;
  }
  Joined joined(const Question &question) override {
    std::lock_guard<std::mutex> lock(watching);
    return observed ? observed->joined(question) : Joined::Unknown;
  }
  void decided(const FailureReport &report) override;

  ControlOptions options;
  JoinedJob job;
  files::Descriptor wake;
  std::unique_ptr<ControlCore> core; ///< for the channel's thread only
  bool quitting = false;             ///< for the channel's thread only
  double decidedAt = 0;              ///< for the channel's thread only; 0: not decided
  std::mutex watching;               ///< held while `observed` is called
  const Observed *observed = nullptr;
  FlightRecord *flight = nullptr; ///< guarded by `watching`
  std::atomic<uint64_t> phases{0};
  mutable std::mutex mutex; ///< guards everything below
  mutable std::condition_variable news;
  std::deque<std::function<void()>> inbox;
  std::string phaseNow;
  std::optional<FailureReport> verdict;
  bool toldHere = false; ///< this process reported the failure itself
  std::mutex calling;    ///< held while listeners run
  std::map<const void *, std::function<void(const Status &)>> listeners;
  std::thread thread;
};

void ControlChannel::State::run() {
  while (!quitting) {
    waitForNews();
    readAll();
    runInbox();
    if (double now = steadyNow(); now >= core->due())
      core->tick(now);
    if (decidedAt > 0 && steadyNow() - decidedAt > patienceWithStopped)
      endStopped();
  }
  farewell();
}

void ControlChannel::State::waitForNews() {
  std::vector<pollfd> waiting = {{wake.get(), POLLIN, 0}};
  for (const Connection &connection : job.connections)
    if (connection.open())
      waiting.push_back({connection.descriptor(), static_cast<short>(POLLIN | (connection.wantsToSend() ? POLLOUT : 0)), 0});
  double left = std::clamp(core->due() - steadyNow(), 0.0, decidedAt > 0 ? 0.1 : 1.0);
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(left * 1000)));
}

void ControlChannel::State::readAll() {
  for (uint32_t process = 0; process < job.connections.size(); ++process) {
    Connection &connection = job.connections[process];
    if (!connection.open())
      continue;
    connection.flush();
    std::string why = connection.receive([&](const uint8_t *bytes, size_t size) {
      std::optional<Message> message = decode(bytes, size);
      if (message)
        core->received(steadyNow(), process, std::move(*message));
      return message.has_value();
    });
    if (!why.empty())
      core->lost(steadyNow(), process, why);
  }
}

void ControlChannel::State::runInbox() {
  uint64_t count;
  [[maybe_unused]] ssize_t got = ::read(wake.get(), &count, sizeof(count));
  std::deque<std::function<void()>> asked;
  {
    std::lock_guard<std::mutex> lock(mutex);
    asked.swap(inbox);
  }
  for (const std::function<void()> &what : asked)
    what();
}

/// Sends the last messages before the sockets close, with a short wait for peers that do not read.
void ControlChannel::State::farewell() {
  constexpr double patience = 0.2;
  core->leave();
  double deadline = steadyNow() + patience;
  for (Connection &connection : job.connections) {
    while (connection.open() && connection.wantsToSend() && steadyNow() < deadline) {
      pollfd waiting{connection.descriptor(), POLLOUT, 0};
      ::poll(&waiting, 1, 10);
      connection.flush();
    }
    // Unread bytes would make the closing a reset, which overtakes what was sent.
    if (connection.open()) {
      ::shutdown(connection.descriptor(), SHUT_WR);
      connection.receive([](const uint8_t *, size_t) { return true; });
    }
  }
}

void ControlChannel::State::decided(const FailureReport &report) {
  decidedAt = steadyNow();
  {
    std::lock_guard<std::mutex> lock(watching);
    if (flight)
      flight->verdict(report);
  }
  // Code that sees the verdict may end the process, so onVerdict is called first.
  if (options.onVerdict)
    options.onVerdict(report);
  {
    std::lock_guard<std::mutex> lock(mutex);
    verdict = report;
    news.notify_all();
  }
  std::lock_guard<std::mutex> call(calling);
  std::map<const void *, std::function<void(const Status &)>> told;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!toldHere)
      told = listeners;
  }
  for (const auto &[listener, call] : told)
    call(report.status());
}

void ControlChannel::State::endStopped() const {
  std::vector<uint32_t> lost;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (verdict)
      lost = verdict->lost;
  }
  auto isLost = [&](uint32_t process) { return std::find(lost.begin(), lost.end(), process) != lost.end(); };
  for (uint32_t process = 0; process < options.process; ++process)
    if (job.peers[process].identity == job.peers[options.process].identity && !isLost(process))
      return;
  for (uint32_t process : lost)
    if (process < job.peers.size() && process != options.process)
      if (const JobPeer &peer = job.peers[process];
          peer.identity == job.peers[options.process].identity && peer.start != 0 && startOf(peer.name.pid) == peer.start)
        ::kill(static_cast<pid_t>(peer.name.pid), SIGKILL);
}

Result<std::unique_ptr<ControlChannel>> ControlChannel::open(const ControlOptions &options, const GatherBytes &gather) {
  Result<JoinedJob> job = joinJob({options.process, options.processes, options.host.empty() ? hostName() : options.host,
                                   options.joinSeconds, options.address, options.key},
                                  gather);
  if (!job.ok())
    return job.status();
  return std::unique_ptr<ControlChannel>(new ControlChannel(std::make_unique<State>(options, std::move(*job))));
}

ControlChannel::ControlChannel(std::unique_ptr<State> state) : state(std::move(state)) {}

ControlChannel::~ControlChannel() = default;

void ControlChannel::tell(const Status &status) { accuse(-1, status); }

void ControlChannel::accuse(int64_t rank, const Status &status) {
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->toldHere = true;
  }
  state->ask([state = state.get(), rank, status] {
    Told told;
    told.code = status.code(), told.text = status.message(), told.accused = rank;
    {
      std::lock_guard<std::mutex> lock(state->watching);
      if (state->observed)
        told.place = state->observed->failedPlace();
    }
    state->core->tell(steadyNow(), told);
  });
}

void ControlChannel::listen(const void *listener, std::function<void(const Status &)> told) {
  std::lock_guard<std::mutex> call(state->calling);
  std::optional<FailureReport> known;
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    if (told)
      state->listeners[listener] = told;
    else
      state->listeners.erase(listener);
    if (!state->toldHere)
      known = state->verdict;
  }
  if (told && known)
    told(known->status());
}

void ControlChannel::watch(const Observed *observed) {
  {
    std::lock_guard<std::mutex> lock(state->watching);
    state->observed = observed;
  }
  state->ask([state = state.get()] {
    std::vector<int64_t> ranks;
    {
      std::lock_guard<std::mutex> lock(state->watching);
      if (state->observed)
        ranks = state->observed->ranks();
    }
    state->core->hold(ranks);
  });
}

void ControlChannel::record(FlightRecord *record) {
  std::lock_guard<std::mutex> lock(state->watching);
  state->flight = record;
}

void ControlChannel::phase(const std::string &what) {
  ++state->phases;
  std::lock_guard<std::mutex> lock(state->mutex);
  state->phaseNow = what;
}

std::optional<FailureReport> ControlChannel::verdict(double waitSeconds) const {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->news.wait_for(lock, std::chrono::duration<double>(waitSeconds), [this] { return state->verdict.has_value(); });
  return state->verdict;
}

void ControlChannel::endStopped() { state->endStopped(); }

const std::vector<JobPeer> &ControlChannel::peers() const { return state->job.peers; }

} // namespace npar::engine
