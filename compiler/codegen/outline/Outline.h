// The steps of export-outline-kernels, one file each.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/dialects/rank/Rank.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace npar::codegen {

/// With one micro-batch: an nn.accumulate that is its stage's only one to the variable -> nn.write, so that nothing zeroes the variable.
void writeWhatIsAddedOnce(mlir::ModuleOp module);

/// nn.accumulate -> read, add, write; nn.combine of one use -> nothing; nn.square_sums -> one op per parameter and one that adds them up.
void rewriteState(mlir::Block &block);

/// nn.einsum of all but float64 -> rank.matmul; products that no stride fits stay einsums and become kernels. Products of
/// windows walk their operands, in float64 too.
void rewriteProducts(mlir::Block &block);
/// An einsum over windows that has one channel, or one feature, in each group -> nn.mul, nn.sum. Returns whether it is that now.
bool rewriteDepthwiseProduct(nn::EinsumOp op);
/// An einsum over windows -> a rank.matmul that walks its operands. Returns whether it is one now.
bool rewriteWindowedProduct(nn::EinsumOp op);
/// A product computes its addition to the value of a variable itself, or to that of the same product of an earlier round. Both are null for
/// a product without an addition.
struct Accumulation {
  nn::AddOp sum;
  mlir::Value variable;
};
/// Finds the only use of a product if it is such an addition.
Accumulation accumulationOf(mlir::Operation *product);
/// nn.grouped and nn.grouped_weights -> rank.matmul with ranges of rows.
llvm::LogicalResult rewriteGroupedProducts(mlir::Block &block);

/// Gives a new kernel its extent and name, or the equal one that there is already in its place.
using ShareKernel = llvm::function_ref<llvm::FailureOr<rank::KernelOp>(rank::KernelOp)>;
/// nn.attention and its gradient, which placing has left whole, -> rank.attention, rank.attention_grad.
llvm::LogicalResult rewriteAttentions(mlir::Block &block, ShareKernel share);

/// A block of scores on which a formula is computed: `scoreRows` rows by `columns`. Rows are queries or keys; results are new scores or
/// their gradients.
struct ScoreBlocks {
  int64_t columns;
  bool ofKeys = false, differentiates = false;
  llvm::ArrayRef<int64_t> sloped = {};
};
/// The kernel in the form that table Attention of Program.fbs requires, added at the end of the module.
rank::KernelOp scoreKernel(nn::ScoresOp scores, const ScoreBlocks &blocks);

/// Each user gets its own nn.fill, nn.index, nn.broadcast; column reductions get their own cheap producers instead of stored values.
void duplicateCheapOps(mlir::Block &block);

/// Returns whether kernels can contain this op.
bool isFusable(mlir::Operation *op);

/// The loops of a prim and how it uses them.
struct OpLoops {
  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>> loops; ///< in walking order, without axes of size 1
  llvm::SmallVector<mlir::StringAttr> units;                     ///< the axes of size 1, which are no loops
  llvm::SmallVector<mlir::StringAttr> reduced;
  llvm::SmallVector<mlir::Value, 2> external; ///< operands that must come from outside the kernel
  bool costly = false;                        ///< not to be computed again for each row of a larger space
  bool alone = false;                         ///< fuses with nothing
  bool ownNest = false;                       ///< codegen/loops writes a nest for it alone
  bool has(mlir::StringAttr axis) const {
    return llvm::any_of(loops, [&](const auto &loop) { return loop.first == axis; });
  }
  double volume() const {
    double product = 1;
    for (auto &[axis, size] : loops)
      product *= size;
    return product;
  }
};
OpLoops loopsOf(mlir::Operation *op);
/// A reduction that keeps the axis its operand has contiguous.
bool isColumnReduction(const OpLoops &loops);
/// Returns whether the op is cheaper to recompute than to store.
bool isDoneAgain(mlir::Operation *op);

/// Partitions a block: each entry is a kernel to be (in program order) or a single other op; the entries are in an order that
/// respects all dependencies. `endsOf` gives a value besides an op's operands that its kernel needs from outside, or null.
std::vector<llvm::SmallVector<mlir::Operation *>> groupOps(mlir::Block &block, llvm::function_ref<mlir::Value(mlir::Operation *)> endsOf);

/// Pairs (result, operand) that may share storage.
llvm::SmallVector<std::pair<int64_t, int64_t>> inplacePairs(rank::KernelOp kernel);

} // namespace npar::codegen
