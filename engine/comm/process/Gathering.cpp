// Every process gives some bytes and gets those of all: for the group of processes, and for each communicator between training steps.
#include "engine/comm/process/Gathering.h"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace npar::engine {

Gathering::Gathering(Frames &frames, uint32_t stream)
    : frames(frames), stream(stream), parts(frames.progress().processes()), begun(frames.progress().processes()) {}

Gathering::~Gathering() = default;

bool Gathering::complete() const {
  return std::all_of(parts.begin(), parts.end(), [](const auto &queue) { return !queue.empty() && queue.front().whole; });
}

std::string Gathering::missing() const {
  std::vector<size_t> absent;
  for (size_t process = 0; process < parts.size(); ++process)
    if (parts[process].empty() || !parts[process].front().whole)
      absent.push_back(process);
  constexpr size_t listed = 8;
  std::string text = absent.size() > 1 ? "processes " : "process ";
  for (size_t i = 0; i < std::min(absent.size(), listed); ++i)
    text += (i ? ", " : "") + std::to_string(absent[i]);
  return text + (absent.size() > listed ? " and " + std::to_string(absent.size() - listed) + " more" : "");
}

Result<std::vector<std::vector<uint8_t>>> Gathering::gather(const std::vector<uint8_t> &own, double timeoutSeconds) {
  Progress &progress = frames.progress();
  uint32_t self = progress.process();
  std::unique_lock<std::mutex> lock(mutex);
  if (!failed.ok())
    return failed;
  parts[self].emplace_back().bytes = own;
  parts[self].back().whole = true;
  if (progress.processes() > 1)
    progress.run([this, number = round, own] { give(number, own); });
  ++round;
  progress.expect(1);
  bool inTime = changed.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return complete() || !failed.ok(); });
  progress.expect(-1);
  if (complete()) {
    std::vector<std::vector<uint8_t>> all;
    for (auto &queue : parts) {
      all.push_back(std::move(queue.front().bytes));
      queue.pop_front();
    }
    return all;
  }
  if (!inTime) {
    std::ostringstream text;
    text << "process " << self << " waited " << timeoutSeconds << " s for " << missing() << " to do the same";
    failed = Status(Code::Timeout, text.str());
  }
  return failed;
}

/// On the progress thread.
void Gathering::give(uint64_t number, std::vector<uint8_t> bytes) {
  if (frames.progress().hasHalted())
    return;
  Frame frame;
  frame.head.kind = FrameKind::Gather, frame.head.stream = stream;
  frame.put(Announcement{number, bytes.size()});
  bool fits = bytes.size() <= frame.left();
  if (fits)
    frame.append(bytes.data(), bytes.size());
  else
    frame.head.dataTag = frames.newTag();
  uint32_t self = frames.progress().process(), processes = frames.progress().processes();
  auto gift = fits ? gifts.end() : gifts.insert(gifts.end(), Gift{std::move(bytes), {}, processes - 1});
  for (uint32_t i = 1; i < processes; ++i) {
    uint32_t to = (self + i) % processes; // not all to the same one first
    frames.send(to, frame);
    if (fits)
      continue;
    gift->messages.push_back(std::make_unique<PiecedMessage>(frames.progress(), PiecedMessage::Send, to, frame.head.dataTag,
                                                             gift->bytes.data(), gift->bytes.size(), [this, gift](const Status &status) {
                                                               if (!status.ok())
                                                                 frames.fail(status);
                                                               else if (--gift->unsent == 0)
                                                                 gifts.erase(gift);
                                                             }));
    gift->messages.back()->start();
  }
}

void Gathering::read(uint32_t from, const Frame &frame) {
  auto announced = frame.get<Announcement>();
  std::unique_lock<std::mutex> lock(mutex);
  if (announced.round != begun[from]++) {
    lock.unlock();
    return frames.fail(Status(Code::Internal, "process " + std::to_string(from) + " gathers for the " + std::to_string(announced.round) +
                                                  "th time, by its messages for the " + std::to_string(begun[from] - 1) + "th"));
  }
  Part &part = parts[from].emplace_back();
  if (frame.head.dataTag == 0) {
    const uint8_t *bytes = frame.body + sizeof(Announcement);
    part.bytes.assign(bytes, bytes + announced.size);
    part.whole = true;
    return changed.notify_all();
  }
  lock.unlock();
  part.bytes.resize(announced.size);
  part.message = std::make_unique<PiecedMessage>(frames.progress(), PiecedMessage::Receive, from, frame.head.dataTag, part.bytes.data(),
                                                 part.bytes.size(), [this, &part](const Status &status) {
                                                   if (!status.ok())
                                                     return frames.fail(status);
                                                   std::lock_guard<std::mutex> lock(mutex);
                                                   part.whole = true;
                                                   changed.notify_all();
                                                 });
  part.message->start();
}

bool Gathering::isQuiet() const {
  std::lock_guard<std::mutex> lock(mutex);
  auto whole = [](const std::deque<Part> &queue) { return queue.empty() || queue.back().whole; };
  return gifts.empty() && std::all_of(parts.begin(), parts.end(), whole);
}

bool Gathering::isAhead(uint32_t process) const {
  std::lock_guard<std::mutex> lock(mutex);
  return begun[process] > round;
}

void Gathering::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.ok())
    failed = status;
  changed.notify_all();
}

} // namespace npar::engine
