// The driver's calls that capture streams into graphs and launch these.
#include "tests/engine/backends/standin/Call.h"

using namespace npar::standin;

namespace {
/// Leaves the capture in all streams that take part, and forgets it in events.
void leave(Driver &driver, const std::shared_ptr<Capture> &capture) {
  for (auto &[handle, stream] : driver.streams.all())
    if (stream->capture == capture) {
      stream->capture = nullptr;
      stream->captured.clear();
    }
}

Code beginCapture(Handle handle, int mode) {
  return withStream(handle, [&](Call &, Stream &stream) {
    if (stream.capture || mode < 0 || mode > static_cast<int>(CaptureMode::Relaxed))
      return stream.capture ? Code::StreamCaptureUnsupported : Code::InvalidValue;
    auto capture = std::make_shared<Capture>();
    capture->origin = &stream;
    capture->mode = static_cast<CaptureMode>(mode);
    capture->thread = std::this_thread::get_id();
    stream.capture = std::move(capture);
    stream.captured.clear();
    return Code::Success;
  });
}
} // namespace

NPAR_STANDIN_CALL Code cuStreamBeginCapture_v2(Handle stream, int mode) { return beginCapture(stream, mode); }

NPAR_STANDIN_CALL Code cuStreamIsCapturing(Handle handle, CaptureStatus *status) {
  return withContext([&](Call &call) {
    std::shared_ptr<Stream> stream = call.driver.streams.find(handle);
    if (!stream)
      return Code::InvalidHandle;
    *status = !stream->capture ? CaptureStatus::None : stream->capture->invalid ? CaptureStatus::Invalidated : CaptureStatus::Active;
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuStreamEndCapture(Handle handle, Handle *result) {
  return withContext([&](Call &call) {
    *result = nullptr;
    std::shared_ptr<Stream> stream = call.driver.streams.find(handle);
    if (!stream)
      return Code::InvalidHandle;
    std::shared_ptr<Capture> capture = stream->capture;
    if (!capture)
      return Code::InvalidValue;
    if (capture->origin != stream.get())
      return Code::StreamCaptureUnmatched;
    if (capture->mode != CaptureMode::Relaxed && capture->thread != std::this_thread::get_id())
      return Code::StreamCaptureWrongThread;
    std::set<size_t> joined = stream->captured;
    leave(call.driver, capture);
    if (capture->invalid)
      return Code::StreamCaptureInvalidated;
    capture->invalid = true; // events that belong to it can no longer be used
    for (size_t leaf : capture->graph->leaves())
      if (joined.count(leaf) == 0)
        return refuse(Code::StreamCaptureUnjoined, "work of a captured stream is not joined with the one where the capture began");
    *result = call.driver.graphs.add(capture->graph);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuGraphInstantiateWithFlags(Handle *result, Handle handle, unsigned long long) {
  return withContextUncaptured([&](Call &call) {
    std::shared_ptr<Graph> graph = call.driver.graphs.find(handle);
    if (!graph)
      return Code::InvalidHandle;
    auto executable = std::make_shared<ExecutableGraph>();
    executable->device = &call.device;
    executable->graph = std::make_shared<const Graph>(*graph);
    *result = call.driver.executables.add(std::move(executable));
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuGraphUpload(Handle executable, Handle stream) {
  return withStream(stream,
                    [&](Call &call, Stream &) { return call.driver.executables.find(executable) ? Code::Success : Code::InvalidHandle; });
}

NPAR_STANDIN_CALL Code cuGraphLaunch(Handle handle, Handle streamHandle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(streamHandle, [&](Call &call, Stream &stream) {
    std::shared_ptr<ExecutableGraph> executable = call.driver.executables.find(handle);
    if (!executable)
      return refuse(Code::InvalidHandle, "no such executable graph, or no longer");
    if (stream.capture)
      return refuse(Code::StreamCaptureUnsupported, "a graph is launched into a stream that is being captured");
    Queue &queue = call.driver.queue;
    WorkPointer begin = queue.add(call.device, {stream.last, executable->last}, {});
    std::vector<WorkPointer> works;
    for (const Graph::Node &node : executable->graph->nodes) { // what comes before a node has a lower number
      std::vector<WorkPointer> before{begin};
      for (size_t earlier : node.before)
        before.push_back(works[earlier]);
      works.push_back(queue.add(*node.device, std::move(before), node.action, node.condition));
    }
    works.push_back(begin);
    stream.last = executable->last = queue.add(call.device, std::move(works), {});
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuGraphExecDestroy(Handle handle) {
  return withContext([&](Call &call) { return call.driver.executables.remove(handle) ? Code::Success : Code::InvalidHandle; });
}

NPAR_STANDIN_CALL Code cuGraphDestroy(Handle handle) {
  return withContext([&](Call &call) { return call.driver.graphs.remove(handle) ? Code::Success : Code::InvalidHandle; });
}
