// What a caller has described to the library: products, matrices, preferences, by handles that are never followed nor given out twice.
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

/// What the environment asks for beside what is always there (NPAR_STANDIN_CUBLASLT, words with commas between them).
struct Wishes {
  bool restless = false;  ///< an algorithm whose bits do not repeat
  bool tf32 = false;      ///< one that rounds float32 operands to TF32
  bool truncated = false; ///< where TF32 is allowed, one that cuts operands off
  bool bf16 = false;      ///< one that rounds float32 operands to bf16
  bool fp16 = false;      ///< one that rounds float32 operands to fp16
  bool reversed = false;  ///< one in another order, always the same
  bool workspace = false; ///< none but those that need a workspace, where there is one
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
