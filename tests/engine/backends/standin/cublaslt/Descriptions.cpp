// The library's calls about handles, descriptions and words.
#include "tests/engine/backends/standin/cublaslt/Descriptions.h"
#include "tests/engine/backends/standin/Guest.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace npar::standin {

Handle newHandle() {
  static std::atomic<uintptr_t> next{0x7000};
  return reinterpret_cast<Handle>(next += 0x10);
}

namespace lt {

Wishes Wishes::fromEnvironment() {
  Wishes wishes;
  const char *text = std::getenv("NPAR_STANDIN_CUBLASLT");
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "restless")
      wishes.restless = true;
    else if (word == "tf32")
      wishes.tf32 = true;
    else if (word == "truncated")
      wishes.truncated = true;
    else if (word == "bf16")
      wishes.bf16 = true;
    else if (word == "fp16")
      wishes.fp16 = true;
    else if (word == "reversed")
      wishes.reversed = true;
    else if (word == "workspace")
      wishes.workspace = true;
    else if (word.rfind("version=", 0) == 0)
      wishes.version = static_cast<size_t>(std::atoll(word.c_str() + 8));
    else {
      std::fprintf(
          stderr,
          "stand-in for cuBLASLt: NPAR_STANDIN_CUBLASLT has '%s', which is none of restless, tf32, truncated, bf16, fp16, reversed, "
          "workspace, version=N\n",
          word.c_str());
      std::exit(2);
    }
  }
  return wishes;
}

Descriptions &Descriptions::instance() {
  static Descriptions all;
  return all;
}

Descriptions::~Descriptions() {
  const char *asked = std::getenv("NPAR_STANDIN_LEAKS");
  if (!asked || std::strcmp(asked, "1") != 0)
    return;
  for (auto [count, what] : {std::pair{libraries.all().size(), "handles"},
                             {products.all().size(), "products"},
                             {layouts.all().size(), "layouts"},
                             {preferences.all().size(), "preferences"}})
    if (count > 0)
      std::fprintf(stderr, "stand-in for cuBLASLt: not given back: %zu %s\n", count, what);
}

Status refuse(Status status, const std::string &why) {
  if (Descriptions::instance().reasons.insert(why).second)
    std::fprintf(stderr, "stand-in for cuBLASLt: refused: %s\n", why.c_str());
  return status;
}

namespace {

template <typename Object> Status create(Handles<Object> &all, Handle *result, Object object) {
  if (!result)
    return refuse(Status::InvalidValue, "there is no place for a handle");
  *result = all.add(std::make_shared<Object>(object));
  return Status::Success;
}

template <typename Object> Status destroy(Handles<Object> &all, Handle handle, const char *what) {
  return all.remove(handle) ? Status::Success : refuse(Status::InvalidValue, std::string(what) + " is destroyed that is none, or twice");
}

/// An attribute has one size, whatever its value.
template <typename Value> Status set(Value &place, const void *value, size_t bytes) {
  if (!value || bytes != sizeof place)
    return refuse(Status::InvalidValue, "an attribute of " + std::to_string(sizeof place) + " bytes is set to " + std::to_string(bytes));
  std::memcpy(&place, value, bytes);
  return Status::Success;
}

std::unique_lock<std::mutex> locked() { return std::unique_lock<std::mutex>(Descriptions::instance().mutex); }

} // namespace
} // namespace lt
} // namespace npar::standin

using namespace npar::standin;
using namespace npar::standin::lt;

NPAR_STANDIN_LT_CALL size_t cublasLtGetVersion() { return Descriptions::instance().wishes.version; }

