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
    if (bytes.size() > greatest)
      return Status::runFailed("process 0 has " + std::to_string(bytes.size()) + " bytes for all, a broadcast takes " +
                               std::to_string(greatest));
    auto content = std::make_shared<Content>();
    content->total = bytes.size();
    do {
      uint64_t begin = content->announced;
      announce(*content, {content->total, begin, std::min(blockBytes, content->total - begin)});
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), content->blocks.back().size(), content->blocks.back().begin());
    } while (content->announced < content->total);
    progress.run([this, content] {
      uint64_t begin = 0;
      for (std::vector<uint8_t> &block : content->blocks) {
        passOn(content, {content->total, begin, block.size()}, block);
        begin += block.size();
      }
    });
    return bytes;
  }
  std::unique_lock<std::mutex> lock(mutex);
  progress.expect(1);
  auto whole = [&] { return !contents.empty() && contents.front()->arrived == contents.front()->total; };
  changed.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return whole() || !failed.ok(); });
  progress.expect(-1);
  if (whole()) {
    std::shared_ptr<Content> content = std::move(contents.front());
    contents.pop_front();
    bytes.clear();
    bytes.reserve(content->total);
    for (const std::vector<uint8_t> &block : content->blocks) // copies: the children may not have taken all of it
      bytes.insert(bytes.end(), block.begin(), block.end());
    return bytes;
  }
  if (failed.ok()) {
    std::ostringstream text;
    text << "process " << progress.process() << " waited " << timeoutSeconds << " s for the bytes of process 0";
    failed = Status(Code::Timeout, text.str());
  }
  return failed;
}

bool Broadcast::announce(Content &content, const Block &block) {
  if (block.total != content.total || block.total > greatest || block.begin != content.announced || block.begin > block.total ||
      block.size != std::min(blockBytes, block.total - block.begin) || (block.size == 0 && !content.blocks.empty()))
    return false;
  content.blocks.emplace_back(block.size);
  content.announced += block.size;
  return true;
}

void Broadcast::move(std::shared_ptr<Content> content, PiecedMessage::Direction direction, uint32_t peer, uint32_t tag,
                     std::vector<uint8_t> &bytes, std::function<void()> then) {
  auto place = content->messages.emplace(content->messages.end());
  auto ended = [this, content, place, then = std::move(then)](const Status &status) {
    if (!status.ok())
      return frames.fail(status);
    then();
    std::unique_ptr<PiecedMessage> self = std::move(*place); // ends with this call
    content->messages.erase(place);
  };
  *place = std::make_unique<PiecedMessage>(frames.progress(), direction, peer, tag, bytes.data(), bytes.size(), std::move(ended));
  (*place)->start();
}

void Broadcast::passOn(std::shared_ptr<Content> content, const Block &block, std::vector<uint8_t> &bytes) {
  Progress &progress = frames.progress();
  for (uint32_t child = 2 * progress.process() + 1; child <= 2 * progress.process() + 2; ++child) {
    if (child >= progress.processes() || progress.hasHalted())
      return;
    Frame frame;
    frame.head.kind = FrameKind::Broadcast, frame.head.stream = 0, frame.head.dataTag = frames.newTag();
    frame.put(block);
    frames.send(child, frame);
    move(content, PiecedMessage::Send, child, frame.head.dataTag, bytes, [] {});
  }
}

void Broadcast::read(uint32_t from, const Frame &frame) {
  uint32_t self = frames.progress().process();
  auto refuse = [&](const std::string &what) { frames.fail(Status::runFailed("process " + std::to_string(from) + " passes on " + what)); };
  if (self == 0 || from != (self - 1) / 2 || !frame.has<Block>() || frame.head.dataTag == 0)
    return refuse("to process " + std::to_string(self) + " what process 0 has for all, which is not its turn");
  auto block = frame.get<Block>();
  if (block.begin == 0 && (!coming || coming->announced == coming->total)) {
    coming = std::make_shared<Content>();
    coming->total = block.total;
    std::lock_guard<std::mutex> lock(mutex);
    contents.push_back(coming);
  }
  auto content = coming;
  bool fits = false;
  if (content) {
    std::lock_guard<std::mutex> lock(mutex);
    fits = announce(*content, block);
  }
  if (!fits)
    return refuse("bytes " + std::to_string(block.begin) + " to " + std::to_string(block.begin + block.size) + " of " +
                  std::to_string(block.total) + ", which are not the next ones");
  std::vector<uint8_t> &bytes = content->blocks.back();
  move(content, PiecedMessage::Receive, from, frame.head.dataTag, bytes, [this, content, block, &bytes] {
    {
      std::lock_guard<std::mutex> lock(mutex);
      content->arrived += block.size;
      changed.notify_all();
    }
    passOn(content, block, bytes);
  });
}

void Broadcast::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.ok())
    failed = status;
  changed.notify_all();
}

} // namespace npar::engine
