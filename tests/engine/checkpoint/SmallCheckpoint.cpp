// Random bytes under seven names.
#include "tests/engine/checkpoint/SmallCheckpoint.h"

#include "engine/files/StreamHash.h"
#include "engine/safetensors/Safetensors.h"

#include <cstring>
#include <fstream>
#include <random>
#include <unistd.h>

namespace npar::testing {

using namespace engine;
namespace fs = std::filesystem;

MemoryCheckpoint::MemoryCheckpoint() {
  static int number = 0;
  path = "/tmp/npar-memory-checkpoint-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  fs::create_directories(path + "/model");
  const std::string model = "model M() {}\n";
  std::ofstream(path + "/model/m.npar") << model;
  content.model = "M", content.plan = "p", content.train = "t", content.compute = "f32";
  content.modelHash = content.planHash = files::hashText("", 0);
  content.mesh = {{"dp", 2}, {"tp", 2}};
  content.step = 100, content.seed = 7, content.rateSteps = 100, content.rate = 0.25;
  content.data = {{"tokens bytes", "shuffled", 1600, 2, 700, 16}};
  content.call.text = "m.npar", content.call.settings = {"width=6"};
  content.call.texts = {{"model/m.npar", model.size(), files::hashText(model.data(), model.size())}};
  add("w", "F32", {6, 8});
  add("b", "F32", {40});
  add("scale", "F64", {});
  add("half", "BF16", {3, 5});
  add("empty", "F32", {0, 4});
  add("w.exp_avg", "F32", {6, 8}, "w", "exp_avg");
  add("b.exp_avg", "F32", {40}, "b", "exp_avg");
}

MemoryCheckpoint::~MemoryCheckpoint() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void MemoryCheckpoint::add(const std::string &name, const std::string &type, std::vector<int64_t> shape, const std::string &of,
                           const std::string &slot) {
  ManifestTensor tensor;
  tensor.name = name, tensor.kind = slot.empty() ? "parameter" : "state", tensor.of = of, tensor.slot = slot;
  tensor.type = type, tensor.shape = tensor.stored = shape;
  entries[name] = {type, shape};
  std::mt19937_64 chance(content.tensors.size());
  std::vector<uint8_t> &values = bytes[name];
  for (uint64_t i = 0; i < tensor.elements(); ++i) { // finite numbers in every type
    double wide = static_cast<double>(chance() % 2000) / 1000 - 1;
    auto narrow = static_cast<float>(wide);
    const uint8_t *from = type == "F64" ? reinterpret_cast<uint8_t *>(&wide) : reinterpret_cast<uint8_t *>(&narrow);
    if (type == "BF16")
      from += 2;
    values.insert(values.end(), from, from + bytesOfType(type));
  }
  content.tensors.push_back(std::move(tensor));
}

Status MemoryCheckpoint::read(const std::string &name, uint64_t first, uint64_t count, uint8_t *to) const {
  if (name == unreadable)
    return Status::badInput("tensor '" + name + "' cannot be read");
  uint64_t unit = bytesOfType(entries.at(name).type);
  if (count)
    std::memcpy(to, bytes.at(name).data() + first * unit, count * unit);
  return {};
}

void MemoryCheckpoint::remove(const std::string &name) {
  entries.erase(name);
  content.tensors.erase(
      std::find_if(content.tensors.begin(), content.tensors.end(), [&](const ManifestTensor &tensor) { return tensor.name == name; }));
}

Manifest MemoryCheckpoint::threeFiles() const {
  Manifest cut = content;
  cut.files = {{"rank-00000.safetensors", 0, ""}, {"rank-00001.safetensors", 0, ""}, {"rank-00002.safetensors", 0, ""}};
  uint32_t next = 0;
  for (ManifestTensor &tensor : cut.tensors) {
    auto piece = [&](std::vector<int64_t> start, std::vector<int64_t> shape, uint64_t begin, uint64_t end, uint32_t file) {
      tensor.pieces.push_back({file, tensor.name, std::move(start), std::move(shape), begin, end, ""});
    };
    if (tensor.name == "w")
      piece({0, 0}, {6, 3}, 0, 10, 0), piece({0, 0}, {6, 3}, 10, 18, 1), piece({0, 3}, {6, 5}, 0, 30, 2);
    else if (tensor.elements() > 0)
      piece(std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape, 0, tensor.elements(), next++ % 3);
  }
  return cut;
}

} // namespace npar::testing
