// The fragments of a module under construction: what outlining @micro and @update share.
#pragma once

#include "compiler/passes/schedule/Stages.h"

#include "mlir/IR/IRMapping.h"

namespace npar {

/// Where an op runs.
struct Place {
  int64_t stage;
  pipe::Phase phase;
  bool operator==(const Place &other) const { return stage == other.stage && phase == other.phase; }
};

class Fragments {
public:
  /// Makes the empty fragments F, B and U of every stage at the end of the module.
  Fragments(mlir::ModuleOp module, int64_t stages);

  int64_t stages() const { return count; }
  pipe::FragmentOp at(Place place) { return fragments[index(place)]; }
  mlir::OpBuilder end(Place place) { return mlir::OpBuilder::atBlockEnd(&at(place).getBody().front()); }

  /// The value that stands for `original` there; null when there is none yet.
  mlir::Value lookup(Place place, mlir::Value original) { return mappings[index(place)].lookupOrNull(original); }
  void map(Place place, mlir::Value original, mlir::Value value) { mappings[index(place)].map(original, value); }

  /// Copies an op to the end of a fragment; its operands must be there.
  mlir::Operation *clone(mlir::Operation *op, Place place);

  /// Sends a value from the end of one fragment to the end of another of the same phase. Both ends are placed at once, so events have the
  /// same order in all fragments of a phase.
  void transfer(mlir::Value original, Place from, int64_t to, mlir::Location location);

private:
  size_t index(Place place) const { return place.stage * 3 + static_cast<int>(place.phase); }

  int64_t count;
  int64_t events = 0;
  llvm::SmallVector<pipe::FragmentOp> fragments;
  llvm::SmallVector<mlir::IRMapping> mappings;
};

} // namespace npar
