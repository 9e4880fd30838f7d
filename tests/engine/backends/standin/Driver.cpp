// Owns what the driver's calls work on.
#include "tests/engine/backends/standin/Driver.h"

#include <cstdio>

namespace npar::standin {

namespace {
std::unique_ptr<Driver> &theDriver() {
  // Leaks are reported when the process ends, while the library is still loaded.
  struct Owner {
    std::unique_ptr<Driver> driver = std::make_unique<Driver>(Settings::fromEnvironment());
    ~Owner() {
      if (driver->settings.leaks)
        for (const std::string &line : driver->left())
          std::fprintf(stderr, "stand-in for CUDA: left at the end: %s\n", line.c_str());
      if (driver->settings.sites)
        for (const auto &[site, count] : driver->sites.all())
          std::fprintf(stderr, "stand-in for CUDA: %llu calls of %s\n", static_cast<unsigned long long>(count), site.c_str());
      double seconds = static_cast<double>(driver->kernelNanoseconds) * 1e-9,
             millions = static_cast<double>(driver->laneInstructions) * 1e-6;
      if (driver->settings.figures)
        std::fprintf(stderr, "stand-in for CUDA: %.1f million lane-instructions in %.3f s of kernels: %.0f million/s\n", millions, seconds,
                     seconds > 0 ? millions / seconds : 0);
    }
  };
  static Owner owner;
  return owner.driver;
}
} // namespace

Handle newHandle() {
  static std::atomic<uintptr_t> next{0x7DA0000000000000};
  return reinterpret_cast<Handle>(next += 16);
}

std::set<size_t> Graph::leaves() const {
  std::set<size_t> found;
  for (size_t i = 0; i < nodes.size(); ++i)
    found.insert(i);
  for (const Node &node : nodes)
    for (size_t earlier : node.before)
      found.erase(earlier);
  return found;
}

Driver::Driver(const Settings &settings)
    : settings(settings), sites(settings.leftOut, settings.sites), memory(settings.devices, settings.memory), queue(settings) {
  for (int i = 0; i < settings.devices; ++i) {
    devices.push_back(std::make_shared<Device>());
    devices.back()->number = i;
  }
}

Driver &Driver::instance() { return *theDriver(); }

void Driver::restart(const Settings &settings) {
  theDriver() = nullptr;
  theDriver() = std::make_unique<Driver>(settings);
}

void Driver::enqueue(Stream &stream, std::function<Outcome()> action, std::function<bool()> condition) {
  if (stream.capture) {
    Graph &graph = *stream.capture->graph;
    graph.nodes.push_back({stream.device, std::move(action), std::move(condition), stream.captured});
    stream.captured = {graph.nodes.size() - 1};
    return;
  }
  stream.last = queue.add(*stream.device, {stream.last}, std::move(action), std::move(condition));
}

WorkPointer Driver::everythingOf(Device &device) {
  std::vector<WorkPointer> tails;
  for (auto &[handle, stream] : streams.all())
    if (stream->device == &device)
      tails.push_back(stream->last);
  for (auto &[owner, work] : orphans)
    if (owner == &device)
      tails.push_back(work);
  return queue.add(device, std::move(tails), {});
}

bool Driver::forbiddenByCapture() {
  bool forbidden = false;
  for (auto &[handle, stream] : streams.all()) {
    Capture *capture = stream->capture.get();
    if (!capture || capture->mode == CaptureMode::Relaxed ||
        (capture->mode == CaptureMode::ThreadLocal && capture->thread != std::this_thread::get_id()))
      continue;
    capture->invalid = forbidden = true;
  }
  return forbidden;
}

bool Driver::waitForbiddenByCapture(const Device &device) {
  bool forbidden = false;
  for (auto &[handle, stream] : streams.all())
    if (stream->capture && stream->device == &device)
      stream->capture->invalid = forbidden = true;
  return forbidden;
}

namespace {
template <typename Objects, typename Condition>
void tell(std::vector<std::string> &lines, const Objects &objects, const char *what, Condition condition) {
  size_t count = 0;
  for (auto &[handle, object] : objects.all())
    count += condition(*object);
  if (count)
    lines.push_back(std::to_string(count) + " " + what);
}
} // namespace

void Driver::destroyContext(Device &device) {
  auto own = [&](const auto &object) { return object.device == &device; };
  for (const std::string &line : memory.left(device.number))
    lost.push_back(line);
  tell(lost, streams, "streams", own);
  tell(lost, events, "events", own);
  tell(lost, modules, "modules", own);
  tell(lost, executables, "executable graphs", own);
  streams.removeIf(own);
  events.removeIf(own);
  functions.removeIf([&](const Function &function) { return own(*function.module); });
  modules.removeIf(own);
  executables.removeIf(own);
  memory.releaseAll(device.number);
  memory.forgetPeers(device.number);
  contexts.remove(device.context);
  device.context = nullptr;
}

std::vector<std::string> Driver::left() const {
  for (auto &device : devices)
    if (device->failed != Code::Success)
      return {};
  std::vector<std::string> lines = lost;
  for (int device = -1; device < settings.devices; ++device) // -1: page-locked memory
    for (const std::string &line : memory.left(device))
      lines.push_back(line);
  auto any = [](const auto &) { return true; };
  tell(lines, streams, "streams", any);
  tell(lines, events, "events", any);
  tell(lines, modules, "modules", any);
  tell(lines, graphs, "graphs", any);
  tell(lines, executables, "executable graphs", any);
  tell(lines, contexts, "contexts", any);
  return lines;
}

} // namespace npar::standin
