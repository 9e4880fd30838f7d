// The driver's calls for streams, events and the work of streams other than kernels and copies.
#include "tests/engine/backends/standin/Call.h"

#include <algorithm>

using namespace npar::standin;

namespace {
template <typename Body> Code withEvent(Handle handle, Body body) {
  return withContext([&](Call &call) {
    std::shared_ptr<Event> event = call.driver.events.find(handle);
    if (!event)
      return refuse(Code::InvalidHandle, "no such event, or no longer");
    return body(call, *event);
  });
}

Code createStream(Handle *result, unsigned flags) {
  return withContext([&](Call &call) {
    if (flags > streamNonBlocking)
      return Code::InvalidValue;
    auto stream = std::make_shared<Stream>();
    stream->device = &call.device;
    stream->nonBlocking = flags == streamNonBlocking;
    *result = call.driver.streams.add(std::move(stream));
    return Code::Success;
  });
}

/// The word at an address of the device or page-locked memory, or null.
std::atomic<uint32_t> *wordAt(const Memory &memory, int device, uint64_t address) {
  return address % 4 == 0 ? reinterpret_cast<std::atomic<uint32_t> *>(memory.find(device, address, 4)) : nullptr;
}

/// Before the host is told something: what came before in the stream is then no secret any more.
void letHostSee(Driver &driver) {
  std::lock_guard<std::mutex> lock(driver.queue.mutex);
  driver.queue.seeAll();
}

bool reached(uint32_t word, uint32_t value, WaitValue how) {
  switch (how) {
  case WaitValue::AtLeast:
    return static_cast<int32_t>(word - value) >= 0;
  case WaitValue::Equal:
    return word == value;
  case WaitValue::And:
    return (word & value) != 0;
  case WaitValue::Nor:
    return ~(word | value) != 0;
  }
  return false;
}

Code writeValue(Handle handle, DevicePointer address, uint32_t value, unsigned) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    Driver &driver = call.driver;
    driver.enqueue(stream, [&driver, device = call.device.number, address, value]() -> Outcome {
      std::atomic<uint32_t> *word = wordAt(driver.memory, device, address);
      if (!word)
        return {Code::IllegalAddress, "a value is written: " + driver.memory.describe(address)};
      letHostSee(driver);
      *word = value;
      return {};
    });
    return Code::Success;
  });
}

Code waitValue(Handle handle, DevicePointer address, uint32_t value, unsigned flags) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (flags > static_cast<unsigned>(WaitValue::Nor))
      return Code::InvalidValue;
    Memory &memory = call.driver.memory;
    int device = call.device.number;
    call.driver.enqueue(
        stream,
        [&memory, device, address]() -> Outcome {
          if (!wordAt(memory, device, address))
            return {Code::IllegalAddress, "a value is waited for: " + memory.describe(address)};
          return {};
        },
        [&memory, device, address, value, flags] {
          std::atomic<uint32_t> *word = wordAt(memory, device, address);
          return !word || reached(*word, value, static_cast<WaitValue>(flags));
        });
    return Code::Success;
  });
}
} // namespace

NPAR_STANDIN_CALL Code cuStreamCreate(Handle *result, unsigned flags) { return createStream(result, flags); }
NPAR_STANDIN_CALL Code cuStreamCreateWithPriority(Handle *result, unsigned flags, int) { return createStream(result, flags); }

NPAR_STANDIN_CALL Code cuStreamDestroy_v2(Handle handle) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (stream.capture)
      return refuse(Code::StreamCaptureUnsupported, "a stream is destroyed that is being captured");
    auto &orphans = call.driver.orphans;
    orphans.erase(std::remove_if(orphans.begin(), orphans.end(), [](auto &orphan) { return !orphan.second || orphan.second->ended; }),
                  orphans.end());
    orphans.emplace_back(stream.device, stream.last);
    call.driver.streams.remove(handle);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuStreamQuery(Handle handle) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (stream.capture || call.driver.forbiddenByCapture()) {
      if (stream.capture)
        stream.capture->invalid = true;
      return refuse(Code::StreamCaptureUnsupported, "a stream is queried during a capture");
    }
    return call.driver.queue.query(stream.last) ? Code::Success : Code::NotReady;
  });
}

NPAR_STANDIN_CALL Code cuStreamSynchronize(Handle handle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    if (stream.capture || call.driver.forbiddenByCapture()) {
      if (stream.capture)
        stream.capture->invalid = true;
      return refuse(Code::StreamCaptureUnsupported, "a stream is waited for during a capture");
    }
    return call.wait(stream.last);
  });
}

