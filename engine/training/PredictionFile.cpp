// Writes each batch's part of every prediction at its offset in the file.
#include "engine/training/PredictionFile.h"

#include "engine/numbers/Convert.h"
#include "engine/safetensors/StoredType.h"
#include "engine/training/Evaluation.h"

namespace npar::training {

using engine::Result;
using engine::Status;
using program::ElementType;

namespace {

std::vector<uint8_t> bytesOf(const std::vector<double> &values, ElementType type) {
  return engine::withWidened(type, [&](auto element) {
    std::vector<decltype(element)> converted(values.begin(), values.end());
    const auto *begin = reinterpret_cast<const uint8_t *>(converted.data());
    return std::vector<uint8_t>(begin, begin + converted.size() * sizeof(element));
  });
}

} // namespace

Result<PredictionFile> PredictionFile::create(const std::string &path, const program::Program &program, int64_t samples) {
  if (path.empty())
    return PredictionFile(nullptr, program);
  std::vector<engine::TensorToWrite> tensors;
  for (const program::Prediction *prediction : *program.predictions()) {
    const program::LogicalResult &result = *program.results()->Get(prediction->result());
    std::vector<int64_t> shape(result.shape()->begin(), result.shape()->end());
    shape[0] = samples;
    tensors.push_back({prediction->name()->str(), engine::storedWord(program::widened(result.type())), shape});
  }
  Result<std::unique_ptr<engine::SafetensorsWriter>> writer = engine::SafetensorsWriter::create(path, tensors);
  if (!writer.ok())
    return writer.status();
  return PredictionFile(std::move(*writer), program);
}

Status PredictionFile::add(const engine::Session &session, int64_t first, int64_t samples) {
  for (uint32_t i = 0; i < program->predictions()->size(); ++i) {
    const program::LogicalResult &result = *program->results()->Get(program->predictions()->Get(i)->result());
    uint64_t elements = Evaluation::elementsOfSample(result);
    Result<std::vector<double>> values = session.readResult(result.name()->str(), 0, elements * static_cast<uint64_t>(samples));
    if (!values.ok())
      return values.status();
    if (!writer || !written.ok())
      continue;
    std::vector<uint8_t> bytes = bytesOf(*values, result.type());
    uint64_t offset = bytes.size() / static_cast<uint64_t>(samples) * static_cast<uint64_t>(first);
    written = writer->write(i, offset, bytes.data(), bytes.size());
  }
  return {};
}

Status PredictionFile::commit() {
  if (!written.ok() || !writer)
    return written;
  return writer->commit();
}

} // namespace npar::training
