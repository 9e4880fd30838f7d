// The fragments of a module under construction: what outlining @micro and @update share.
#pragma once

#include "compiler/passes/schedule/Stages.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

namespace npar::compiler {

/// The fragment that an op runs in: for C, F, B and W `at` is the place of its part in the chain, for P and U its stage.
struct FragmentKey {
  int64_t at;
  pipe::Phase phase;
  bool operator==(const FragmentKey &other) const { return at == other.at && phase == other.phase; }
  bool isOfStage() const { return phase == pipe::Phase::Prologue || phase == pipe::Phase::Update; }
};

class Fragments {
public:
  /// Makes the empty fragments at the end of the module: F and B of every part, W of those with a W in the module's orders, C of those
  /// that @count has ops for and P of their stages, U of every stage. Of a forward-only program F alone.
  explicit Fragments(pipe::ProgramOp program);

  int64_t stages() const { return stageCount; }
  int64_t parts() const { return static_cast<int64_t>(stageOfPlace.size()); }
  int64_t stageOf(FragmentKey place) const { return place.isOfStage() ? place.at : stageOfPlace[place.at]; }
  /// Returns whether the backward of the part is split into B and W.
  bool isSplit(int64_t part) { return bool(at({part, pipe::Phase::Weight})); }

  /// The fragment; null when the part or stage has none of the phase.
  pipe::FragmentOp at(FragmentKey place) { return fragments[number(place)]; }
  mlir::OpBuilder end(FragmentKey place) { return mlir::OpBuilder::atBlockEnd(&at(place).getBody().front()); }

  /// The value that stands for `original` there; null when there is none yet.
  mlir::Value lookup(FragmentKey place, mlir::Value original) { return mappings[number(place)].lookupOrNull(original); }
  void map(FragmentKey place, mlir::Value original, mlir::Value value) { mappings[number(place)].map(original, value); }

  /// Copies an op to the end of a fragment; its operands must be there.
  mlir::Operation *clone(mlir::Operation *op, FragmentKey place);

  /// Sends a value from the end of one fragment to the end of another of the same phase on another stage. Both ends are placed at once, so
  /// events have the same order in all fragments of a phase.
  void transfer(mlir::Value original, FragmentKey from, FragmentKey to, mlir::Location location);

  /// A number for each place, to key maps.
  unsigned number(FragmentKey place) const {
    auto ofPart = [&](int64_t index) { return static_cast<unsigned>(place.at * 4 + index); };
    auto ofStage = [&](int64_t index) { return static_cast<unsigned>(parts() * 4 + place.at * 2 + index); };
    switch (place.phase) {
    case pipe::Phase::Forward:
      return ofPart(0);
    case pipe::Phase::Backward:
      return ofPart(1);
    case pipe::Phase::Weight:
      return ofPart(2);
    case pipe::Phase::Count:
      return ofPart(3);
    case pipe::Phase::Prologue:
      return ofStage(0);
    case pipe::Phase::Update:
      break;
    }
    return ofStage(1);
  }

private:
  void add(mlir::OpBuilder &builder, mlir::Location location, FragmentKey place);

  int64_t stageCount;
  llvm::SmallVector<int64_t> stageOfPlace;
  bool isPlaced; ///< fragments have the place of their part, which need not be the number of their stage
  int64_t events = 0;
  llvm::SmallVector<pipe::FragmentOp> fragments;
  llvm::SmallVector<mlir::IRMapping> mappings;
};

} // namespace npar::compiler
