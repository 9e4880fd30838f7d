// Goes through the pieces of each new file; what a piece holds is gathered from the source by runs of elements.
#include "engine/checkpoint/Reshard.h"

#include "engine/checkpoint/CheckpointFolder.h"
#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/OwnFiles.h"
#include "engine/checkpoint/Resume.h"
#include "engine/checkpoint/Shard.h"
#include "engine/device/ParallelFor.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/StreamHash.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"
#include "engine/runtime/PieceRuns.h"
#include "engine/safetensors/SafetensorsWriter.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>

namespace npar::engine {

namespace {

/// Bytes of a piece that are gathered, hashed and written together.
constexpr uint64_t blockBytes = uint64_t{4} << 20;

std::vector<KeptDimension> dimensionsOf(const ManifestTensor &tensor, const ManifestPiece &piece) {
  std::vector<KeptDimension> dimensions;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    dimensions.push_back({tensor.shape[d], piece.shape[d], piece.start[d]});
  return dimensions;
}

/// Gives the piece's bytes block by block, in their order.
template <typename Use> Status forBlocks(const CheckpointStore &source, const ManifestTensor &tensor, const ManifestPiece &piece, Use use) {
  PieceRuns runs(dimensionsOf(tensor, piece), piece.begin, piece.end);
  const uint64_t unit = bytesOfType(tensor.type), capacity = blockBytes / unit;
  std::vector<uint8_t> block(std::min(capacity, piece.elements()) * unit);
  uint64_t filled = 0; // elements of the block
  auto flush = [&] {
    Status status = filled ? use(block.data(), filled * unit) : Status();
    filled = 0;
    return status;
  };
  for (uint64_t i = 0; i < runs.size(); ++i)
    for (ElementRun run = runs.at(i); run.count > 0;) {
      uint64_t take = std::min(run.count, capacity - filled);
      if (Status status = source.read(tensor.name, run.logical, take, block.data() + filled * unit); !status.ok())
        return status;
      filled += take, run.logical += take, run.count -= take;
      if (filled == capacity)
        if (Status status = flush(); !status.ok())
          return status;
    }
  return flush();
}

/// A piece on its way into a file: where its tensor is, and what becomes of its hash.
struct PieceToWrite {
  const ManifestTensor *tensor;
  ManifestPiece *piece;
};

Status writeFile(const CheckpointStore &source, const std::vector<PieceToWrite> &pieces, const std::string &path, ManifestFile &file,
                 const std::function<void(uint64_t)> &progress) {
  std::vector<TensorToWrite> tensors;
  for (const auto &[tensor, piece] : pieces)
    tensors.push_back({piece->tensor, tensor->type, storedShape(*piece)});
  Result<std::unique_ptr<SafetensorsWriter>> writer = SafetensorsWriter::create(path, tensors);
  if (!writer.ok())
    return writer.status();
  for (size_t i = 0; i < pieces.size(); ++i) {
    files::StreamHash hash;
    uint64_t offset = 0;
    Status status = forBlocks(source, *pieces[i].tensor, *pieces[i].piece, [&](const uint8_t *bytes, uint64_t size) {
      hash.add(bytes, size);
      uint64_t at = offset;
      offset += size;
      if (progress)
        progress(size);
      return (*writer)->write(i, at, bytes, size);
    });
    if (!status.ok())
      return status;
    pieces[i].piece->hash = hash.text();
  }
  file.bytes = (*writer)->bytes();
  return (*writer)->commit();
}

/// The model's texts, which go along as they are.
Result<std::vector<std::pair<std::string, std::string>>> textsOf(const CheckpointStore &source) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const ManifestFile &file : source.manifest().call.texts) {
    Result<std::vector<uint8_t>> bytes = files::readFile(source.folder() + "/" + file.name, ManifestFile::largestText);
    if (!bytes.ok())
      return bytes.status();
    if (bytes->size() != file.bytes || files::hashText(bytes->data(), bytes->size()) != file.hash)
      return Status::badInput(source.description() + ": file '" + file.name + "' is not as it was written");
    texts.emplace_back(file.name.substr(file.name.find('/') + 1), std::string(bytes->begin(), bytes->end()));
  }
  return texts;
}

ManifestPiece wholePiece(const ManifestTensor &tensor) {
  ManifestPiece piece;
  piece.tensor = tensor.name, piece.start.assign(tensor.shape.size(), 0), piece.shape = tensor.shape, piece.end = tensor.elements();
  return piece;
}

} // namespace

Manifest evenCut(const Manifest &source, uint64_t files) {
  Manifest result = source;
  result.files.clear();
  uint64_t total = 0, done = 0; // bytes
  for (const ManifestTensor &tensor : source.tensors)
    total += tensor.elements() * bytesOfType(tensor.type);
  uint64_t used = 0, last = 0; // files begun, and the number of the one that is being filled
  for (ManifestTensor &tensor : result.tensors) {
    const uint64_t unit = bytesOfType(tensor.type), elements = tensor.elements();
    tensor.pieces.clear();
    for (uint64_t at = 0; at < elements;) {
      // File k takes the bytes from k / files of the total to (k + 1) / files.
      auto number = static_cast<uint64_t>(static_cast<unsigned __int128>(done) * files / total);
      auto boundary = static_cast<uint64_t>((static_cast<unsigned __int128>(number + 1) * total + files - 1) / files);
      uint64_t take = std::min(elements - at, (boundary - done + unit - 1) / unit);
      if (used == 0 || number != last)
        ++used, last = number;
      tensor.pieces.push_back(wholePiece(tensor));
      ManifestPiece &piece = tensor.pieces.back();
      piece.file = static_cast<uint32_t>(used - 1), piece.begin = at, piece.end = at + take;
      at += take, done += take * unit;
    }
  }
  for (uint64_t i = 0; i < used; ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "shard-%05llu.safetensors", static_cast<unsigned long long>(i));
    result.files.push_back({name, 0, ""});
  }
  return result;
}

