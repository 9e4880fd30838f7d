// The calls of NCCL that the stand-in answers.
#include "tests/engine/backends/standin/nccl/Communicator.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <unistd.h>
#include <utility>

using namespace npar::standin;
using nccl::Result;

/// As NPAR_STANDIN_MAY_BE_LEFT_OUT (Call.h).
#define NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT                                                                                                  \
  if (Driver::instance().sites.leavesOut(__func__, __builtin_return_address(0)))                                                           \
    return Result::Success;

namespace {

struct JobName {
  char bytes[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

/// Communicators by their handles. Their lock is never held by a thread that takes the queue's lock.
struct Communicators {
  std::mutex mutex;
  Handles<nccl::Communicator> handles;
  std::shared_ptr<nccl::Communicator> find(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex);
    return handles.find(handle);
  }
  bool anyIsBusyOn(const Device &device) {
    std::lock_guard<std::mutex> lock(mutex);
    return std::any_of(handles.all().begin(), handles.all().end(),
                       [&](const auto &each) { return &each.second->device() == &device && each.second->isBusy(); });
  }
};
Communicators &all() {
  static auto *communicators = new Communicators;
  return *communicators;
}

/// The work that a thread has asked for since ncclGroupStart.
struct Asked {
  Handle communicator, stream;
  nccl::Work work;
};
thread_local int depth = 0;
thread_local std::vector<Asked> asked;
thread_local Result groupError = Result::Success;

Result refused(Result result, const char *why) {
  std::fprintf(stderr, "stand-in for NCCL: refused: %s\n", why);
  return result;
}

/// Starts all of one communicator and stream.
Result launch(Handle handle, Handle streamHandle, nccl::Work work) {
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  if (communicator->failure() != Result::Success)
    return communicator->failure();
  if (!communicator->settled())
    return refused(Result::InvalidArgument, "a call on a communicator that has something in progress");
  for (const nccl::Message &message : work.messages)
    if (message.peer < 0 || message.peer >= communicator->size())
      return refused(Result::InvalidArgument, "no such peer");
  Code code = withStream(streamHandle, [&](Call &call, Stream &stream) {
    if (&call.device != &communicator->device())
      return refuse(Code::InvalidContext, "a communicator is used with another device's stream");
    communicator->enqueue(call.driver, stream, std::move(work));
    return Code::Success;
  });
  return code == Code::Success ? Result::InProgress : Result::UnhandledCudaError;
}

Result ask(nccl::Work work, Handle communicator, Handle stream) {
  if (depth == 0)
    return launch(communicator, stream, std::move(work));
  if (!all().find(communicator))
    return groupError = refused(Result::InvalidArgument, "no such communicator, or no longer");
  asked.push_back({communicator, stream, std::move(work)});
  return Result::Success;
}

Result ask(bool sends, const void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  if (type != 0 && type != 1)
    return refused(Result::InvalidArgument, "the stand-in knows messages of bytes only");
  return ask({{{sends, reinterpret_cast<uint64_t>(memory), count, peer, 0, 0}}, {}}, communicator, stream);
}

Result ask(nccl::Kind kind, const void *input, void *output, size_t count, int type, int operation, Handle communicator, Handle stream) {
  if (nccl::sizeOf(type) == 0 || operation != 0)
    return refused(Result::InvalidArgument, "the stand-in knows sums of floats and bytes only");
  return ask({{}, {{kind, static_cast<nccl::Type>(type), reinterpret_cast<uint64_t>(input), reinterpret_cast<uint64_t>(output), count}}},
             communicator, stream);
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
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
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

NPAR_STANDIN_CALL Result ncclCommSplit(Handle handle, int colour, int key, Handle *result, Config *config) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  std::shared_ptr<nccl::Communicator> parent = all().find(handle);
  if (!parent || !result || colour < -1)
    return refused(Result::InvalidArgument, "no such communicator, or no longer, or no such colour");
  if (config && (config->magic != 0xcafebeef || config->size < sizeof(Config) || config->blocking != 0))
    return refused(Result::InvalidArgument, "no configuration that was initialized, or one of a communicator that blocks");
  if (!parent->settled())
    return refused(Result::InvalidArgument, "a communicator that has something in progress is split");
  std::shared_ptr<nccl::Communicator> made = parent->split(colour, key, Driver::instance().settings.seed);
  std::lock_guard<std::mutex> lock(all().mutex);
  *result = made ? all().handles.add(std::move(made)) : nullptr;
  return Result::InProgress;
}

NPAR_STANDIN_CALL Result ncclCommGetAsyncError(Handle handle, Result *state) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator || !state)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  *state = communicator->state();
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclCommFinalize(Handle handle) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator || !communicator->settled())
    return refused(Result::InvalidArgument, "a communicator that is no longer there, or has something in progress, is finalized");
  communicator->finalize();
  return Result::InProgress;
}

NPAR_STANDIN_CALL Result ncclCommDestroy(Handle handle) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
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
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  std::shared_ptr<nccl::Communicator> communicator = all().find(handle);
  if (!communicator)
    return refused(Result::InvalidArgument, "no such communicator, or no longer");
  communicator->abort();
  {
    std::lock_guard<std::mutex> lock(all().mutex);
    all().handles.remove(handle);
  }
  while (all().anyIsBusyOn(communicator->device())) // as where memory is freed
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclGroupStart() {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  ++depth;
  return Result::Success;
}

NPAR_STANDIN_CALL Result ncclGroupEnd() {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
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
    nccl::Work together;
    std::vector<Asked> others;
    for (const Asked &one : list)
      if (one.communicator == communicator && one.stream == stream) {
        together.messages.insert(together.messages.end(), one.work.messages.begin(), one.work.messages.end());
        together.collectives.insert(together.collectives.end(), one.work.collectives.begin(), one.work.collectives.end());
      } else {
        others.push_back(one);
      }
    Result started = launch(communicator, stream, std::move(together));
    if (started != Result::InProgress)
      return started;
    result = started;
    list = std::move(others);
  }
  return result;
}

NPAR_STANDIN_CALL Result ncclSend(const void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  return ask(true, memory, count, type, peer, communicator, stream);
}
NPAR_STANDIN_CALL Result ncclRecv(void *memory, size_t count, int type, int peer, Handle communicator, Handle stream) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  return ask(false, memory, count, type, peer, communicator, stream);
}

NPAR_STANDIN_CALL Result ncclAllReduce(const void *input, void *output, size_t count, int type, int operation, Handle communicator,
                                       Handle stream) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  return ask(nccl::Kind::AllReduce, input, output, count, type, operation, communicator, stream);
}
NPAR_STANDIN_CALL Result ncclReduceScatter(const void *input, void *output, size_t count, int type, int operation, Handle communicator,
                                           Handle stream) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  return ask(nccl::Kind::ReduceScatter, input, output, count, type, operation, communicator, stream);
}
NPAR_STANDIN_CALL Result ncclAllGather(const void *input, void *output, size_t count, int type, Handle communicator, Handle stream) {
  NPAR_STANDIN_NCCL_MAY_BE_LEFT_OUT
  return ask(nccl::Kind::AllGather, input, output, count, type, 0, communicator, stream);
}
