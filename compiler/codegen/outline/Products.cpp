// Classifies an einsum's axes (batch, m, n, k), merges those that are contiguous everywhere, and writes it as a strided product.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "engine/program/Elements.h"

using namespace mlir;

namespace npar::codegen {

namespace {
/// One loop of the product; stride 0 where a tensor lacks it.
struct ProductLoop {
  int64_t size, a, b, c;
};

struct Product {
  SmallVector<ProductLoop> batch, m, n, k;

  static void merge(SmallVector<ProductLoop> &loops) {
    for (int i = int(loops.size()) - 2; i >= 0; --i) {
      ProductLoop &major = loops[i], &minor = loops[i + 1];
      if (major.a != minor.a * minor.size || major.b != minor.b * minor.size || major.c != minor.c * minor.size)
        continue;
      minor.size *= major.size;
      loops.erase(loops.begin() + i);
    }
  }
  void swap() {
    std::swap(m, n);
    for (auto *loops : {&batch, &m, &n, &k})
      for (ProductLoop &loop : *loops)
        std::swap(loop.a, loop.b);
  }
};
} // namespace

// All but one of the m (or n) loops become batch loops, on which the other operand does not move.
static ProductLoop keepOne(SmallVector<ProductLoop> &loops, SmallVector<ProductLoop> &batch,
                           llvm::function_ref<bool(const ProductLoop &)> best) {
  if (loops.empty())
    return {1, 0, 0, 0};
  size_t kept = 0;
  for (size_t i = 0; i < loops.size(); ++i)
    if (best(loops[i]) || (!best(loops[kept]) && loops[i].size > loops[kept].size))
      kept = i;
  ProductLoop result = loops[kept];
  for (size_t i = 0; i < loops.size(); ++i)
    if (i != kept)
      batch.push_back(loops[i]);
  return result;
}

static FailureOr<Product> classify(nn::EinsumOp op, const View &a, const View &b) {
  auto result = cast<RankedTensorType>(op.getType());
  View c(op.getResult());
  Product product;
  SmallVector<StringAttr> axes(nn::axesOf(result));
  for (Value operand : op->getOperands())
    for (StringAttr axis : nn::axesOf(operand.getType()))
      if (!llvm::is_contained(axes, axis))
        axes.push_back(axis);
  for (StringAttr axis : axes) {
    bool inA = nn::hasAxis(op.getA().getType(), axis), inB = nn::hasAxis(op.getB().getType(), axis), inC = nn::hasAxis(result, axis);
    int64_t size = nn::sizeOf(inA ? op.getA().getType() : op.getB().getType(), axis);
    if (size == 1)
      continue;
    if (!inC && !(inA && inB))
      return failure(); // a sum over one operand alone
    ProductLoop loop{size, a.stride(axis), b.stride(axis), c.stride(axis)};
    (inA && inB && inC ? product.batch : inA && inC ? product.m : inB && inC ? product.n : product.k).push_back(loop);
  }
  // Order the contracted loops as A has them, so that neighbours can merge.
  llvm::stable_sort(product.k, [](const ProductLoop &x, const ProductLoop &y) { return x.a > y.a; });
  for (auto *loops : {&product.batch, &product.m, &product.n, &product.k})
    Product::merge(*loops);
  return product;
}

// Row and column stride of an operand: 1 for a loop of one iteration where the other is not 1.
static std::pair<int64_t, int64_t> unit(int64_t row, int64_t rows, int64_t column, int64_t columns) {
  if (columns == 1)
    column = row == 1 ? std::max<int64_t>(rows, 1) : 1;
  if (rows == 1)
    row = column == 1 ? std::max<int64_t>(columns, 1) : 1;
  return {row, column};
}

static bool rewriteProduct(nn::EinsumOp op) {
  View a(op.getA()), b(op.getB());
  FailureOr<Product> classified = classify(op, a, b);
  if (failed(classified) || classified->k.size() > 1)
    return false;
  Product product = *classified;
  // C's contiguous axis must be an n loop.
  auto contiguous = [](const ProductLoop &loop) { return loop.c == 1; };
  bool swapped = llvm::none_of(product.n, contiguous) && llvm::any_of(product.m, contiguous);
  if (swapped)
    product.swap();
  ProductLoop n = keepOne(product.n, product.batch, contiguous);
  ProductLoop m = keepOne(product.m, product.batch, [](const ProductLoop &) { return false; });
  ProductLoop k = product.k.empty() ? ProductLoop{1, 0, 0, 0} : product.k.front();
  if (n.size > 1 && n.c != 1)
    return false;
  auto [aRow, aColumn] = unit(m.a, m.size, k.a, k.size);
  auto [bRow, bColumn] = unit(k.b, k.size, n.b, n.size);
  int64_t cRow = m.size == 1 ? n.size : m.c;
  if ((aRow != 1 && aColumn != 1) || (bRow != 1 && bColumn != 1))
    return false;
  SmallVector<int64_t> batch, aStrides, bStrides, cStrides;
  for (const ProductLoop &loop : product.batch) {
    batch.push_back(loop.size);
    aStrides.push_back(loop.a);
    bStrides.push_back(loop.b);
    cStrides.push_back(loop.c);
  }
  aStrides.append({aRow, aColumn});
  bStrides.append({bRow, bColumn});
  cStrides.append({cRow, 1});
  if (swapped)
    std::swap(a, b);

  auto [sum, accumulator] = accumulationOf(op);
  OpBuilder builder(sum ? sum.getOperation() : op.getOperation());
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto matmul = rank::MatmulOp::create(
      builder, op.getLoc(), op.getType(), a.base, b.base, accumulator, ValueRange(), builder.getDenseI64ArrayAttr(batch), i64(m.size),
      i64(n.size), i64(k.size), builder.getDenseI64ArrayAttr(aStrides), builder.getDenseI64ArrayAttr(bStrides),
      builder.getDenseI64ArrayAttr(cStrides), i64(a.offset), i64(b.offset), op.getTf32Attr(), UnitAttr(), builder.getF64FloatAttr(1),
      /*windowed=*/rank::WindowedAttr());
  attributes::at.copy(op, matmul);
  if (sum) {
    sum.replaceAllUsesWith(matmul.getResult());
    sum.erase();
  } else {
    op.replaceAllUsesWith(matmul.getResult());
  }
  op.erase();
  return true;
}

Accumulation accumulationOf(Operation *product) {
  Value result = product->getResult(0);
  auto sum = result.hasOneUse() ? dyn_cast<nn::AddOp>(*result.getUsers().begin()) : nn::AddOp();
  if (!sum)
    return {};
  Value other = sum.getA() == result ? sum.getB() : sum.getA();
  auto before = other.getDefiningOp<rank::MatmulOp>(); // of an earlier round of rows of experts
  bool adds = (other.getDefiningOp<nn::ReadOp>() || (before && before.getDepth() && attributes::round.isOn(sum))) && other.hasOneUse();
  bool same = sum.getType() == result.getType() && other.getType() == result.getType();
  return adds && same ? Accumulation{sum, other} : Accumulation{};
}

// Copies the operands to [batch.., m.., k..] and [batch.., n.., k..], a form that always classifies, except for C's contiguous axis.
static bool reorderOperands(nn::EinsumOp op) {
  SmallVector<StringAttr> a, b, k;
  for (StringAttr axis : nn::axesOf(op.getType())) {
    if (nn::hasAxis(op.getA().getType(), axis))
      a.push_back(axis);
    if (nn::hasAxis(op.getB().getType(), axis))
      b.push_back(axis);
  }
  for (StringAttr axis : nn::axesOf(op.getA().getType()))
    if (!nn::hasAxis(op.getType(), axis)) {
      if (!nn::hasAxis(op.getB().getType(), axis))
        return false;
      k.push_back(axis);
    }
  for (StringAttr axis : nn::axesOf(op.getB().getType()))
    if (!nn::hasAxis(op.getType(), axis) && !llvm::is_contained(k, axis))
      return false;
  a.append(k);
  b.append(k);
  Value first = inOrder(op, op.getA(), a), second = inOrder(op, op.getB(), b);
  if (first == op.getA() && second == op.getB())
    return false;
  op.getAMutable().assign(first);
  op.getBMutable().assign(second);
  return true;
}

void rewriteProducts(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto einsum = dyn_cast<nn::EinsumOp>(op);
    if (!einsum || rewriteDepthwiseProduct(einsum) || rewriteWindowedProduct(einsum))
      continue;
    if (program::hasProductSteps(*nn::elementTypeOf(einsum.getType())) && !rewriteProduct(einsum) && reorderOperands(einsum))
      rewriteProduct(einsum);
  }
}

} // namespace npar::codegen
