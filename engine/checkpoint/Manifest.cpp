// Checks that the pieces of a manifest store every element once, and writes manifests.
#include "engine/checkpoint/Manifest.h"

#include "engine/files/StreamHash.h"
#include "engine/logging/Json.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>

namespace npar::engine {

namespace {

std::string list(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? "," : "") + std::to_string(numbers[i]);
  return text + "]";
}

/// Writes "name":value, with a comma before all except the first.
class ObjectText {
public:
  ObjectText &text(const char *name, const std::string &value) { return raw(name, jsonString(value)); }
  ObjectText &number(const char *name, uint64_t value) { return raw(name, std::to_string(value)); }
  ObjectText &raw(const char *name, const std::string &value) {
    body += (body.empty() ? "\"" : ",\"") + std::string(name) + "\":" + value;
    return *this;
  }
  std::string done() const { return "{" + body + "}"; }

private:
  std::string body;
};

/// `[` one element per line `]`.
template <typename List, typename Write> std::string lines(const List &all, Write write) {
  std::string text = "[";
  for (size_t i = 0; i < all.size(); ++i)
    text += (i ? ",\n" : "\n") + write(all[i]);
  return text + "]";
}

std::string textOf(const ManifestFile &file) {
  ObjectText object;
  object.text("name", file.name).number("bytes", file.bytes);
  return (file.hash.empty() ? object : object.text("xxh3", file.hash)).done();
}

std::string textOf(const ManifestPiece &piece) {
  return ObjectText()
      .number("file", piece.file)
      .text("tensor", piece.tensor)
      .raw("start", list(piece.start))
      .raw("shape", list(piece.shape))
      .number("begin", piece.begin)
      .number("end", piece.end)
      .text("xxh3", piece.hash)
      .done();
}

std::string textOf(const ManifestTensor &tensor) {
  return ObjectText()
      .text("name", tensor.name)
      .text("kind", tensor.kind)
      .text("of", tensor.of)
      .text("slot", tensor.slot)
      .text("type", tensor.type)
      .raw("shape", list(tensor.shape))
      .raw("stored", list(tensor.stored))
      .raw("pieces", lines(tensor.pieces, [](const ManifestPiece &piece) { return "  " + textOf(piece); }))
      .done();
}

std::string textOf(const DataPosition &position) {
  ObjectText object;
  object.text("stream", position.stream)
      .text("order", position.order)
      .number("samples", position.samples)
      .number("epoch", position.epoch)
      .number("epoch_samples", position.epochSamples)
      .number("batch", position.batch);
  return (position.classes.empty() ? object : object.raw("classes", lines(position.classes, jsonString))).done();
}

std::string textOf(const ModelCall &call) {
  ObjectText object;
  object.text("text", call.text)
      .text("plan", call.plan)
      .text("train", call.train)
      .text("config", call.config)
      .raw("settings", lines(call.settings, jsonString))
      .raw("other_settings", lines(call.others, jsonString))
      .raw("texts", lines(call.texts, [](const ManifestFile &file) { return textOf(file); }));
  if (!call.tuned.empty())
    object.raw("tuned_settings", lines(call.tuned, jsonString));
  if (!call.parts.empty())
    object.raw("weights_parts", lines(call.parts, jsonString));
  return (call.weights.empty() ? object : object.text("weights", call.weights)).done();
}

} // namespace

uint64_t elementsOf(const std::vector<int64_t> &sizes) {
  uint64_t count = 1;
  for (int64_t size : sizes)
    count *= static_cast<uint64_t>(size);
  return count;
}

uint64_t ManifestPiece::volume() const { return elementsOf(shape); }

uint64_t ManifestTensor::elements() const { return elementsOf(shape); }

uint64_t ManifestTensor::bytes() const { return elements() * bytesOfType(type); }

