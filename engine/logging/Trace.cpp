// A timeline of every step of every rank as Chrome/Perfetto JSON, with the plan's ids so that plan and measurement can be joined.
#include "engine/logging/Trace.h"

#include "engine/files/AtomicFile.h"
#include "engine/logging/Json.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <tuple>

namespace npar::engine {

namespace {
constexpr size_t blockEvents = 1 << 12;
using Block = std::vector<TraceEvent>;
struct Label {
  std::string text, source;
};
} // namespace

struct Trace::State {
  size_t capacity = 0;
  int64_t trainingSteps = 0;
  std::atomic<size_t> reserved{0}, dropped{0};
  tbb::enumerable_thread_specific<std::vector<Block>> threads;
  std::vector<std::string> lanes;
  std::vector<Label> labels;
  std::map<std::pair<uint32_t, uint32_t>, std::string> tasks;
};

Trace::Trace(size_t capacity, int64_t trainingSteps) : state(new State) {
  state->capacity = capacity;
  state->trainingSteps = trainingSteps;
}
Trace::~Trace() = default;

uint32_t Trace::addLane(const std::string &name) {
  auto found = std::find(state->lanes.begin(), state->lanes.end(), name);
  if (found == state->lanes.end())
    found = state->lanes.insert(found, name);
  return static_cast<uint32_t>(found - state->lanes.begin());
}

uint32_t Trace::addLabel(const std::string &text, const std::string &source) {
  state->labels.push_back({text, source});
  return static_cast<uint32_t>(state->labels.size() - 1);
}

void Trace::addTask(uint32_t rank, uint32_t task, const std::string &name) { state->tasks[{rank, task}] = name; }

void Trace::record(const TraceEvent &event) {
  if (event.trainingStep >= state->trainingSteps)
    return;
  std::vector<Block> &blocks = state->threads.local();
  if (blocks.empty() || blocks.back().size() == blockEvents) {
    if (state->reserved.fetch_add(blockEvents) >= state->capacity) {
      state->reserved.fetch_sub(blockEvents);
      ++state->dropped;
      return;
    }
    blocks.emplace_back().reserve(blockEvents);
  }
  blocks.back().push_back(event);
}

size_t Trace::dropped() const { return state->dropped; }

namespace {

void append(std::vector<uint8_t> &bytes, const void *from, size_t size) {
  auto *begin = static_cast<const uint8_t *>(from);
  bytes.insert(bytes.end(), begin, begin + size);
}

void append(std::vector<uint8_t> &bytes, uint64_t number) { append(bytes, &number, sizeof(number)); }

void append(std::vector<uint8_t> &bytes, const std::string &text) {
  append(bytes, text.size());
  append(bytes, text.data(), text.size());
}

/// Reads past the end return zeros and clear `good`.
struct Reader {
  const std::vector<uint8_t> &bytes;
  size_t at = 0;
  bool good = true;

