// export-outline-kernels: fragments of prims become products and launches of shared kernels.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/Text.h"
#include "compiler/codegen/lowering/Lowering.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/RowEnds.h"
#include "compiler/codegen/outline/View.h"
#include "compiler/dialects/nn/ops/ExistingRows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>
#include <optional>
#include <vector>

using namespace mlir;

namespace npar::codegen {

#define GEN_PASS_DECL_EXPORTOUTLINEKERNELS
#define GEN_PASS_DEF_EXPORTOUTLINEKERNELS
#include "compiler/codegen/Passes.h.inc"

namespace {
struct ExportOutlineKernels : impl::ExportOutlineKernelsBase<ExportOutlineKernels> {
  using ExportOutlineKernelsBase::ExportOutlineKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override { registerCodegen(registry); }
  void runOnOperation() override;

  /// A block whose products are steps.
  struct Prepared {
    Block &block;
    llvm::DenseMap<Operation *, nn::ExistingRows> existing; ///< the rows of its ops that exist
    llvm::DenseSet<Operation *> skipping;                   ///< sums of rows into a table, which skip the others
  };
  FailureOr<Prepared> prepare(Block &block, ReadersOfRows &readers);
  LogicalResult outline(const Prepared &prepared);
  rank::KernelOp build(ArrayRef<Operation *> group, ArrayRef<Value> operands, ArrayRef<Value> results, double filled,
                       rank::ExistingAttr existing);
  FailureOr<rank::KernelOp> share(rank::KernelOp kernel);