const ManifestTensor *Manifest::find(const std::string &name) const {
  auto found = std::find_if(tensors.begin(), tensors.end(), [&](const ManifestTensor &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

uint64_t Manifest::bytes() const {
  uint64_t bytes = 0;
  for (const ManifestTensor &tensor : tensors)
    bytes += tensor.bytes();
  return bytes;
}

uint64_t Manifest::world() const {
  uint64_t ranks = 1;
  for (const MeshAxisSize &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

std::vector<int64_t> storedShape(const ManifestPiece &piece) {
  return piece.elements() == piece.volume() ? piece.shape : std::vector<int64_t>{static_cast<int64_t>(piece.elements())};
}

uint64_t bytesOfType(const std::string &type) {
  const StoredType *stored = findStoredType(type);
  return stored && stored->bits % 8 == 0 ? stored->bits / 8 : 0;
}

std::string wrongPieces(const ManifestTensor &tensor) {
  size_t dimensions = tensor.shape.size();
  if (tensor.elements() == 0)
    return tensor.pieces.empty() ? "" : "it has no elements, but pieces";
  if (tensor.pieces.empty())
    return "it has no pieces";
  std::vector<std::vector<int64_t>> cuts(dimensions); // where rectangles begin, ascending, then the size
  for (const ManifestPiece &piece : tensor.pieces)
    for (size_t d = 0; d < dimensions; ++d)
      cuts[d].push_back(piece.start[d]);
  uint64_t cells = 1;
  for (size_t d = 0; d < dimensions; ++d) {
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    if (__builtin_mul_overflow(cells, cuts[d].size(), &cells))
      return "its pieces do not form a grid";
    cuts[d].push_back(tensor.shape[d]);
  }
  // The pieces must have the order of the manifest: by cell of the grid, then by range. Each must be the expected next one.
  std::vector<size_t> cell(dimensions, 0);
  uint64_t done = 0, next = 0; // cells, and elements of the present one
  for (const ManifestPiece &piece : tensor.pieces) {
    if (done == cells)
      return "its pieces overlap";
    for (size_t d = 0; d < dimensions; ++d)
      if (int64_t first = cuts[d][cell[d]]; piece.start[d] != first || piece.shape[d] != cuts[d][cell[d] + 1] - first || cuts[d][0] != 0)
        return "the piece that begins at " + shapeText(piece.start) + " leaves a gap or overlaps another one";
    if (piece.begin != next || piece.end <= piece.begin || piece.end > piece.volume())
      return "elements " + std::to_string(piece.begin) + " to " + std::to_string(piece.end) + " of the rectangle at " +
             shapeText(piece.start) + " do not follow the " + std::to_string(next) + " before them";
    next = piece.end;
    if (next < piece.volume())
      continue;
    ++done, next = 0;
    for (size_t d = dimensions; d-- > 0 && ++cell[d] == cuts[d].size() - 1;)
      cell[d] = 0;
  }
  return done == cells && next == 0 ? "" : "some of its elements are in no piece";
}

std::string manifestText(const Manifest &manifest) {
  auto axis = [](const MeshAxisSize &each) { return ObjectText().text("axis", each.axis).number("size", each.size).done(); };
  std::string text = ObjectText()
                         .text("format", "npar checkpoint")
                         .number("version", Manifest::version)
                         .text("read_by", "npar 0.1 and later")
                         .text("model", manifest.model)
                         .text("model_hash", manifest.modelHash)
                         .text("plan", manifest.plan)
                         .text("plan_hash", manifest.planHash)
                         .text("train", manifest.train)
                         .text("compute", manifest.compute)
                         .text("products", manifest.products)
                         .raw("mesh", lines(manifest.mesh, axis))
                         .number("step", manifest.step)
                         .number("seed", manifest.seed)
                         .raw("data", lines(manifest.data, [](const DataPosition &each) { return textOf(each); }))
                         .number("learning_rate_steps", manifest.rateSteps)
                         .raw("learning_rate", jsonNumber(manifest.rate))
                         .raw("loss_scale", manifest.lossScale ? jsonNumber(*manifest.lossScale) : "null")
                         .raw("call", textOf(manifest.call))
                         .raw("files", lines(manifest.files, [](const ManifestFile &file) { return textOf(file); }))
                         .raw("tensors", lines(manifest.tensors, [](const ManifestTensor &tensor) { return textOf(tensor); }))
                         .done();
  text.back() = ','; // instead of the brace: the hash is over all before its own line
  text += '\n';
  return text + "\"xxh3\":\"" + files::hashText(text.data(), text.size()) + "\"}\n";
}

} // namespace npar::engine
