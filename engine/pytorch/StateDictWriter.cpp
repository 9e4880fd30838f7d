// The files of the archive and their names are those of PyTorch's version 3 (caffe2/serialize/inline_container.cc).
#include "engine/pytorch/StateDictWriter.h"

#include "engine/pytorch/StateDictPickle.h"
#include "engine/safetensors/Safetensors.h"

#include <set>

namespace npar::engine {

static const std::string root = "archive/"; // a PyTorch file has all of its files in one folder

Result<std::unique_ptr<StateDictWriter>> StateDictWriter::create(const std::string &path, const std::vector<TensorToWrite> &tensors) {
  std::vector<uint64_t> sizes;
  std::set<std::string> names;
  for (const TensorToWrite &tensor : tensors) {
    Result<uint64_t> bytes = bytesOfTensor(tensor.type, tensor.shape);
    if (!bytes.ok())
      return Status(Code::Internal, "cannot write '" + path + "': tensor " + quotedName(tensor.name) + " " + bytes.status().message());
    if (!names.insert(tensor.name).second)
      return Status(Code::Internal, "cannot write '" + path + "': two tensors are called " + quotedName(tensor.name));
    sizes.push_back(*bytes);
  }
  Result<std::string> pickle = stateDictPickle(tensors);
  if (!pickle.ok())
    return pickle.status();
  Result<ZipWriter> archive = ZipWriter::create(path);
  if (!archive.ok())
    return archive.status();
  Status status = archive->add(root + "data.pkl", *pickle);
  if (status.ok())
    status = archive->add(root + "byteorder", "little");
  if (!status.ok())
    return status;
  return std::unique_ptr<StateDictWriter>(new StateDictWriter(std::move(*archive), std::move(sizes)));
}

/// Begins the files of the first `count` tensors. The next one follows only when the one before has all of its bytes.
Status StateDictWriter::beginUpTo(size_t count) {
  for (; begun < count; ++begun)
    if (Status status = archive.begin(root + "data/" + std::to_string(begun), sizes[begun]); !status.ok())
      return status;
  return {};
}

Status StateDictWriter::write(size_t tensor, uint64_t offset, const void *bytes, size_t size) {
  if (Status status = beginUpTo(tensor + 1); !status.ok())
    return status;
  if (tensor + 1 != begun || offset != sizes[tensor] - archive.missing())
    return Status(Code::Internal,
                  "cannot write '" + archive.name() + "': the bytes of tensor " + std::to_string(tensor) + " come out of order");
  return archive.append(bytes, size);
}

Status StateDictWriter::commit() {
  Status status = beginUpTo(sizes.size());
  if (status.ok())
    status = archive.end();
  if (status.ok())
    status = archive.add(root + "version", "3\n");
  return status.ok() ? archive.commit() : status;
}

} // namespace npar::engine
