// The calls of NCCL that the stand-in answers.
#include "tests/engine/backends/standin/nccl/Communicator.h"

#include <climits>
#include <cstring>
#include <unistd.h>
#include <utility>

using namespace npar::standin;
using nccl::Result;

namespace {

struct JobName {
  char bytes[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

/// By their handles. Has a lock of its own, which nobody holds who asks for the queue's.
struct Communicators {
  std::mutex mutex;
  Handles<nccl::Communicator> handles;
  std::shared_ptr<nccl::Communicator> find(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex);
    return handles.find(handle);
  }
};
Communicators &all() {
  static auto *communicators = new Communicators;
  return *communicators;
}

/// What a thread has asked for since ncclGroupStart.
struct Asked {
  Handle communicator, stream;
  nccl::Message message;
};
thread_local int depth = 0;
thread_local std::vector<Asked> asked;
thread_local Result groupError = Result::Success;

Result refused(Result result, const char *why) {
  std::fprintf(stderr, "stand-in for NCCL: refused: %s\n", why);
  return result;
}

/// Starts all of one communicator and stream.
Result launch(Handle handle, Handle streamHandle, std::vector<nccl::Message> messages) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  if (communicator->failure() != Result::Success)
    return communicator->failure();
  if (!communicator->settled())
    return refused(Result::InvalidArgument, "a call on a communicator that has something in progress");
  for (const nccl::Message &message : messages)
    if (message.peer < 0 || message.peer >= communicator->size())
      return refused(Result::InvalidArgument, "no such peer");
  Code code = withStream(streamHandle, [&](Call &call, Stream &stream) {
    if (&call.device != &communicator->device())
      return refuse(Code::InvalidContext, "a communicator is used with another device's stream");
    communicator->enqueue(call.driver, stream, std::move(messages));
    return Code::Success;
  });
  return code == Code::Success ? Result::InProgress : Result::UnhandledCudaError;
}

Result ask(bool sends, const void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  if (type != 0 && type != 1)
    return refused(Result::InvalidArgument, "the stand-in knows messages of bytes only");
  Asked one{communicator, stream, {sends, reinterpret_cast<uint64_t>(memory), count, peer, 0}};
  if (depth == 0)
    return launch(communicator, stream, {one.message});
  if (!all().find(communicator))
    return groupError = refused(Result::InvalidArgument, "no such communicator, or no longer");
  asked.push_back(one);
  return Result::Success;
}

} // namespace

NPAR_STANDIN_CALL Result ncclGetVersion(int *version) {
  *version = Driver::instance().settings.ncclVersion;
  return Result::Success;
}

NPAR_STANDIN_CALL const char *ncclGetErrorString(Result result) {
  switch (result) {
  case Result::Success:
    return "no error";
  case Result::UnhandledCudaError:
    return "unhandled cuda error";
  case Result::SystemError:
    return "unhandled system error";
  case Result::InternalError:
    return "internal error";
  case Result::InvalidArgument:
    return "invalid argument";
  case Result::InvalidUsage:
    return "invalid usage";
  case Result::RemoteError:
    return "remote process exited or there was a network error";
  case Result::InProgress:
    return "NCCL operation in progress";
  }
  return "unknown result code";
}

NPAR_STANDIN_CALL const char *ncclGetLastError(Handle handle) {
  static thread_local std::string text;
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  text = communicator ? communicator->lastError() : "";
  return text.c_str();
}

NPAR_STANDIN_CALL Result ncclGetUniqueId(JobName *job) {
  static std::atomic<unsigned> count{0};
  auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
  std::memset(job, 0, sizeof *job);
  std::snprintf(job->bytes, sizeof job->bytes, "/npar-standin-nccl-%d-%u-%llx", static_cast<int>(::getpid()), ++count,
                static_cast<unsigned long long>(clock));
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclCommInitRankConfig(Handle *result, int processes, JobName job, int process, Config *config) {
  if (!result || !config || config->magic != 0xcafebeef || config->size < sizeof(Config) || config->version < 21400)
    return refused(Result::InvalidArgument, "no configuration that was initialized");
  if (config->blocking != 0)
    return refused(Result::InvalidUsage, "the stand-in has no communicators that block");
  if (processes < 1 || process < 0 || process >= processes || std::strncmp(job.bytes, "/npar-standin-nccl-", 19) != 0)
    return refused(Result::InvalidArgument, "no such process, or no such job");
  Device *device = nullptr;
  uint64_t seed = 0;
  Code code = withContext([&](Call &call) {
    device = &call.device, seed = call.driver.settings.seed;
    return Code::Success;
  });
  if (code != Code::Success)
    return Result::UnhandledCudaError;
  auto made = std::make_shared<nccl::Communicator>(job.bytes, processes, process, *device, seed);
  std::lock_guard<std::mutex> lock(all().mutex);
  *result = all().handles.add(std::move(made));
  return Result::InProgress;
}

NPAR_STANDIN_CALL Result ncclCommGetAsyncError(Handle handle, Result *state) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator || !state)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  *state = communicator->state();
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclCommFinalize(Handle handle) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator || !communicator->settled())
    return refused(Result::InvalidArgument, "a communicator that is no longer there, or has something in progress, is finalized");
  communicator->finalize();
  return Result::InProgress;
}

NPAR_STANDIN_CALL Result ncclCommDestroy(Handle handle) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  if (!communicator->isFinal())
    return refused(Result::InvalidUsage, "a communicator is destroyed that was not finalized, or not by all");
  std::lock_guard<std::mutex> lock(all().mutex);
  all().handles.remove(handle);
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclCommAbort(Handle handle) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  communicator->abort();
  std::lock_guard<std::mutex> lock(all().mutex);
  all().handles.remove(handle);
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclGroupStart() {
  ++depth;
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclGroupEnd() {
  if (depth == 0)
    return refused(Result::InvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth > 0)
    return Result::Success;
  std::vector<Asked> list = std::move(asked);
  asked.clear();
  Result result = std::exchange(groupError, Result::Success);
  if (result != Result::Success)
    return result;
  while (!list.empty()) {
    Handle communicator = list.front().communicator, stream = list.front().stream;
    std::vector<nccl::Message> together;
    std::vector<Asked> others;
    for (const Asked &one : list)
      if (one.communicator == communicator && one.stream == stream)
        together.push_back(one.message);
      else
        others.push_back(one);
    Result started = launch(communicator, stream, std::move(together));
    if (started != Result::InProgress)
      return started;
    result = started;
    list = std::move(others);
  }
  return result;
}

NPAR_STANDIN_CALL Result ncclSend(const void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  return ask(true, memory, count, type, peer, communicator, stream);
}
NPAR_STANDIN_CALL Result ncclRecv(void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  return ask(false, memory, count, type, peer, communicator, stream);
}
