// Gives every process the contributions of all: for the group of processes, and for each communicator between training steps.
#include "engine/comm/process/Gathering.h"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace npar::engine {

namespace {

/// Up to this size what a process gives goes through the tree, where the root has to send what all have given to as many as are below it.
/// Above it the bytes take longer than messages, and each process sends its own to the P - 1 others.
constexpr size_t mostInTree = size_t{16} << 10;

/// Returns the largest packed size of the contributions of this number of processes.
constexpr uint64_t mostPacked(uint32_t processes) { return uint64_t{processes} * (sizeof(Contributions::Run) + mostInTree); }

/// "process 3", "processes 1, 2, 17 to 32 (at least one)".
std::string nameAll(const std::vector<ProcessTree::Range> &ranges) {
  constexpr size_t listed = 8;
  std::string text = ranges.size() > 1 || (!ranges.empty() && ranges[0].count > 1) ? "processes " : "process ";
  for (size_t i = 0; i < std::min(ranges.size(), listed); ++i) {
    text += (i ? ", " : "") + std::to_string(ranges[i].first);
    if (ranges[i].count > 1)
      text += " to " + std::to_string(ranges[i].first + ranges[i].count - 1) + " (at least one)";
  }
  size_t more = 0;
  for (size_t i = listed; i < ranges.size(); ++i)
    more += ranges[i].count;
  return text + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

} // namespace

Gathering::Gathering(Frames &frames, uint32_t stream)
    : frames(frames), stream(stream), tree(frames.progress().processes(), frames.progress().process()), below(tree.below.size()) {
  above.range = {0, frames.progress().processes()};
  for (size_t i = 0; i < below.size(); ++i)
    below[i].range = tree.below[i];
}

Gathering::~Gathering() = default;

/// Processes whose contributions are missing, as far as this process knows. If empty, contributions of processes outside its subtree are
/// missing.
std::vector<ProcessTree::Range> Gathering::absent() const {
  std::vector<ProcessTree::Range> ranges;
  for (uint32_t process : awaited)
    ranges.push_back({process, 1});
  if (!given)
    ranges.push_back({frames.progress().process(), 1});
  for (const Part &part : below)
    if (!passed && part.state != Part::Whole)
      ranges.push_back(part.range);
  return ranges;
}

std::string Gathering::missing() const {
  std::vector<ProcessTree::Range> ranges = absent();
  return ranges.empty() ? "process " + std::to_string(tree.above) + ", or for others that it waits for," : nameAll(ranges);
}

Result<std::vector<std::vector<uint8_t>>> Gathering::gather(const std::vector<uint8_t> &own, double timeoutSeconds) {
  begin(own);
  return await(timeoutSeconds);
}

void Gathering::begin(const std::vector<uint8_t> &bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failed.ok())
    return;
  ++begun;
  given = passed = ended = false;
  if (frames.progress().processes() == 1)
    result = {bytes}, given = passed = ended = true;
  else
    frames.progress().run([this, own = std::make_shared<std::vector<uint8_t>>(bytes)] { give(own); });
}

Result<std::vector<std::vector<uint8_t>>> Gathering::await(double timeoutSeconds) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!failed.ok())
    return failed;
  frames.progress().expect(1);
  bool inTime = changed.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return ended || !failed.ok(); });
  frames.progress().expect(-1);
  if (ended)
    return std::move(result);
  if (!inTime) {
    std::ostringstream text;
    text << "process " << frames.progress().process() << " waited " << timeoutSeconds << " s for " << missing() << " to do the same";
    failed = Status(Code::Timeout, text.str());
  }
  return failed;
}

void Gathering::give(Bytes bytes) {
  if (frames.progress().hasHalted())
    return;
  if (bytes->size() > greatestContribution)
    return failWith("process " + std::to_string(frames.progress().process()) + " gives " + std::to_string(bytes->size()) +
                    " bytes to a gather, which takes " + std::to_string(greatestContribution));
  Contributions packed;
  if (bytes->size() <= mostInTree) {
    packed.add(*bytes);
  } else {
    uint32_t tag = frames.newTag(), self = frames.progress().process(), processes = frames.progress().processes();
    packed.addSentApart(bytes->size(), tag);
    apart = bytes;
    std::vector<uint32_t> others;
    for (uint32_t i = 1; i < processes; ++i)
      others.push_back((self + i) % processes); // not all to the same one first
    send(others, std::move(bytes), tag);
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    own = std::move(packed);
    given = true;
  }
  passOn();
}

/// Once this process and all below it have given.
void Gathering::passOn() {
  std::vector<uint8_t> packed;
  bool sound = true;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!given || passed || std::any_of(below.begin(), below.end(), [](const Part &part) { return part.state != Part::Whole; }))
      return;
    for (Part &part : below) {
      sound &= own.append(part.bytes, part.range.count);
      part.bytes.clear();
      part.state = Part::Nothing;
    }
    packed = own.take();
    passed = true;
  }
  if (!sound)
    failWith("process " + std::to_string(frames.progress().process()) + " was given what nobody gathers");
  else if (frames.progress().process() == 0)
    spread(std::move(packed));
  else
    tell({tree.above}, std::move(packed));
}

/// Sends the complete set down. Those below get it before it is returned here, so a process whose last gather has ended may leave as soon
/// as its sends are complete.
void Gathering::spread(std::vector<uint8_t> packed) {
  bool sound = unpack(packed);
  std::vector<uint32_t> processes;
  for (const ProcessTree::Range &range : tree.below)
    processes.push_back(range.first);
  if (!sound)
    return failWith("process " + std::to_string(tree.above) + " has passed on what nobody gathers");
  tell(processes, std::move(packed));
  ++round;
  apart = nullptr;
  endIfWhole();
}