NPAR_STANDIN_LT_CALL const char *cublasLtGetStatusName(lt::Status status) {
  switch (status) {
  case lt::Status::Success:
    return "CUBLAS_STATUS_SUCCESS";
  case lt::Status::NotInitialized:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case lt::Status::AllocFailed:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case lt::Status::InvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case lt::Status::ArchMismatch:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case lt::Status::MappingError:
    return "CUBLAS_STATUS_MAPPING_ERROR";
  case lt::Status::ExecutionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case lt::Status::InternalError:
    return "CUBLAS_STATUS_INTERNAL_ERROR";
  case lt::Status::NotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case lt::Status::LicenseError:
    return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtCreate(Handle *result) {
  int device = nparStandinDevice();
  auto lock = locked();
  if (device < 0)
    return refuse(lt::Status::NotInitialized, "a handle is made by a thread without a context");
  return create(Descriptions::instance().libraries, result, Library{device});
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtDestroy(Handle handle) {
  auto lock = locked();
  return destroy(Descriptions::instance().libraries, handle, "a handle");
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulDescCreate(Handle *result, Compute compute, Type scale) {
  auto lock = locked();
  bool wide = compute == Compute::F64,
       known = (wide || compute == Compute::F32 || compute == Compute::FastTf32) && scale == (wide ? Type::F64 : Type::F32);
  if (!known)
    return refuse(lt::Status::InvalidValue, "a product is neither computed and scaled in float32 nor in float64");
  return create(Descriptions::instance().products, result, Product{compute, scale});
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulDescDestroy(Handle handle) {
  auto lock = locked();
  return destroy(Descriptions::instance().products, handle, "a product");
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulDescSetAttribute(Handle handle, ProductAttribute attribute, const void *value, size_t bytes) {
  auto lock = locked();
  std::shared_ptr<Product> product = Descriptions::instance().products.find(handle);
  if (!product)
    return refuse(lt::Status::InvalidValue, "an attribute of no product, or no longer");
  int32_t number = 0;
  if (lt::Status status = set(number, value, bytes); status != lt::Status::Success)
    return status;
  if (attribute == ProductAttribute::PointerMode && number == 0)
    return lt::Status::Success;
  if ((attribute != ProductAttribute::TransposeA && attribute != ProductAttribute::TransposeB) || number < 0 || number > 1)
    return refuse(lt::Status::InvalidValue, "an attribute or a value of a product that the stand-in does not know");
  (attribute == ProductAttribute::TransposeA ? product->transposeA : product->transposeB) = number;
  return lt::Status::Success;
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatrixLayoutCreate(Handle *result, Type type, uint64_t rows, uint64_t columns, int64_t leading) {
  auto lock = locked();
  if (type != Type::F32 && type != Type::F64 && type != Type::F16 && type != Type::BF16)
    return refuse(lt::Status::InvalidValue, "a matrix of a type that the stand-in does not know");
  if (rows == 0 || columns == 0 || leading < static_cast<int64_t>(rows))
    return refuse(lt::Status::InvalidValue, "a matrix is empty, or its columns overlap");
  return create(Descriptions::instance().layouts, result, Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatrixLayoutDestroy(Handle handle) {
  auto lock = locked();
  return destroy(Descriptions::instance().layouts, handle, "a layout");
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatrixLayoutSetAttribute(Handle handle, LayoutAttribute attribute, const void *value,
                                                                 size_t bytes) {
  auto lock = locked();
  std::shared_ptr<Layout> layout = Descriptions::instance().layouts.find(handle);
  if (!layout)
    return refuse(lt::Status::InvalidValue, "an attribute of no layout, or no longer");
  switch (attribute) {
  case LayoutAttribute::Order:
    return set(layout->order, value, bytes);
  case LayoutAttribute::BatchCount:
    return set(layout->count, value, bytes);
  case LayoutAttribute::BatchStride:
    return set(layout->stride, value, bytes);
  }
  return refuse(lt::Status::InvalidValue, "an attribute of a layout that the stand-in does not know");
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulPreferenceCreate(Handle *result) {
  auto lock = locked();
  return create(Descriptions::instance().preferences, result, Preference{});
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulPreferenceDestroy(Handle handle) {
  auto lock = locked();
  return destroy(Descriptions::instance().preferences, handle, "a preference");
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulPreferenceSetAttribute(Handle handle, PreferenceAttribute attribute, const void *value,
                                                                     size_t bytes) {
  auto lock = locked();
  std::shared_ptr<Preference> preference = Descriptions::instance().preferences.find(handle);
  if (!preference)
    return refuse(lt::Status::InvalidValue, "an attribute of no preference, or no longer");
  switch (attribute) {
  case PreferenceAttribute::WorkspaceBytes:
    return set(preference->workspaceBytes, value, bytes);
  case PreferenceAttribute::ReductionSchemes:
    return set(preference->schemes, value, bytes);
  case PreferenceAttribute::AlignmentOfA:
  case PreferenceAttribute::AlignmentOfB:
  case PreferenceAttribute::AlignmentOfC:
  case PreferenceAttribute::AlignmentOfD:
    return set(preference->alignments[static_cast<int>(attribute) - static_cast<int>(PreferenceAttribute::AlignmentOfA)], value, bytes);
  }
  return refuse(lt::Status::InvalidValue, "an attribute of a preference that the stand-in does not know");
}
