#include "tools/api/library/LauncherJob.h"

#include "engine/backends/Backends.h"
#include "engine/comm/device/DeviceCommunicator.h"
#include "engine/comm/tcp/TcpTransport.h"
#include "engine/job/Agreement.h"
#include "engine/job/HostShare.h"
#include "engine/runtime/SessionParts.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace npar::api {

using engine::Result;
using engine::Status;

namespace {

/// Seconds to wait for the reason of a failure, which the processes agree on over another connection.
constexpr double secondsToJudge = 5;

/// Seconds in which the other processes can leave, too, before this one closes its connections.
constexpr double secondsToLeave = 5;

/// Seconds for work of unknown duration in another process, such as compiling. The control channel notices if that process is gone.
constexpr double forAsLongAsItTakes = 30 * 86400.0;

std::mutex joining;
std::weak_ptr<LauncherJob> joined; ///< of this process

const char *variable(const char *name) { return std::getenv(name); }

/// Keeps remarks of other threads until the host's can be told.
class LaterRemarks {
public:
  void add(const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    texts.push_back(text);
  }
  void tell(engine::Observer &observer) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::string &text : texts)
      observer.remark(text);
    texts.clear();
  }

private:
  std::mutex mutex;
  std::vector<std::string> texts;
};

} // namespace

Result<std::shared_ptr<LauncherJob>> LauncherJob::join(double timeoutSeconds, engine::Observer &observer) {
  std::lock_guard<std::mutex> lock(joining);
  if (std::shared_ptr<LauncherJob> job = joined.lock())
    return job;
  TRY(engine::Launch launch, engine::findLaunch(variable));
  if (!launch.incomplete.empty())
    return Status::badInput(launch.incomplete);
  if (launch.isAlone())
    return std::shared_ptr<LauncherJob>();
  if (launch.mpi != "tcp")
    return Status::usage(fmt::format("{} has started {} processes: a program that embeds npar joins them over TCP, so start it with "
                                     "torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT yourself",
                                     launch.launcher, launch.processes));
  std::shared_ptr<LauncherJob> job(new LauncherJob(std::move(launch), timeoutSeconds));
  TRY_STATUS(job->open(observer));
  joined = job;
  return job;
}

Status LauncherJob::open(engine::Observer &observer) {
  TRY(key, engine::findJobKey(variable));
  LaterRemarks remarks;
  std::string name = fmt::format("{} {} {}", launch.run, launch.port, launch.processes);
  Result<std::shared_ptr<engine::ProcessGroup>> opened =
      engine::ProcessGroup::open(engine::tcpTransport({launch.process, launch.processes, launch.address, launch.addressFrom, launch.port,
                                                       name, timeout, key, [&remarks](const std::string &text) { remarks.add(text); }}));
  remarks.tell(observer);
  if (!opened.ok())
    return Status(opened.status().code(),
                  fmt::format("{} has started {} processes: {}", launch.launcher, launch.processes, opened.status().message()));
  group = std::move(*opened);
  TRY_STATUS(introduce());
  return openControl();
}

Status LauncherJob::introduce() {
  TRY(program::ProductOrder order, engine::productOrder("cpu", program::ProductOrder::Fastest));
  Result<job::Introduction> own = job::introduceSelf(order);
  if (own.ok())
    own->arguments.clear(); // a host's arguments may differ from process to process
  TRY(std::vector<std::vector<uint8_t>> all, group->gather(own.ok() ? job::pack(*own) : std::vector<uint8_t>(), timeout));
  TRY_STATUS(own.status());
  TRY(introductions, job::readIntroductions(all));
  names = job::namesOf(introductions, introductions.size());
  return job::checkAlike(introductions);
}

Status LauncherJob::openControl() {
  engine::ControlOptions wanted;
  wanted.process = launch.process, wanted.processes = launch.processes, wanted.timeoutSeconds = timeout;
  wanted.host = introductions[launch.process].host, wanted.address = group->address(), wanted.key = key;
  // A session that fails halts the transport, so that no gather of the group would end by itself.
  wanted.onVerdict = [this](const engine::FailureReport &report) { group->abort(Status(report.code, report.text())); };
  TRY(control, engine::ControlChannel::open(wanted, [this](const std::vector<uint8_t> &own) { return group->gather(own, timeout); }));
  watches = std::make_unique<engine::SessionWatches>();
  return {};
}

LauncherJob::~LauncherJob() {
  if (group && control && !control->verdict(0)) { // a process that is gone, or not leaving, is no reason to wait longer
    current = {"leaves the job, because its program ends or has closed its trainers"};
    (void)exchange(job::packBeginning(current), secondsToLeave);
  }
  control.reset();
}

