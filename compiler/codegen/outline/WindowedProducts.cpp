// Writes an einsum over windows as a product whose operands are walked where they are stored: no window is copied.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/Windows.h"
#include "engine/program/Elements.h"

#include <numeric>

using namespace mlir;

namespace npar::codegen {

namespace {

/// One dimension of a stored operand that windows walk: its entry is (sum of steps times positions - before) / spread.
struct Walked {
  int64_t size, stride, before, spread;
  llvm::SmallDenseMap<StringAttr, int64_t> steps{}; ///< by axis
};

/// An operand of the product: elements at strides of axes and in windows.
struct Operand {
  Value base;
  int64_t offset = 0;
  llvm::MapVector<StringAttr, int64_t> strides; ///< by axis; 0 for axes that only windows know
  SmallVector<Walked, 2> windows;

  bool has(StringAttr axis) const { return strides.contains(axis); }
  bool isWalked(StringAttr axis) const {
    return llvm::any_of(windows, [&](const Walked &window) { return window.steps.contains(axis); });
  }
  bool isSpread() const {
    return llvm::any_of(windows, [](const Walked &window) { return window.spread != 1; });
  }
  /// How far a step along the axis goes in memory, in elements.
  int64_t reach(StringAttr axis) const {
    int64_t sum = strides.lookup(axis);
    for (const Walked &window : windows)
      sum += std::abs(window.steps.lookup(axis)) * window.stride / window.spread;
    return sum;
  }
};

struct Positions {
  SmallVector<StringAttr> batch, m, n, k;
};

} // namespace

/// The windows behind an operand; null if there are none, or if a product cannot walk them.
static nn::WindowsOp windowsOf(Value value) {
  auto windows = value.getDefiningOp<nn::WindowsOp>();
  if (!windows || windows.getOver().size() > 2 || !windows.getFill().isZero())
    return {};
  // A rank's positions begin elsewhere, which only a kernel knows.
  dist::LayoutAttr layout = dist::layoutOf(windows.getType());
  for (unsigned i = 0; i < windows.getTo().size(); ++i)
    if (layout && !layout.splitsOf(layout.dimOf(windows.toAt(i))).empty())
      return {};
  return windows;
}

static Operand operandOf(Value value) {
  Operand operand;
  nn::WindowsOp windows = windowsOf(value);
  View view(windows ? windows.getX() : value);
  operand.base = view.base, operand.offset = view.offset;
  for (StringAttr axis : nn::axesOf(value.getType()))
    operand.strides[axis] = view.stride(axis);
  for (unsigned i = 0; windows && i < windows.getOver().size(); ++i) {
    Walked walked{nn::sizeOf(windows.getX().getType(), windows.overAt(i)), view.stride(windows.overAt(i)), windows.getBefore()[i],
                  windows.getSpread()[i]};
    StringAttr to = windows.toAt(i), by = windows.byAt(i);
    int64_t stride = windows.getStride()[i], dilation = windows.getDilation()[i];
    int64_t last = (nn::sizeOf(windows.getType(), to) - 1) * stride + (nn::sizeOf(windows.getType(), by) - 1) * dilation;
    if (walked.before == 0 && walked.spread == 1 && dilation > 0 && last < walked.size) { // never outside
      operand.strides[to] += stride * walked.stride;
      operand.strides[by] += dilation * walked.stride;
      continue;
    }
    walked.steps[to] = stride;
    walked.steps[by] = dilation;
    operand.windows.push_back(std::move(walked));
  }
  return operand;
}

/// Sorts the loops of the product: `k` and `m` as the first operand has them in memory.
static FailureOr<Positions> classify(nn::EinsumOp op, const Operand &a, const Operand &b) {
  Positions axes;
  SmallVector<StringAttr> all(nn::axesOf(op.getType()));
  for (Value operand : op->getOperands())
    for (StringAttr axis : nn::axesOf(operand.getType()))
      if (!llvm::is_contained(all, axis))
        all.push_back(axis);
  for (StringAttr axis : all) {
    bool inA = a.has(axis), inB = b.has(axis), inC = nn::hasAxis(op.getType(), axis);
    if (inA && inB && inC) {
      if (a.isWalked(axis) || b.isWalked(axis))
        return failure();
      axes.batch.push_back(axis);
    } else if (inC) {
      (inA ? axes.m : axes.n).push_back(axis);
    } else if (inA && inB) {
      axes.k.push_back(axis);
    } else {
      return failure(); // a sum over one operand alone
    }
  }
  auto byReach = [&](const Operand &operand) { return [&](StringAttr x, StringAttr y) { return operand.reach(x) > operand.reach(y); }; };
  llvm::stable_sort(axes.m, byReach(a));
  llvm::stable_sort(axes.k, byReach(a));
  llvm::stable_sort(axes.n, byReach(b));
  return axes;
}

/// Returns whether the product can walk the operands: at most one position of m and one of k moves in a window that is spread out.
static bool isPossible(const Operand &a, const Operand &b, const Positions &axes) {
  constexpr size_t most = 8;
  if (b.isSpread() || axes.m.size() > most || axes.n.size() > most || axes.k.size() > most)
    return false;
  for (const Walked &window : a.windows) {
    auto moves = [&](StringAttr axis) { return window.steps.contains(axis); };
    if (window.spread != 1 && (llvm::count_if(axes.m, moves) > 1 || llvm::count_if(axes.k, moves) > 1))
      return false;
  }
  return true;
}

/// The operand with the axes that windows do not walk behind those that they do: channels last. Small images are cheaper to copy once than
/// to collect element by element.
static void makeChannelsLast(nn::EinsumOp op, OpOperand &use) {
  nn::WindowsOp windows = windowsOf(use.get());
  if (!windows)
    return;
  // The result has the channels where it has the windows: in the gradient of a weight. Elsewhere they are contracted with the windows.
  bool hasWindow = nn::hasAxis(op.getType(), windows.byAt(0));
  SmallVector<StringAttr> order, walked, last;
  for (StringAttr axis : nn::axesOf(windows.getX().getType())) {
    bool isChannel = nn::hasAxis(op.getType(), axis) == hasWindow && nn::sizeOf(windows.getX().getType(), axis) > 1;
    (llvm::is_contained(windows.getOver(), axis) ? walked : isChannel ? last : order).push_back(axis);
  }
  if (last.empty() || nn::axesOf(windows.getX().getType()).back() == last.back())
    return;
  order.append(walked);
  order.append(last);
  Value copy = inOrder(windows, windows.getX(), order);
  if (copy == windows.getX())
    return;
  OpBuilder builder(op);
  auto moved = cast<nn::WindowsOp>(builder.clone(*windows));
  moved.getXMutable().assign(copy);
  use.set(moved);
}

static rank::WalkedAttr walkedAttr(const Operand &operand, ArrayRef<StringAttr> first, ArrayRef<StringAttr> second, MLIRContext *context) {
  SmallVector<int64_t> strides;
  SmallVector<rank::WindowAttr> windows;
  SmallVector<StringAttr> positions(first);
  positions.append(second.begin(), second.end());
  for (StringAttr axis : positions)
    strides.push_back(operand.strides.lookup(axis));
  for (const Walked &walked : operand.windows) {
    SmallVector<int64_t> steps;
    for (StringAttr axis : positions)
      steps.push_back(walked.steps.lookup(axis));
    windows.push_back(rank::WindowAttr::get(context, walked.size, walked.stride, walked.before, walked.spread, steps));
  }
  return rank::WalkedAttr::get(context, strides, windows);
}

bool rewriteWindowedProduct(nn::EinsumOp op) {
  if (!windowsOf(op.getA()) && !windowsOf(op.getB()))
    return false;
  // Windows belong into the first operand, which alone may be spread out.
  if (!windowsOf(op.getA()) || (operandOf(op.getB()).isSpread() && !operandOf(op.getA()).isSpread())) {
    Value a = op.getA(), b = op.getB();
    op.getAMutable().assign(b);
    op.getBMutable().assign(a);
  }
  makeChannelsLast(op, op.getAMutable());
  Operand a = operandOf(op.getA());
  FailureOr<Positions> axes = classify(op, a, operandOf(op.getB()));
  if (failed(axes) || !isPossible(a, operandOf(op.getB()), *axes))
    return false;
  if (!windowsOf(op.getB())) { // k and then n, so that each row of the operand is contiguous
    SmallVector<StringAttr> order(axes->batch);
    order.append(axes->k);
    order.append(axes->n);
    op.getBMutable().assign(inOrder(op, op.getB(), order));
  }
  Operand b = operandOf(op.getB());

  // The product is made in the order of its loops. Another order of the result is a copy.
  SmallVector<StringAttr> order(axes->batch);
  order.append(axes->m);
  order.append(axes->n);
  for (SmallVector<StringAttr> *positions : {&axes->m, &axes->n, &axes->k})
    if (positions->empty())
      positions->push_back({}); // one position, which no operand knows
  auto sizesOf = [&](ArrayRef<StringAttr> names) {
    SmallVector<int64_t> sizes;
    for (StringAttr axis : names)
      sizes.push_back(!axis ? 1 : nn::sizeOf(nn::hasAxis(op.getA().getType(), axis) ? op.getA().getType() : op.getB().getType(), axis));
    return sizes;
  };
  auto volume = [](ArrayRef<int64_t> sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()); };
  SmallVector<int64_t> m = sizesOf(axes->m), n = sizesOf(axes->n), k = sizesOf(axes->k), batch = sizesOf(axes->batch);
  RankedTensorType ordered = inOrder(cast<RankedTensorType>(op.getType()), order);
  Accumulation accumulation = ordered == op.getType() ? accumulationOf(op) : Accumulation{};
  OpBuilder builder(accumulation.sum ? accumulation.sum.getOperation() : op.getOperation());
  MLIRContext *context = builder.getContext();
  SmallVector<int64_t> aStrides, bStrides, cStrides;
  int64_t step = volume(m) * volume(n);
  for (int64_t size : llvm::reverse(batch)) {
    cStrides.insert(cStrides.begin(), step);
    step *= size;
  }
  for (StringAttr axis : axes->batch) {
    aStrides.push_back(a.strides.lookup(axis));
    bStrides.push_back(b.strides.lookup(axis));
  }
  aStrides.append({0, 0});
  bStrides.append({0, 0});
  cStrides.append({volume(n), 1});
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto matmul = rank::MatmulOp::create(
      builder, op.getLoc(), ordered, a.base, b.base, accumulation.variable, ValueRange(), builder.getDenseI64ArrayAttr(batch),
      i64(volume(m)), i64(volume(n)), i64(volume(k)), builder.getDenseI64ArrayAttr(aStrides), builder.getDenseI64ArrayAttr(bStrides),
      builder.getDenseI64ArrayAttr(cStrides), i64(a.offset), i64(b.offset), op.getTf32Attr(), UnitAttr(), builder.getF64FloatAttr(1),
      rank::WindowedAttr::get(context, m, n, k, walkedAttr(a, axes->m, axes->k, context), walkedAttr(b, axes->k, axes->n, context)));
  attributes::at.copy(op, matmul);
  Value result = matmul.getResult();
  if (accumulation.sum) {
    accumulation.sum.replaceAllUsesWith(result);
    accumulation.sum.erase();
  } else {
    if (ordered != op.getType()) {
      auto copy = nn::BroadcastOp::create(builder, op.getLoc(), op.getType(), result);
      attributes::at.copy(op, copy);
      result = copy;
    }
    op.replaceAllUsesWith(result);
  }
  op.erase();
  return true;
}

} // namespace npar::codegen