  bool take(void *to, size_t size) {
    if (good = good && bytes.size() - at >= size; good)
      std::memcpy(to, bytes.data() + at, size), at += size;
    return good;
  }
  uint64_t number() {
    uint64_t value = 0;
    take(&value, sizeof(value));
    return value;
  }
  std::string text() {
    uint64_t size = number();
    good = good && bytes.size() - at >= size;
    std::string value(good ? size : 0, ' ');
    take(value.data(), value.size());
    return value;
  }
};

} // namespace

std::vector<uint8_t> Trace::pack() const {
  std::vector<uint8_t> bytes;
  append(bytes, dropped());
  append(bytes, state->lanes.size());
  for (const std::string &lane : state->lanes)
    append(bytes, lane);
  append(bytes, state->labels.size());
  for (const Label &label : state->labels)
    append(bytes, label.text), append(bytes, label.source);
  append(bytes, state->tasks.size());
  for (const auto &[key, name] : state->tasks)
    append(bytes, uint64_t{key.first}), append(bytes, uint64_t{key.second}), append(bytes, name);
  for (const TraceEvent &event : events())
    append(bytes, &event, sizeof(event));
  return bytes;
}

Status Trace::add(const std::vector<uint8_t> &packed, double seconds) {
  Reader reader{packed};
  state->dropped += reader.number();
  std::vector<uint32_t> lanes; // the other's numbers to ours
  for (uint64_t i = reader.number(); i > 0 && reader.good; --i)
    lanes.push_back(addLane(reader.text()));
  auto firstLabel = static_cast<uint32_t>(state->labels.size());
  for (uint64_t i = reader.number(); i > 0 && reader.good; --i) {
    std::string text = reader.text();
    addLabel(text, reader.text());
  }
  for (uint64_t i = reader.number(); i > 0 && reader.good; --i) {
    auto rank = static_cast<uint32_t>(reader.number()), task = static_cast<uint32_t>(reader.number());
    addTask(rank, task, reader.text());
  }
  Block events((packed.size() - reader.at) / sizeof(TraceEvent));
  for (TraceEvent &event : events) {
    reader.take(&event, sizeof(event));
    event.begin += seconds, event.end += seconds, event.label += firstLabel;
    if (event.lane >= lanes.size())
      reader.good = false;
    else
      event.lane = lanes[event.lane];
  }
  if (!reader.good || reader.at != packed.size())
    return Status(Code::Internal, "the trace of another process cannot be read");
  state->threads.local().push_back(std::move(events));
  return {};
}

std::vector<TraceEvent> Trace::events() const {
  std::vector<TraceEvent> all;
  for (const std::vector<Block> &blocks : state->threads)
    for (const Block &block : blocks)
      all.insert(all.end(), block.begin(), block.end());
  std::sort(all.begin(), all.end(), [](const TraceEvent &a, const TraceEvent &b) {
    return std::tie(a.rank, a.begin, a.lane, a.task, a.step) < std::tie(b.rank, b.begin, b.lane, b.task, b.step);
  });
  return all;
}

std::string Trace::json() const {
  std::vector<TraceEvent> all = events();
  double origin = 0;
  for (size_t i = 0; i < all.size(); ++i)
    origin = i ? std::min(origin, all[i].begin) : all[i].begin;
  std::string out = "{\"displayTimeUnit\":\"ms\",\"droppedEvents\":" + std::to_string(dropped()) + ",\"traceEvents\":[";
  const char *comma = "\n";
  std::map<std::pair<uint32_t, uint32_t>, bool> seen; // rank, lane
  for (const TraceEvent &event : all)
    seen[{event.rank, event.lane}] = true;
  uint32_t lastRank = ~0u;
  for (const auto &[key, unused] : seen) {
    std::string pid = std::to_string(key.first), tid = std::to_string(key.second);
    if (key.first != lastRank)
      out += comma + ("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + pid + ",\"args\":{\"name\":\"rank " + pid + "\"}}"),
          comma = ",\n";
    lastRank = key.first;
    std::string lane = key.second < state->lanes.size() ? state->lanes[key.second] : "lane " + tid;
    out += comma +
           ("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + pid + ",\"tid\":" + tid + ",\"args\":{\"name\":" + jsonString(lane) + "}}");
  }
  static const Label unknown{"?", ""};
  for (const TraceEvent &event : all) {
    const Label &label = event.label < state->labels.size() ? state->labels[event.label] : unknown;
    auto task = state->tasks.find({event.rank, event.task});
    out += comma + ("{\"ph\":\"X\",\"name\":" + jsonString(label.text)) +
           ",\"cat\":" + jsonString(task == state->tasks.end() ? std::to_string(event.task) : task->second) +
           ",\"pid\":" + std::to_string(event.rank) + ",\"tid\":" + std::to_string(event.lane) +
           ",\"ts\":" + jsonNumber((event.begin - origin) * 1e6) + ",\"dur\":" + jsonNumber((event.end - event.begin) * 1e6) +
           ",\"args\":{\"task\":" + std::to_string(event.task) + ",\"step\":" + std::to_string(event.step) +
           ",\"micro\":" + std::to_string(event.micro) + ",\"training_step\":" + std::to_string(event.trainingStep) +
           ",\"source\":" + jsonString(label.source) + "}}";
    comma = ",\n";
  }
  return out + "\n]}\n";
}

Status Trace::write(const std::string &path) const {
  std::string text = json();
  return files::writeFileAtomically(path, text.data(), text.size());
}

} // namespace npar::engine
