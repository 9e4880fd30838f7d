// Counts the bytes of each tensor, because a piece that was not written would be zeros, and no reader would notice.
#include "engine/safetensors/SafetensorsWriter.h"

#include "engine/logging/Json.h"

namespace npar::engine {

std::string safetensorsHeader(std::vector<std::pair<std::string, StoredTensor>> &tensors,
                              const std::map<std::string, std::string> &metadata) {
  std::string json = "{\"__metadata__\":{", comma;
  for (const auto &[key, word] : metadata) {
    json += comma + jsonString(key) + ":" + jsonString(word);
    comma = ",";
  }
  json += "}";
  uint64_t at = 0;
  for (auto &[name, tensor] : tensors) {
    tensor.begin = at;
    Result<uint64_t> bytes = bytesOfTensor(tensor.type, tensor.shape);
    tensor.end = at += bytes.ok() ? *bytes : 0;
    json += "," + jsonString(name) + ":{\"dtype\":\"" + tensor.type + "\",\"shape\":" + shapeText(tensor.shape) + ",\"data_offsets\":[" +
            std::to_string(tensor.begin) + "," + std::to_string(tensor.end) + "]}";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header(8, '\0');
  for (size_t i = 0; i < header.size(); ++i)
    header[i] = static_cast<char>(uint64_t{json.size()} >> (8 * i));
  return header + json;
}

Result<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::create(const std::string &path, const std::vector<TensorToWrite> &tensors,
                                                                     const std::map<std::string, std::string> &metadata) {
  std::vector<std::pair<std::string, StoredTensor>> laid;
  for (const TensorToWrite &tensor : tensors)
    laid.emplace_back(tensor.name, StoredTensor{tensor.type, tensor.shape, 0, 0});
  std::string header = safetensorsHeader(laid, metadata);
  // The header is parsed before it is written, which refuses names that are duplicate or not UTF-8, unknown types and impossible shapes.
  auto wrong = [&](const std::string &why) { return Status(Code::Internal, "cannot write '" + path + "': " + why); };
  Result<SafetensorsHeader> read =
      header.size() - 8 > largestSafetensorsHeader
          ? Result<SafetensorsHeader>(Status::badInput("its header of " + std::to_string(header.size()) + " bytes is too large"))
          : parseSafetensorsHeader(header.data() + 8, header.size() - 8, laid.empty() ? 0 : laid.back().second.end);
  if (!read.ok())
    return wrong(read.status().message());
  for (const auto &[name, tensor] : laid)
    if (!read->tensors.count(name))
      return wrong("the name " + quotedName(name) + " is no UTF-8, or one that the format keeps for itself");
  Result<files::OutputFile> file = files::OutputFile::create(path);
  if (!file.ok())
    return file.status();
  if (Status status = file->write(0, header.data(), header.size()); !status.ok())
    return status;
  return std::unique_ptr<SafetensorsWriter>(new SafetensorsWriter(std::move(*file), std::move(laid), header.size()));
}

Status SafetensorsWriter::write(size_t tensor, uint64_t offset, const void *bytes, size_t size) {
  uint64_t whole = bytesOf(tensor);
  if (offset > whole || size > whole - offset)
    return Status(Code::Internal, "cannot write bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) + " of tensor " +
                                      quotedName(tensors[tensor].first) + ", which has " + std::to_string(whole));
  written[tensor] += size;
  return file.write(begin + tensors[tensor].second.begin + offset, bytes, size);
}

Status SafetensorsWriter::commit() {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (written[i] != bytesOf(i))
      return Status(Code::Internal, "cannot write '" + file.name() + "': tensor " + quotedName(tensors[i].first) + " got " +
                                        std::to_string(written[i]) + " of its " + std::to_string(bytesOf(i)) + " bytes");
  return file.commit();
}

} // namespace npar::engine
