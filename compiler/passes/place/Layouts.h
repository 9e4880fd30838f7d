// The decision of placing before any IR changes: the layout of every value and what each use wants (RULES.md#P2, P4, P6, P7).
#pragma once

#include "compiler/dialects/nn/ops/Windows.h"
#include "compiler/passes/place/Stores.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace npar::place {

/// Decides on the global program; reads types and uses, changes nothing.
///
/// Partial values (RULES.md#P4) are found by a fixed point: at first every partial value stays partial; a value some use of which does not
/// accept it is reduced at its definition; then the layouts are derived again, until nothing changes. Values only ever leave the partial
/// set. What the backward repeats of the forward has the layouts of its original: no sum may come in another place.
class Layouts {
public:
  Layouts(mlir::ModuleOp module, Rules &rules, const Stores &stores);
  mlir::LogicalResult derive();

  /// Operations in program order: @count, @start, @micro, @update.
  const std::vector<mlir::Operation *> &operations() const { return ops; }
  /// Layout in which the definition leaves the value.
  dist::LayoutAttr raw(mlir::Value value) const { return rawLayouts.lookup(value); }
  /// Layout that uses find: `raw`, or reduced after the definition.
  dist::LayoutAttr layout(mlir::Value value) const { return layouts.lookup(value); }
  /// Layout that a use wants; null: it takes the value as it is.
  dist::LayoutAttr wanted(mlir::OpOperand &use) const;
  dist::LayoutAttr variable(llvm::StringRef name) const { return variables.lookup(name); }
  /// A value computed from nothing (index, fill and cheap functions of them): made in the layout of each use.
  bool isFree(mlir::Value value) const { return freeValues.contains(value); }
  /// The mesh axes that split an operation of @count or @micro.
  const Assignment &assignment(mlir::Operation *op) const { return assignments.find(op)->second; }
  /// The operation whose split reduction made the value partial, through operations that kept it so.
  mlir::Operation *originOfPartial(mlir::Value value) const;
  /// The value's axes with the given splits of the loops that walk them; without `loopOf` these have the axes' names.
  dist::LayoutAttr layoutFor(mlir::Type type, const Assignment &assignment,
                             llvm::function_ref<mlir::StringAttr(mlir::StringAttr)> loopOf = {}) const;
  dist::LayoutAttr replicated(mlir::Type type) const { return layoutFor(type, Assignment()); }

  /// Returns whether an operation is in @update or in @start, which both run once per training step on whole values.
  bool isUpdate(mlir::Operation *op) const { return updateBlocks.contains(op->getBlock()); }
  /// Mesh axes over which square sums are added: all but those of `batch` over which no gradient is split (RULES.md#N4).
  llvm::ArrayRef<mlir::StringAttr> squareSumAxes() const { return ownerAxes; }

private:
  void collect();
  void pairCopies();
  /// Returns whether some use of a value needs it reduced, because it cannot take partial sums.
  bool isReducedFor(mlir::Value value) const;
  mlir::LogicalResult checkRings() const;
  mlir::LogicalResult placeParameters();
  void placeInputs();
  /// The longest common prefix of the splits of these layouts, per dimension.
  static dist::LayoutAttr common(llvm::ArrayRef<dist::LayoutAttr> layouts);
  void placeUpdate();
  /// The layout in which the parameter of an operand of @update is updated; null when the operand belongs to none.
  dist::LayoutAttr updateLayout(mlir::Value operand) const;
  /// The layout in which an accumulator stores a gradient of this layout: the piece that `gradients -> ...` keeps of a parameter that is
  /// updated in the other layout.
  dist::LayoutAttr accumulated(dist::LayoutAttr gradient, dist::LayoutAttr update) const;
  void sweep();
  void define(mlir::Operation *op);
  /// The mesh axes over which all operands but indices are partial, if the operation accepts that (RULES.md#P4).
  llvm::SmallVector<mlir::StringAttr> keptPartial(mlir::Operation *op) const;
  /// Returns whether an op repeats a sum, and the mesh axes of its parts would split the result of a complete one: a part of the repeated
  /// sum is as large as the results of all ranks, so the sum is completed before.
  bool repeatsForRanks(mlir::Operation *op, llvm::ArrayRef<mlir::StringAttr> partial);
  /// Returns whether an index would need another layout than the rules alone give it. Data buffers are filled by the rules, and data is
  /// never sent.
  bool wantsOtherIndices(mlir::Operation *op, const Assignment &assignment) const;
  dist::LayoutAttr resultLayout(mlir::Value result) const;
  dist::LayoutAttr reduced(mlir::Value value, dist::LayoutAttr raw) const;
  dist::LayoutAttr scattered(dist::LayoutAttr raw, llvm::ArrayRef<dist::LayoutAttr> wants) const;
  dist::LayoutAttr operandLayout(mlir::OpOperand &use, const Assignment &assignment) const;
  /// Splits an operand of windows like their positions, where ranks get the entries that they lack from each other (dist.halo).
  dist::LayoutAttr withHalos(nn::WindowsOp windows, dist::LayoutAttr layout, const Assignment &assignment) const;
  /// Leaves an operand of windows whole along an axis that its definition does not split, or splits in another way: ranks cut out what they
  /// need.
  dist::LayoutAttr withoutCuts(mlir::OpOperand &use, dist::LayoutAttr wants) const;
  /// The layout that a use wants if its operand is not partial.
  dist::LayoutAttr wantedWhole(mlir::OpOperand &use) const;
  bool acceptsPartial(mlir::OpOperand &use) const;

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  mlir::MLIRContext *context;
  Rules &rules;
  const Stores &stores;
  llvm::SmallPtrSet<mlir::Block *, 2> updateBlocks;
  std::vector<mlir::Operation *> ops;
  /// The splits of operations: by the rules alone, and with the mesh axes of operands that stay partial reserved.
  llvm::DenseMap<mlir::Operation *, Assignment> byRules, assignments;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::StringAttr>> kept;
  /// Layout of the parameter that an operation of @update works on.
  llvm::DenseMap<mlir::Operation *, dist::LayoutAttr> updated;
  llvm::DenseMap<mlir::Value, dist::LayoutAttr> rawLayouts, layouts;
  llvm::DenseSet<mlir::Value> freeValues, reducedValues;
  llvm::DenseMap<mlir::Value, mlir::Value> originals; ///< copy in a recomputed segment -> original
  llvm::StringMap<dist::LayoutAttr> variables, inputs;
  llvm::StringMap<dist::LayoutAttr> updates; ///< by parameter: its layout in @update, which its states share
  llvm::SmallVector<mlir::StringAttr> ownerAxes;
};

/// Whether all floating-point operands of an operation may be partial sums (RULES.md#P4).
bool acceptsPartialOperands(mlir::Operation *op);

/// F for operations without a place.
nn::Phase phaseOf(mlir::Operation *op);

} // namespace npar::place