Result<std::vector<std::vector<uint8_t>>> LauncherJob::exchange(const std::vector<uint8_t> &packed, double timeoutSeconds) const {
  Result<std::vector<std::vector<uint8_t>>> all = std::vector<std::vector<uint8_t>>();
  if (!control->verdict(0))
    all = group->gather(packed, timeoutSeconds);
  const std::optional<engine::FailureReport> failure = control->verdict(0);
  if (!failure && all.ok())
    return all;
  return Status(failure ? failure->code : all.status().code(),
                fmt::format("{} {}, but {}", nameOf(process()), current.doing,
                            failure ? "the job has ended: " + failure->text() : all.status().message()));
}

Result<std::vector<std::vector<uint8_t>>> LauncherJob::exchangeOrEnd(const std::vector<uint8_t> &packed, double timeoutSeconds) const {
  Result<std::vector<std::vector<uint8_t>>> all = exchange(packed, timeoutSeconds);
  if (!all.ok())
    control->tell(all.status());
  return all;
}

Status LauncherJob::begin(job::Call call) {
  current = std::move(call);
  // Process 0 knows who is missing. The others wait a little longer, so that its error is the one of all.
  const double limit = timeout + (isFirst() ? 0 : std::min(2.0, timeout / 10));
  TRY(std::vector<std::vector<uint8_t>> all, exchangeOrEnd(job::packBeginning(current), limit));
  return job::agreeOnCall(all, current, process(), names);
}

Result<std::vector<std::vector<uint8_t>>> LauncherJob::inside(const std::vector<uint8_t> &own, double timeoutSeconds) const {
  TRY(std::vector<std::vector<uint8_t>> all, exchangeOrEnd(job::packInside(current, own), timeoutSeconds));
  return job::contentsInside(all, process(), names);
}

Status LauncherJob::agree(const Status &own) {
  job::Verdict mine{own.code(), own.ok() ? std::vector<std::string>() : std::vector<std::string>{own.message()}};
  TRY(std::vector<std::vector<uint8_t>> all, inside(job::pack(mine), forAsLongAsItTakes));
  job::Verdict agreed = job::agreeOnPacked(all, names);
  if (agreed.code == engine::Code::Ok || !own.ok())
    return own;
  return Status(agreed.code, agreed.errors.empty() ? "another process failed" : agreed.errors.front());
}

Result<std::vector<std::vector<uint8_t>>> LauncherJob::gather(const std::vector<uint8_t> &own) const { return inside(own, timeout); }

Result<std::string> LauncherJob::decide(const std::function<Result<std::string>()> &make) {
  Result<std::string> made = isFirst() ? make() : std::string();
  TRY(std::vector<uint8_t> sent,
      group->broadcast(made.ok() ? std::vector<uint8_t>(made->begin(), made->end()) : std::vector<uint8_t>(), forAsLongAsItTakes));
  TRY_STATUS(agree(made.status()));
  return std::string(sent.begin(), sent.end());
}

Status LauncherJob::checkSame(const std::vector<uint8_t> &own, const std::string &what) {
  TRY(std::vector<std::vector<uint8_t>> all, inside(own, forAsLongAsItTakes));
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[0])
      return Status::badInput(
          fmt::format("{} of {} differs from that of {}: all processes of a job must have the same", what, nameOf(i), nameOf(0)));
  return {};
}

Status LauncherJob::causeOf(const Status &status) const {
  if (status.ok())
    return status;
  std::optional<engine::FailureReport> failure = control->verdict(secondsToJudge);
  return failure ? Status(failure->code, failure->text()) : status;
}

Result<std::unique_ptr<engine::Session>> LauncherJob::createSession(const program::ProgramPointer &program,
                                                                    const engine::SessionOptions &asked) {
  engine::SessionOptions options = asked;
  options.fastestOrder = fastestOrder();
  TRY(std::vector<std::vector<int64_t>> placed, job::ranksOfProcesses(introductions, program->root(), std::nullopt));
  options.ranks = placed[launch.process];
  for (uint32_t other = 0; other < launch.process; ++other)
    options.process += introductions[other].host == introductions[launch.process].host;
  options.processes = crew(1, "cpu").processes;
  TRY(options.threads, threads(asked.threads));
  engine::SessionParts parts;
  parts.communicator = [this](engine::Backend &backend) -> std::shared_ptr<engine::Communicator> {
    std::shared_ptr<engine::Communicator> byProcessors = group->communicator(backend, *control);
    if (!backend.network())
      return byProcessors;
    engine::DeviceLinkOptions link;
    link.timeoutSeconds = timeout;
    return std::make_shared<engine::DeviceCommunicator>(std::move(byProcessors), backend, std::move(link));
  };
  parts.observer = &watches->next();
  control->watch(watches.get());
  Result<std::unique_ptr<engine::Session>> session = engine::createSession(program, options, std::move(parts));
  control->watch(watches.get()); // its ranks are known only now
  return session;
}

} // namespace npar::api