bool Gathering::unpack(const std::vector<uint8_t> &packed) {
  uint32_t self = frames.progress().process(), processes = frames.progress().processes();
  all.clear();
  all.resize(processes);
  uint32_t next = 0;
  bool bounded = true;
  bool sound = Contributions::read(packed, processes, [&](const Contributions::Run &run, const uint8_t *bytes) {
    // The rule of `give`: only contributions too large for the tree travel apart, and this process remembers its own.
    bounded &=
        run.dataTag == 0 ? run.size <= mostInTree : run.size > mostInTree && run.size <= greatestContribution && (next != self || apart);
    if (!bounded)
      return;
    if (run.dataTag == 0)
      for (uint32_t i = 0; i < run.times; ++i)
        all[next + i].assign(bytes, bytes + run.size);
    else if (next != self)
      receiveApart(next, run.size, run.dataTag);
    else
      all[self] = *apart;
    next += run.times;
  });
  return sound && bounded;
}

void Gathering::receiveApart(uint32_t process, uint64_t size, uint32_t tag) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    awaited.push_back(process);
  }
  auto place = receiving.emplace(receiving.end());
  auto ended = [this, process, place](const Status &status) {
    if (!status.ok())
      return frames.fail(status);
    {
      std::lock_guard<std::mutex> lock(mutex);
      awaited.erase(std::find(awaited.begin(), awaited.end(), process));
    }
    std::unique_ptr<PiecedMessage> self = std::move(*place); // ends with this call
    receiving.erase(place);
    endIfWhole();
  };
  *place = std::make_unique<PiecedMessage>(frames.progress(), process, tag, all[process], size, std::move(ended));
  (*place)->start();
}

void Gathering::endIfWhole() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!awaited.empty())
    return;
  result = std::move(all);
  ended = true;
  changed.notify_all();
}

/// Packed contributions to neighbours in the tree.
void Gathering::tell(const std::vector<uint32_t> &processes, std::vector<uint8_t> packed) {
  Frame frame;
  frame.head.kind = FrameKind::Gather, frame.head.stream = stream;
  frame.put(Announcement{round, packed.size()});
  bool fits = packed.size() <= frame.left();
  if (fits)
    frame.append(packed.data(), packed.size());
  else
    frame.head.dataTag = frames.newTag();
  for (uint32_t process : processes)
    frames.send(process, frame);
  if (!fits)
    send(processes, std::make_shared<std::vector<uint8_t>>(std::move(packed)), frame.head.dataTag);
}

void Gathering::send(const std::vector<uint32_t> &processes, Bytes bytes, uint32_t tag) {
  if (processes.empty() || frames.progress().hasHalted())
    return;
  auto gift = gifts.insert(gifts.end(), Gift{std::move(bytes), {}, processes.size()});
  for (uint32_t process : processes) {
    gift->messages.push_back(std::make_unique<PiecedMessage>(frames.progress(), PiecedMessage::Send, process, tag, gift->bytes->data(),
                                                             gift->bytes->size(), [this, gift](const Status &status) {
                                                               if (!status.ok())
                                                                 frames.fail(status);
                                                               else if (--gift->unsent == 0)
                                                                 gifts.erase(gift);
                                                             }));
    gift->messages.back()->start();
  }
}

void Gathering::read(uint32_t from, const Frame &frame) {
  if (!frame.has<Announcement>())
    return failWith("process " + std::to_string(from) + " gathers without saying what");
  auto announced = frame.get<Announcement>();
  bool fits = frame.head.dataTag == 0;
  Part *part = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto child = std::find_if(below.begin(), below.end(), [&](const Part &one) { return one.range.first == from; });
    if (child != below.end())
      part = &*child;
    else if (from == tree.above && passed)
      part = &above;
    if (part && (part->state != Part::Nothing || announced.round != part->rounds || announced.size > mostPacked(part->range.count) ||
                 (fits && announced.size != frame.head.held - sizeof(Announcement))))
      part = nullptr;
    if (part) {
      ++part->rounds;
      part->state = Part::Coming;
    }
  }
  if (!part)
    return failWith("process " + std::to_string(from) + " gathers for the " + std::to_string(announced.round + 1) + "th time " +
                    std::to_string(announced.size) + " bytes, which is not its turn or its size");
  if (fits) {
    const uint8_t *bytes = frame.body + sizeof(Announcement);
    part->bytes.assign(bytes, bytes + announced.size);
    return arrived(*part);
  }
  part->bytes.clear();
  part->message = std::make_unique<PiecedMessage>(frames.progress(), from, frame.head.dataTag, part->bytes, announced.size,
                                                  [this, part](const Status &status) {
                                                    if (!status.ok())
                                                      return frames.fail(status);
                                                    arrived(*part);
                                                  });
  part->message->start();
}

void Gathering::arrived(Part &part) {
  if (&part == &above) {
    std::vector<uint8_t> packed = std::move(part.bytes);
    {
      std::lock_guard<std::mutex> lock(mutex);
      part.state = Part::Nothing;
    }
    return spread(std::move(packed));
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    part.state = Part::Whole;
  }
  passOn();
}

bool Gathering::isQuiet() const {
  std::lock_guard<std::mutex> lock(mutex);
  auto comes = [](const Part &part) { return part.state == Part::Coming; };
  return gifts.empty() && receiving.empty() && !comes(above) && std::none_of(below.begin(), below.end(), comes);
}

uint64_t Gathering::rounds() const {
  std::lock_guard<std::mutex> lock(mutex);
  return begun;
}

void Gathering::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.ok())
    failed = status;
  changed.notify_all();
}

} // namespace npar::engine
