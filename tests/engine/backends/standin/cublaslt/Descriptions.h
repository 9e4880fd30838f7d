// The caller's descriptions of products, matrices and preferences, by handles that are never dereferenced and never used twice.
#pragma once

#include "tests/engine/backends/standin/Handles.h"
#include "tests/engine/backends/standin/cublaslt/LtAbi.h"

#include <mutex>
#include <set>
#include <string>

namespace npar::standin::lt {

struct Library {
  int device;
};

struct Product {
  Compute compute;
  Type scale;
  int32_t transposeA = 0, transposeB = 0;
};

/// A matrix by columns.
struct Layout {
  Type type;
  int64_t rows, columns, leading;
  int32_t order = 0, count = 1;
  int64_t stride = 0;
};

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t schemes = everyReductionScheme;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// The extra algorithms that the environment asks for (NPAR_STANDIN_CUBLASLT, words separated by commas).
struct Wishes {
  bool restless = false;  ///< an algorithm whose bits do not repeat
  bool tf32 = false;      ///< one that rounds float32 operands to TF32
  bool truncated = false; ///< where TF32 is allowed, one that cuts operands off
  bool bf16 = false;      ///< one that rounds float32 operands to bf16
  bool fp16 = false;      ///< one that rounds float32 operands to fp16
  bool reversed = false;  ///< one in another order, always the same
  bool workspace = false; ///< only algorithms that need a workspace, if the caller has one
  size_t version = 130100;

  static Wishes fromEnvironment();
};

/// All that there is; one per process. `mutex` guards every member.
struct Descriptions {
  static Descriptions &instance();
  ~Descriptions();

  std::mutex mutex;
  Handles<Library> libraries;
  Handles<Product> products;
  Handles<Layout> layouts;
  Handles<Preference> preferences;
  std::set<std::string> reasons; ///< that were printed
  const Wishes wishes = Wishes::fromEnvironment();
};

/// Prints why a call is refused, once per reason, and returns the status. The mutex is held.
Status refuse(Status status, const std::string &why);

} // namespace npar::standin::lt

#define NPAR_STANDIN_LT_CALL extern "C" __attribute__((visibility("default")))