NPAR_STANDIN_CALL Code cuStreamWaitEvent(Handle handle, Handle eventHandle, unsigned flags) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(handle, [&](Call &call, Stream &stream) {
    std::shared_ptr<Event> event = call.driver.events.find(eventHandle);
    if (!event)
      return refuse(Code::InvalidHandle, "no such event, or no longer");
    if (flags != 0)
      return Code::InvalidValue;
    if (event->capture) {
      if (event->capture->invalid)
        return Code::StreamCaptureInvalidated;
      if (stream.capture && stream.capture != event->capture) {
        stream.capture->invalid = event->capture->invalid = true;
        return Code::StreamCaptureMerge;
      }
      stream.capture = event->capture;
      stream.captured.insert(event->captured.begin(), event->captured.end());
      return Code::Success;
    }
    if (stream.capture) {
      stream.capture->invalid = true;
      return refuse(Code::StreamCaptureIsolation, "a captured stream waits for an event from outside of the capture");
    }
    if (event->record)
      stream.last = call.driver.queue.add(call.device, {stream.last, event->record}, {});
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuStreamWriteValue32(Handle stream, DevicePointer address, uint32_t value, unsigned flags) {
  return writeValue(stream, address, value, flags);
}
NPAR_STANDIN_CALL Code cuStreamWriteValue32_v2(Handle stream, DevicePointer address, uint32_t value, unsigned flags) {
  return writeValue(stream, address, value, flags);
}
NPAR_STANDIN_CALL Code cuStreamWaitValue32(Handle stream, DevicePointer address, uint32_t value, unsigned flags) {
  return waitValue(stream, address, value, flags);
}
NPAR_STANDIN_CALL Code cuStreamWaitValue32_v2(Handle stream, DevicePointer address, uint32_t value, unsigned flags) {
  return waitValue(stream, address, value, flags);
}

NPAR_STANDIN_CALL Code cuEventCreate(Handle *result, unsigned flags) {
  return withContext([&](Call &call) {
    auto event = std::make_shared<Event>();
    event->device = &call.device;
    event->timed = (flags & eventDisableTiming) == 0;
    *result = call.driver.events.add(std::move(event));
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuEventDestroy_v2(Handle handle) {
  return withEvent(handle, [&](Call &call, Event &) {
    call.driver.events.remove(handle);
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuEventRecord(Handle handle, Handle streamHandle) {
  NPAR_STANDIN_MAY_BE_LEFT_OUT
  return withStream(streamHandle, [&](Call &call, Stream &stream) {
    std::shared_ptr<Event> event = call.driver.events.find(handle);
    if (!event)
      return refuse(Code::InvalidHandle, "no such event, or no longer");
    if (event->device != &call.device)
      return refuse(Code::InvalidHandle, "the event belongs to another context than the stream");
    event->capture = stream.capture;
    event->captured = stream.captured;
    if (!stream.capture) {
      call.driver.enqueue(stream, {});
      event->record = stream.last;
    }
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuEventQuery(Handle handle) {
  return withEvent(handle, [&](Call &call, Event &event) {
    if (event.capture) {
      event.capture->invalid = true;
      return Code::CapturedEvent;
    }
    return call.driver.queue.query(event.record) ? Code::Success : Code::NotReady;
  });
}

NPAR_STANDIN_CALL Code cuEventSynchronize(Handle handle) {
  return withEvent(handle, [&](Call &call, Event &event) {
    if (event.capture) {
      event.capture->invalid = true;
      return Code::CapturedEvent;
    }
    return call.wait(event.record);
  });
}

NPAR_STANDIN_CALL Code cuEventElapsedTime(float *milliseconds, Handle begin, Handle end) {
  return withContext([&](Call &call) {
    std::shared_ptr<Event> first = call.driver.events.find(begin), last = call.driver.events.find(end);
    if (!first || !last || !first->timed || !last->timed || !first->record || !last->record)
      return refuse(Code::InvalidHandle, "the time between events of which one is gone, measures no time or was not recorded");
    if (!first->record->ended || !last->record->ended)
      return Code::NotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(last->record->time - first->record->time).count();
    return Code::Success;
  });
}

NPAR_STANDIN_CALL Code cuEventElapsedTime_v2(float *milliseconds, Handle begin, Handle end) {
  return cuEventElapsedTime(milliseconds, begin, end);
}