  dist::MeshAttr mesh;
  llvm::DenseSet<StringAttr> needZeros;                          ///< axes of rows
  std::map<std::string, SmallVector<rank::KernelOp>> shared;     // by text: kernels that differ in `filled`
  std::map<std::vector<const void *>, rank::KernelOp> identical; // by identity
  std::map<std::string, int> named;
};
} // namespace

// Up to three of the telling ops: "max_exp_div".
static std::string nameOf(ArrayRef<Operation *> group) {
  static const StringRef dull[] = {"add", "sub", "mul", "scale", "shift", "broadcast", "fill", "index", "convert"};
  SmallVector<StringRef> names;
  for (bool any : {false, true}) {
    for (Operation *op : group) {
      StringRef name = op->getName().stripDialect();
      if (names.size() < 3 && !llvm::is_contained(names, name) && (any || !llvm::is_contained(dull, name)))
        names.push_back(name);
    }
    if (!names.empty())
      break;
  }
  return llvm::join(names, "_");
}

// The part of its elements that a kernel of existing rows computes if the load of experts is balanced.
static double filledOf(ArrayRef<Operation *> group, const llvm::DenseMap<Operation *, nn::ExistingRows> &existing) {
  Operation *widest = *llvm::max_element(group, [](Operation *a, Operation *b) { return nn::loopVolume(a) < nn::loopVolume(b); });
  auto rows = existing.find(widest);
  return rows == existing.end() ? 1 : rows->second.filled;
}

rank::KernelOp ExportOutlineKernels::build(ArrayRef<Operation *> group, ArrayRef<Value> operands, ArrayRef<Value> results, double filled,
                                           rank::ExistingAttr existing) {
  OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
  double flops = 0;
  for (Operation *op : group)
    flops += isa<nn::CostOpInterface>(op) ? cast<nn::CostOpInterface>(op).getFlops() : nn::defaultFlops(op);
  Location loc = group.back()->getLoc();
  auto kernel = rank::KernelOp::create(b, loc, b.getStringAttr(nameOf(group)), b.getI64IntegerAttr(1), b.getF64FloatAttr(flops),
                                       b.getArrayAttr({}), b.getF64FloatAttr(filled), existing, FlatSymbolRefAttr());
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, block.addArgument(operand.getType(), loc));
  b.setInsertionPointToStart(&block);
  for (Operation *op : group) {
    Operation *copy = b.clone(*op, mapping);
    attributes::at.remove(copy);
    attributes::round.remove(copy);
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  rank::YieldOp::create(b, loc, yielded);
  return kernel;
}

// What the text of a kernel is made of: names, attributes and types, which are unique in a context, and numbers of values. Kernels of one
// module with the same identity have the same text. Nothing for a kernel whose operations have regions.
static std::optional<std::vector<const void *>> identityOf(rank::KernelOp kernel) {
  std::vector<const void *> identity{kernel->getAttrDictionary().getAsOpaquePointer()};
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto addType = [&](Value value) {
    numbers.insert({value, numbers.size()});
    identity.push_back(value.getType().getAsOpaquePointer());
  };
  Block &body = kernel.getBody().front();
  llvm::for_each(body.getArguments(), addType);
  for (Operation &op : body) {
    if (op.getNumRegions() > 0)
      return std::nullopt;
    identity.push_back(op.getName().getAsOpaquePointer());
    identity.push_back(op.getAttrDictionary().getAsOpaquePointer());
    for (Value operand : op.getOperands())
      identity.push_back(reinterpret_cast<const void *>(numbers.lookup(operand)));
    llvm::for_each(op.getResults(), addType);
  }
  return identity;
}

// The kernel itself, or the equal one that an earlier launch made.
FailureOr<rank::KernelOp> ExportOutlineKernels::share(rank::KernelOp kernel) {
  std::optional<std::vector<const void *>> identity = identityOf(kernel);
  if (auto same = identity ? identical.find(*identity) : identical.end(); same != identical.end()) {
    kernel.erase();
    return same->second;
  }
  SmallVector<rank::KernelOp> &equal = shared[kernelText(kernel, mesh, kernel.getSymName())];
  auto same = llvm::find_if(equal, [&](rank::KernelOp other) { return other.getFilled() == kernel.getFilled(); });
  rank::KernelOp found = same == equal.end() ? kernel : *same;
  if (identity)
    identical.insert({std::move(*identity), found});
  if (found != kernel) {
    kernel.erase();
    return found;
  }
  equal.push_back(kernel);
  std::string base = kernel.getSymName().str();
  kernel.setSymName(base + "_" + std::to_string(named[base]++));
  if (rank::KernelOp first = equal.front(); first != kernel) {
    kernel.setCodeAttr(FlatSymbolRefAttr::get(first.getSymNameAttr()));
    kernel.setInplaceAttr(first.getInplaceAttr());
    kernel.setExtent(first.getExtent());
    return kernel;
  }
  SmallVector<Attribute> pairs;
  for (auto [result, operand] : inplacePairs(kernel))
    pairs.push_back(DenseI64ArrayAttr::get(&getContext(), {result, operand}));
  kernel.setInplaceAttr(ArrayAttr::get(&getContext(), pairs));
  FailureOr<int64_t> extent = extentOf(kernel, mesh);
  if (failed(extent))
    return failure();
  kernel.setExtent(*extent);
  return kernel;
}

FailureOr<ExportOutlineKernels::Prepared> ExportOutlineKernels::prepare(Block &block, ReadersOfRows &readers) {
  rewriteState(block);
  if (failed(rewriteAttentions(block, [&](rank::KernelOp kernel) { return share(kernel); })))
    return failure();
  rewriteProducts(block);
  llvm::DenseMap<Operation *, nn::ExistingRows> existing = nn::existingRows(block);
  if (failed(rewriteGroupedProducts(block)))
    return failure();
  dropUnusedViews(block);
  RowEnds ends(block);
  llvm::DenseSet<Operation *> skipping;
  for (auto scatter : llvm::to_vector(block.getOps<nn::ScatterAddOp>()))
    if (ends.skipOthers(scatter)) {
      readers.skips(scatter);
      skipping.insert(scatter);
    }
  return Prepared{block, std::move(existing), std::move(skipping)};
}

LogicalResult ExportOutlineKernels::outline(const Prepared &prepared) {
  Block &block = prepared.block;
  duplicateCheapOps(block);
  RowEnds ends(block);
  std::vector<SmallVector<Operation *>> groups = groupOps(block, [&](Operation *op) { return ends.of(op); });
  // Operations move to the end of the block in the new order (before its terminator).
  Operation *terminator = !block.empty() && block.back().hasTrait<OpTrait::IsTerminator>() ? &block.back() : nullptr;
  IRMapping replaced;
  for (ArrayRef<Operation *> group : groups) {
    if (group.size() == 1 && !isFusable(group.front())) {
      attributes::round.remove(group.front());
      group.front()->moveBefore(&block, terminator ? terminator->getIterator() : block.end());
      continue;
    }
    llvm::SmallDenseSet<Operation *> inside(group.begin(), group.end());
    llvm::SmallSetVector<Value, 8> operandSet, results;
    for (Operation *op : group) {
      for (Value operand : op->getOperands())
        if (!inside.contains(operand.getDefiningOp()))
          operandSet.insert(operand);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
          results.insert(result);
    }
    SmallVector<Value> operands(operandSet.getArrayRef());
    rank::ExistingAttr ofRows = ends.ofKernel(group, results.getArrayRef(), needZeros);
    if (ofRows)
      operands.push_back(ends.of(results.front().getDefiningOp()));
    bool skips = ofRows || llvm::any_of(group, [&](Operation *op) { return prepared.skipping.contains(op); });
    double filled = skips ? filledOf(group, prepared.existing) : 1;
    FailureOr<rank::KernelOp> kernel = share(build(group, operands, results.getArrayRef(), filled, ofRows));
    if (failed(kernel))
      return failure();
    OpBuilder b = terminator ? OpBuilder(terminator) : OpBuilder::atBlockEnd(&block);
    auto launch = rank::LaunchOp::create(b, group.back()->getLoc(), TypeRange(ValueRange(results.getArrayRef())),
                                         FlatSymbolRefAttr::get(kernel->getSymNameAttr()), operands);
    attributes::at.copy(group.back(), launch);
    for (auto [found, value] : llvm::zip(results, launch.getResults()))
      Value(found).replaceUsesWithIf(value, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(group))
      op->erase();
  }
  return success();
}

void ExportOutlineKernels::runOnOperation() {
  getContext().loadAllAvailableDialects();
  mesh = dist::meshOf(getOperation());
  ReadersOfRows readers(getOperation());
  writeWhatIsAddedOnce(getOperation());
  for (auto kernel : getOperation().getOps<rank::KernelOp>())
    named[kernel.getSymName().str()] = 0;
  SmallVector<Operation *> bodies;
  for (Operation &op : getOperation().getOps())
    if (!isa<rank::KernelOp>(op) && op.getNumRegions() == 1 && (isa<func::FuncOp>(op) || op.getName().getStringRef() == "pipe.fragment"))
      bodies.push_back(&op);
  std::vector<Prepared> blocks;
  for (Operation *op : bodies)
    for (Block &block : op->getRegion(0)) {
      FailureOr<Prepared> prepared = prepare(block, readers);
      if (failed(prepared))
        return signalPassFailure();
      blocks.push_back(std::move(*prepared));
    }
  needZeros = readers.axesThatNeedZeros(getOperation());
  for (const Prepared &prepared : blocks)
    if (failed(outline(prepared)))
      return signalPassFailure();
  for (nn::ScoresOp scores : llvm::make_early_inc_range(getOperation().getOps<nn::ScoresOp>()))
    scores.erase(); // kernels by now
}

} // namespace npar::codegen
