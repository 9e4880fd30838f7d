// Lists what a manifest says. Opens no shards, so that it works for damaged checkpoints too.
#include "engine/checkpoint/ManifestReport.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/safetensors/Safetensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::engine {

using readable::TableRow;

namespace {

std::string human(uint64_t bytes) { return readable::humanBytes(static_cast<double>(bytes)); }

/// Number of pieces stored in each file.
std::vector<uint64_t> piecesByFile(const Manifest &manifest) {
  std::vector<uint64_t> count(manifest.files.size(), 0);
  for (const ManifestTensor &tensor : manifest.tensors)
    for (const ManifestPiece &piece : tensor.pieces)
      ++count[piece.file];
  return count;
}

std::string positionLine(const DataPosition &position) {
  std::string text = fmt::format("{}{}: {} samples taken, {} per step", position.stream,
                                 position.order.empty() ? "" : ", " + position.order, position.samples, position.batch);
  return position.epochSamples ? text + fmt::format("; the next is in epoch {} of {} samples", position.epoch, position.epochSamples)
                               : text;
}

/// "ants, bees"; of many the first.
std::string classesText(const std::vector<std::string> &classes) {
  constexpr size_t most = 12;
  const size_t shown = std::min(most, classes.size());
  std::string text = fmt::format("{}", fmt::join(classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown < classes.size() ? text + fmt::format(" ... ({} in all)", classes.size()) : text;
}

std::string headText(const Manifest &manifest, const std::string &folder) {
  std::string text = "checkpoint '" + folder + "'\n";
  auto line = [&](const std::string &name, const std::string &value) { text += TableRow(2).left(name, 8).text(value).str(); };
  line("model", manifest.model + (manifest.call.text.empty() ? "" : " (" + manifest.call.text + ")"));
  std::string axes;
  for (const auto &axis : manifest.mesh)
    axes += fmt::format("{}{} {}", axes.empty() ? ": " : ", ", axis.axis, axis.size);
  line("plan", fmt::format("{}{}; {} rank{}, {}{}", manifest.plan, axes, manifest.world(), manifest.world() == 1 ? "" : "s",
                           manifest.compute, manifest.products.empty() ? "" : ", products " + manifest.products));
  line("step", fmt::format("{}; seed {}", manifest.step, manifest.seed));
  line("rate", fmt::format("{:g} after {} steps{}", manifest.rate, manifest.rateSteps,
                           manifest.lossScale ? fmt::format("; loss scale {:g}", *manifest.lossScale) : ""));
  for (const auto &position : manifest.data)
    line("data", positionLine(position));
  for (const auto &position : manifest.data)
    if (!position.classes.empty())
      line("classes", classesText(position.classes));
  uint64_t bytes[2] = {0, 0}, count[2] = {0, 0};
  for (const ManifestTensor &tensor : manifest.tensors) {
    bool other = tensor.kind != "parameter";
    bytes[other] += tensor.bytes(), ++count[other];
  }
  line("holds", fmt::format("{} parameters of {}, {} tensors of state of {}", count[0], human(bytes[0]), count[1], human(bytes[1])));
  return text;
}

std::string tableText(const Manifest &manifest) {
  size_t names = 6, shapes = 5, files = 4;
  for (const ManifestTensor &tensor : manifest.tensors) {
    names = std::max(names, quotedName(tensor.name).size() - 2);
    shapes = std::max(shapes, shapeText(tensor.stored).size());
  }
  for (const auto &file : manifest.files)
    files = std::max(files, file.name.size());
  std::string text =
      fmt::format("\n{:<{}}  {:<9}  {:<4}  {:<{}}  {:>6}  {:>9}\n", "tensor", names, "kind", "type", "shape", shapes, "pieces", "bytes");
  for (const ManifestTensor &tensor : manifest.tensors) {
    std::string name = quotedName(tensor.name);
    text += fmt::format("{:<{}}  {:<9}  {:<4}  {:<{}}  {:>6}  {:>9}\n", name.substr(1, name.size() - 2), names, tensor.kind, tensor.type,
                        shapeText(tensor.stored), shapes, tensor.pieces.size(), human(tensor.bytes()));
  }
  text += fmt::format("\n{:<{}}  {:>6}  {:>9}\n", "file", files, "pieces", "bytes");
  std::vector<uint64_t> pieces = piecesByFile(manifest);
  for (size_t i = 0; i < manifest.files.size(); ++i)
    text += fmt::format("{:<{}}  {:>6}  {:>9}\n", manifest.files[i].name, files, pieces[i], human(manifest.files[i].bytes));
  return text;
}

} // namespace

OrderedJson reportJson(const Manifest &manifest, const std::string &folder) {
  OrderedJson mesh = OrderedJson::array(), data = OrderedJson::array(), files = OrderedJson::array(), tensors = OrderedJson::array();
  for (const auto &axis : manifest.mesh)
    mesh.push_back({{"axis", axis.axis}, {"size", axis.size}});
  for (const auto &each : manifest.data) {
    data.push_back({{"stream", each.stream},
                    {"order", each.order},
                    {"samples", each.samples},
                    {"epoch", each.epoch},
                    {"epoch_samples", each.epochSamples},
                    {"batch", each.batch}});
    if (!each.classes.empty())
      data.back()["classes"] = each.classes;
  }
  std::vector<uint64_t> pieces = piecesByFile(manifest);
  for (size_t i = 0; i < manifest.files.size(); ++i)
    files.push_back({{"name", manifest.files[i].name}, {"bytes", manifest.files[i].bytes}, {"pieces", pieces[i]}});
  uint64_t bytes = 0, parameters = 0;
  for (const ManifestTensor &tensor : manifest.tensors) {
    bytes += tensor.bytes();
    parameters += tensor.kind == "parameter" ? tensor.elements() : 0;
    tensors.push_back({{"name", tensor.name},
                       {"kind", tensor.kind},
                       {"of", tensor.of},
                       {"slot", tensor.slot},
                       {"type", tensor.type},
                       {"shape", tensor.stored},
                       {"pieces", tensor.pieces.size()},
                       {"bytes", tensor.bytes()}});
  }
  return {{"checkpoint", folder},
          {"manifest_hash", manifest.hash},
          {"step", manifest.step},
          {"seed", manifest.seed},
          {"model", manifest.model},
          {"model_hash", manifest.modelHash},
          {"text", manifest.call.text},
          {"settings", manifest.call.settings},
          {"plan", manifest.plan},
          {"plan_hash", manifest.planHash},
          {"train", manifest.train},
          {"compute", manifest.compute},
          {"products", manifest.products.empty() ? OrderedJson(nullptr) : OrderedJson(manifest.products)},
          {"mesh", mesh},
          {"world", manifest.world()},
          {"data", data},
          {"learning_rate", manifest.rate},
          {"learning_rate_steps", manifest.rateSteps},
          {"loss_scale", manifest.lossScale ? OrderedJson(*manifest.lossScale) : OrderedJson(nullptr)},
          {"parameters", parameters},
          {"bytes", bytes},
          {"files", files},
          {"tensors", tensors}};
}

std::string reportText(const Manifest &manifest, const std::string &folder) { return headText(manifest, folder) + tableText(manifest); }

} // namespace npar::engine
