// The bytes of process 0 at all of them: in blocks down a binary tree, so that a process passes one block on while the next one comes.
#include "engine/comm/process/Broadcast.h"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace npar::engine {

namespace {
constexpr uint64_t blockBytes = uint64_t{4} << 20;
} // namespace

Result<std::vector<uint8_t>> Broadcast::broadcast(std::vector<uint8_t> bytes, double timeoutSeconds) {
  Progress &progress = frames.progress();
  if (progress.processes() == 1)
    return bytes;
  if (progress.process() == 0) {
    auto content = std::make_shared<Content>();
    content->bytes = bytes;
    progress.run([this, content] {
      uint64_t total = content->bytes.size();
      for (uint64_t begin = 0; begin == 0 || begin < total; begin += blockBytes)
        passOn(content, {total, begin, std::min(blockBytes, total - begin)});
    });
    return bytes;
  }
  std::unique_lock<std::mutex> lock(mutex);
  progress.expect(1);
  auto whole = [&] { return !contents.empty() && contents.front()->arrived == contents.front()->bytes.size(); };
  changed.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return whole() || !failed.ok(); });
  progress.expect(-1);
  if (whole()) {
    std::shared_ptr<Content> content = std::move(contents.front());
    contents.pop_front();
    return content->bytes; // a copy: the children may not have taken all of it
  }
  if (failed.ok()) {
    std::ostringstream text;
    text << "process " << progress.process() << " waited " << timeoutSeconds << " s for the bytes of process 0";
    failed = Status(Code::Timeout, text.str());
  }
  return failed;
}

void Broadcast::move(std::shared_ptr<Content> content, PiecedMessage::Direction direction, uint32_t peer, uint32_t tag, const Block &block,
                     std::function<void()> then) {
  auto place = content->messages.emplace(content->messages.end());
  auto ended = [this, content, place, then = std::move(then)](const Status &status) {
    if (!status.ok())
      return frames.fail(status);
    then();
    std::unique_ptr<PiecedMessage> self = std::move(*place); // ends with this call
    content->messages.erase(place);
  };
  *place = std::make_unique<PiecedMessage>(frames.progress(), direction, peer, tag, content->bytes.data() + block.begin, block.size,
                                           std::move(ended));
  (*place)->start();
}

void Broadcast::passOn(std::shared_ptr<Content> content, const Block &block) {
  Progress &progress = frames.progress();
  for (uint32_t child = 2 * progress.process() + 1; child <= 2 * progress.process() + 2; ++child) {
    if (child >= progress.processes() || progress.hasHalted())
      return;
    Frame frame;
    frame.head.kind = FrameKind::Broadcast, frame.head.stream = 0, frame.head.dataTag = frames.newTag();
    frame.put(block);
    frames.send(child, frame);
    move(content, PiecedMessage::Send, child, frame.head.dataTag, block, [] {});
  }
}

void Broadcast::read(uint32_t from, const Frame &frame) {
  auto block = frame.get<Block>();
  if (block.begin == 0) {
    coming = std::make_shared<Content>();
    coming->bytes.resize(block.total);
    std::lock_guard<std::mutex> lock(mutex);
    contents.push_back(coming);
  }
  auto content = coming;
  move(content, PiecedMessage::Receive, from, frame.head.dataTag, block, [this, content, block] {
    {
      std::lock_guard<std::mutex> lock(mutex);
      content->arrived += block.size;
      changed.notify_all();
    }
    passOn(content, block);
  });
}

void Broadcast::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.ok())
    failed = status;
  changed.notify_all();
}

} // namespace npar::engine
