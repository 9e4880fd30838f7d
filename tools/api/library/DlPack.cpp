#include "tools/api/library/DlPack.h"
#include "tools/api/library/Arrays.h"
#include "tools/api/library/Trainer.h"

namespace npar::api {

using engine::ArrayType;
using engine::Status;

namespace {

struct TypePair {
  npar_dtype dtype;
  uint8_t code, bits;
};
constexpr TypePair types[] = {{NPAR_F64, 2, 64}, {NPAR_F32, 2, 32}, {NPAR_F16, 2, 16}, {NPAR_BF16, 4, 16}, {NPAR_I64, 0, 64},
                              {NPAR_I32, 0, 32}, {NPAR_I16, 0, 16}, {NPAR_I8, 0, 8},   {NPAR_U64, 1, 64},  {NPAR_U32, 1, 32},
                              {NPAR_U16, 1, 16}, {NPAR_U8, 1, 8},   {NPAR_BOOL, 6, 8}};

DlType typeOf(npar_dtype dtype) {
  for (const TypePair &each : types)
    if (each.dtype == dtype)
      return {each.code, each.bits, 1};
  return {};
}

/// A tensor with what it needs to live.
struct Managed {
  DlManagedTensor tensor = {};
  std::vector<int64_t> sizes; ///< shape, then strides
  std::shared_ptr<void> owner;
};

void *managedOf(void *data, npar_dtype dtype, const std::vector<int64_t> &shape, const std::vector<int64_t> &strides, uint64_t flags,
                std::shared_ptr<void> owner) {
  auto made = std::make_unique<Managed>();
  made->sizes = shape;
  made->sizes.insert(made->sizes.end(), strides.begin(), strides.end());
  made->owner = std::move(owner);
  DlManagedTensor &managed = made->tensor;
  managed.version = {1, 0};
  managed.context = made.get();
  managed.deleter = [](DlManagedTensor *self) { delete static_cast<Managed *>(self->context); };
  managed.flags = flags;
  // The offset stays 0, because not every reader looks at it.
  managed.tensor = {data, {1, 0}, static_cast<int32_t>(shape.size()), typeOf(dtype), made->sizes.data(), made->sizes.data() + shape.size(),
                    0};
  return &made.release()->tensor;
}

} // namespace

Status arrayFromDlPack(const void *given, npar_array &array) {
  const auto *managed = static_cast<const DlManagedTensor *>(given);
  if (!managed)
    return Status::usage("npar_array_from_dlpack: there is no tensor");
  if (managed->version.major != 1)
    return Status::badInput("a DLPack tensor of version " + std::to_string(managed->version.major) + ": npar reads version 1");
  const DlTensor &tensor = managed->tensor;
  if (tensor.device.type != 1)
    return Status::badInput("a DLPack tensor in the memory of device type " + std::to_string(tensor.device.type) +
                            ": npar reads the processor's memory (type 1); copy it there");
  for (const TypePair &each : types)
    if (each.code == tensor.dtype.code && each.bits == tensor.dtype.bits && tensor.dtype.lanes == 1) {
      array = {static_cast<char *>(tensor.data) + tensor.byteOffset, each.dtype, tensor.ndim, tensor.shape, tensor.strides};
      return {};
    }
  return Status::badInput("a DLPack tensor of type code " + std::to_string(tensor.dtype.code) + " with " +
                          std::to_string(tensor.dtype.bits) + " bits and " + std::to_string(tensor.dtype.lanes) +
                          " lanes: npar_dtype has no such type");
}

void *dlPackView(const engine::HostPiece &piece, std::shared_ptr<TrainerMemory> memory) {
  return managedOf(const_cast<void *>(piece.data), dtypeOf(piece.type), piece.shape, piece.strides, /*flags=*/1, std::move(memory));
}

std::unique_ptr<DlPackCopy> dlPackCopy(bool wide, std::vector<int64_t> shape) {
  auto copy = std::make_unique<DlPackCopy>();
  copy->array.type = wide ? ArrayType::F64 : ArrayType::F32;
  copy->array.strides = engine::BorrowedArray::rowMajor(shape);
  copy->array.shape = std::move(shape);
  copy->bytes.resize(copy->array.elements() * engine::sizeOf(copy->array.type));
  copy->array.data = copy->bytes.data();
  return copy;
}

void *dlPackOf(std::unique_ptr<DlPackCopy> copy) {
  std::shared_ptr<DlPackCopy> owner = std::move(copy);
  const engine::BorrowedArray &array = owner->array;
  npar_dtype dtype = array.type == ArrayType::F64 ? NPAR_F64 : NPAR_F32;
  return managedOf(array.data, dtype, array.shape, array.strides, /*flags=*/2, owner);
}

} // namespace npar::api