Result<Manifest> programCut(const CheckpointStore &source, const program::LoadedProgram &loaded) {
  const program::Program &program = loaded.root();
  if (Status status = fitsProgram(source, program); !status.ok())
    return status;
  Manifest result = source.manifest();
  result.model = program.model()->str(), result.plan = program.plan()->str(), result.train = program.train()->str();
  result.modelHash = modelHash(program), result.planHash = files::hashText(loaded.data().data(), loaded.data().size());
  result.compute = wordOf(program.compute());
  result.mesh.clear();
  for (const program::MeshAxis *axis : *program.mesh())
    result.mesh.push_back({axis->name()->str(), static_cast<uint64_t>(axis->size())});
  result.files.clear(), result.tensors.clear();

  std::map<uint32_t, ManifestTensor> byVariable;
  for (const CheckpointTensor &each : checkpointTensors(program))
    if (const ManifestTensor *there = source.manifest().find(each.tensor.name)) {
      ManifestTensor &tensor = byVariable[each.variable] = each.tensor;
      tensor.type = there->type;
      tensor.slot = there->slot; // whether it has state is what the run that wrote it says
    }
  std::vector<int64_t> ranks(static_cast<size_t>(program::worldOf(program)));
  std::iota(ranks.begin(), ranks.end(), 0);
  int64_t rank = -1; // whose file is the last one
  for (const program::OwnedPiece &own : checkpointPieces(program, ranks))
    if (auto found = byVariable.find(own.variable); found != byVariable.end()) {
      if (own.rank != rank)
        rank = own.rank, result.files.push_back({shardName(rank), 0, ""});
      ManifestPiece piece;
      piece.file = static_cast<uint32_t>(result.files.size() - 1), piece.tensor = found->second.name;
      piece.start = own.start, piece.shape = own.shape, piece.begin = own.begin, piece.end = own.end;
      found->second.pieces.push_back(std::move(piece));
    }
  for (const CheckpointTensor &each : checkpointTensors(program)) {
    auto found = byVariable.find(each.variable);
    if (found == byVariable.end())
      continue;
    ManifestTensor &tensor = found->second;
    std::sort(tensor.pieces.begin(), tensor.pieces.end(),
              [](const ManifestPiece &a, const ManifestPiece &b) { return a.start != b.start ? a.start < b.start : a.begin < b.begin; });
    result.tensors.push_back(std::move(tensor));
  }
  for (const ManifestTensor &tensor : source.manifest().tensors)
    if (!result.find(tensor.name)) {
      result.tensors.push_back(tensor);
      if (tensor.elements() > 0)
        result.tensors.back().pieces = {wholePiece(tensor)};
      else
        result.tensors.back().pieces.clear();
    }
  return result;
}

Result<std::string> writeCut(const CheckpointStore &source, Manifest manifest, const std::string &folder,
                             const std::function<void(uint64_t)> &progress) {
  std::string path = CheckpointFolder::committedName(folder, manifest.step);
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored)))
    return Status::badInput("'" + path + "' already exists: give another folder, or remove it first");
  Result<std::vector<std::pair<std::string, std::string>>> texts = textsOf(source);
  if (!texts.ok())
    return texts.status();
  std::vector<std::string> remarks; // about folders that stay; this command does not show them
  Result<CheckpointFolder> target = CheckpointFolder::open(folder, remarks);
  if (!target.ok())
    return target.status();
  std::string partial = CheckpointFolder::partialName(folder, manifest.step, CheckpointFolder::freshTag());
  if (Status status = target->begin(partial, filesOf(manifest)); !status.ok())
    return status;
  std::vector<std::vector<PieceToWrite>> files(manifest.files.size());
  for (ManifestTensor &tensor : manifest.tensors)
    for (ManifestPiece &piece : tensor.pieces)
      files[piece.file].push_back({&tensor, &piece});
  std::vector<Status> outcomes(files.size());
  std::atomic<bool> failed = false;
  parallelFor(files.size(), [&](uint64_t i) {
    if (failed)
      return;
    outcomes[i] = writeFile(source, files[i], partial + "/" + manifest.files[i].name, manifest.files[i], progress);
    if (!outcomes[i].ok())
      failed = true;
  });
  Status status;
  for (const Status &each : outcomes)
    if (status.ok())
      status = each;
  manifest.call.texts.clear();
  if (status.ok())
    status = target->commit(partial, std::move(manifest), *texts, remarks);
  if (!status.ok()) {
    (void)target->discard(partial);
    return status;
  }
  return path;
}

} // namespace npar::engine
