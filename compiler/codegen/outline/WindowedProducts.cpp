// Writes an einsum over windows as a product whose operands are walked where they are stored, so that no window is copied.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"
#include "compiler/dialects/nn/base/Elements.h"

using namespace mlir;

namespace npar::codegen {

namespace {

/// A dimension of a stored operand that windows walk: the entry is (sum of steps times positions - before) / spread.
struct Walked {
  int64_t size, stride, before, spread;
  StringAttr to, by; ///< the axes that move it
  int64_t toStep, byStep;

  bool has(StringAttr axis) const { return axis && (axis == to || axis == by); }
  int64_t step(StringAttr axis) const { return !has(axis) ? 0 : axis == to ? toStep : byStep; }
};

/// Says where the elements of an operand are stored.
struct Operand {
  Value base;
  int64_t offset = 0;
  llvm::MapVector<StringAttr, int64_t> strides; ///< of all axes of the operand; 0 for those that only windows move
  SmallVector<Walked, 2> windows;

  explicit Operand(Value value);

  bool has(StringAttr axis) const { return strides.contains(axis); }
  bool isWalked(StringAttr axis) const {
    return llvm::any_of(windows, [&](const Walked &window) { return window.has(axis); });
  }
  bool isSpread() const {
    return llvm::any_of(windows, [](const Walked &window) { return window.spread != 1; });
  }
  /// The distance of neighbours along the axis in memory, in elements.
  double reach(StringAttr axis) const {
    auto sum = double(strides.lookup(axis));
    for (const Walked &window : windows)
      sum += std::abs(double(window.step(axis))) * double(window.stride) / double(window.spread);
    return sum;
  }
};

/// The axes of a product without those of size 1.
struct Loops {
  SmallVector<StringAttr> batch, m, n, k;
};

} // namespace

/// The windows that an operand consists of; null for another operand, or if a product cannot walk them.
static nn::WindowsOp windowsOf(Value value) {
  auto windows = value.getDefiningOp<nn::WindowsOp>();
  if (!windows || isRenaming(windows) || windows.getOver().size() > 2 || !windows.getFill().isZero())
    return {};
  // Kernels know which positions a rank has, products do not.
  if (dist::LayoutAttr layout = dist::layoutOf(windows.getType()); layout && !windows.getLocal())
    for (auto to : windows.getTo().getAsRange<StringAttr>())
      if (!layout.splitsOf(layout.dimOf(to)).empty())
        return {};
  return windows;
}

Operand::Operand(Value value) {
  nn::WindowsOp op = windowsOf(value);
  View view(op ? op.getX() : value);
  base = view.base, offset = view.offset;
  for (StringAttr axis : nn::axesOf(value.getType()))
    strides[axis] = view.stride(axis);
  for (unsigned i = 0; op && i < op.getOver().size(); ++i) {
    StringAttr to = op.toAt(i), by = op.byAt(i);
    int64_t step = op.getStride()[i], entries = nn::sizeOf(op.getType(), by), inside = entries == 1 ? 0 : op.getDilation()[i];
    int64_t last = (nn::sizeOf(op.getType(), to) - 1) * step + (entries - 1) * inside;
    Walked walked{nn::sizeOf(op.getX().getType(), op.overAt(i)),
                  view.stride(op.overAt(i)),
                  op.getBefore()[i],
                  op.getSpread()[i],
                  to,
                  by,
                  step,
                  inside};
    if (walked.before == 0 && walked.spread == 1 && inside >= 0 && last < walked.size) { // never outside
      strides[to] += step * walked.stride;
      strides[by] += inside * walked.stride;
    } else {
      windows.push_back(walked);
    }
  }
}

/// The loops of the product, in no particular order; failure if an axis has no place in a product.
static FailureOr<Loops> productLoops(nn::EinsumOp op, const Operand &a, const Operand &b) {
  Loops loops;
  llvm::SmallSetVector<StringAttr, 8> axes;
  for (Type type : {op.getType(), op.getA().getType(), op.getB().getType()})
    axes.insert_range(nn::axesOf(type));
  for (StringAttr axis : axes) {
    bool inA = a.has(axis), inB = b.has(axis), inC = nn::hasAxis(op.getType(), axis);
    if (nn::sizeOf(inA ? op.getA().getType() : op.getB().getType(), axis) == 1)
      continue;
    if (inA && inB && inC && (a.isWalked(axis) || b.isWalked(axis)))
      return failure();
    if (!inC && !(inA && inB))
      return failure(); // a sum over one operand alone
    (inA && inB && inC ? loops.batch : inA && inC ? loops.m : inC ? loops.n : loops.k).push_back(axis);
  }
  return loops;
}

/// Returns whether the engine has this product (engine/program/MatmulCheck.cpp), and it has more than one row and column per group: its
/// tiles are too wide for one.
static bool isPossible(const Operand &a, const Operand &b, const Loops &loops) {
  constexpr size_t most = 8;
  if (b.isSpread() || std::max({loops.m.size(), loops.n.size(), loops.k.size()}) > most)
    return false;
  llvm::SmallDenseSet<StringAttr> moved;
  for (const Walked &window : a.windows) {
    if (window.spread == 1)
      continue;
    for (ArrayRef<StringAttr> axes : {ArrayRef(loops.m), ArrayRef(loops.k)}) {
      int count = 0;
      for (StringAttr axis : axes)
        if (window.step(axis) != 0 && (++count > 1 || !moved.insert(axis).second))
          return false;
    }
  }
  return loops.batch.empty() || (!loops.m.empty() && !loops.n.empty());
}

/// Makes the operand with windows B if the result has the positions inside windows (the gradient of a weight), because packing B is faster
/// then, and A otherwise. Only A can be spread out.
static void orderOperands(nn::EinsumOp op) {
  Operand a(op.getA()), b(op.getB());
  bool swaps = b.isSpread();
  if (!a.isSpread() && !b.isSpread()) {
    nn::WindowsOp inA = windowsOf(op.getA()), inB = windowsOf(op.getB());
    auto isInResult = [&](nn::WindowsOp windows) { return nn::hasAxis(op.getType(), windows.byAt(0)); };
    swaps = inA ? !inB && isInResult(inA) : !isInResult(inB);
  }
  if (!swaps)
    return;
  Value first = op.getA();
  op.getAMutable().assign(op.getB());
  op.getBMutable().assign(first);
}

/// Moves the axes of x that are summed over with its windows (of gradients of weights: that stay with them) behind all others: channels
/// last. Copying an image once is cheaper than collecting its windows element by element.
static void moveChannelsLast(nn::EinsumOp op, OpOperand &use) {
  nn::WindowsOp windows = windowsOf(use.get());
  if (!windows)
    return;
  bool staysInResult = nn::hasAxis(op.getType(), windows.byAt(0));
  Type x = windows.getX().getType();
  SmallVector<StringAttr> order, channels;
  StringAttr innermost;
  for (StringAttr axis : nn::axesOf(x)) {
    bool isChannel = !llvm::is_contained(windows.getOver(), axis) && nn::hasAxis(op.getType(), axis) == staysInResult;
    if (nn::sizeOf(x, axis) > 1)
      innermost = axis;
    (isChannel && nn::sizeOf(x, axis) > 1 ? channels : order).push_back(axis);
  }
  if (channels.empty() || innermost == channels.back())
    return;
  order.append(channels);
  auto moved = cast<nn::WindowsOp>(OpBuilder(op).clone(*windows));
  moved.getXMutable().assign(inOrder(moved, windows.getX(), order));
  use.set(moved);
}

/// Moves the positions inside windows, if they are innermost, in front of another axis: from [F, C, kh, kw] to [F, kh, kw, C].
static void moveWindowsInward(nn::EinsumOp op, OpOperand &use, nn::WindowsOp windows) {
  Type type = use.get().getType();
  SmallVector<StringAttr> inside, others;
  for (StringAttr axis : nn::axesOf(type))
    (llvm::is_contained(windows.getBy(), axis) ? inside : others).push_back(axis);
  auto isLoop = [&](StringAttr axis) { return nn::sizeOf(type, axis) > 1; };
  auto innermost = llvm::find_if(llvm::reverse(nn::axesOf(type)), isLoop);
  auto last = llvm::find_if(llvm::reverse(others), isLoop);
  if (last == others.rend() || *innermost == *last)
    return;
  others.insert(std::prev(last.base()), inside.begin(), inside.end());
  use.set(inOrder(op, use.get(), others));
}

/// The type of the result in which rows are a constant stride apart and columns contiguous: its own type if it is such.
static RankedTensorType storedType(nn::EinsumOp op, const Loops &loops) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<StringAttr> order, units;
  for (StringAttr axis : nn::axesOf(type))
    (nn::sizeOf(type, axis) > 1 ? order : units).push_back(axis);
  // Batch loops can be around the rows, or between them and the columns.
  auto isBatch = [&](StringAttr axis) { return llvm::is_contained(loops.batch, axis); };
  ArrayRef<StringAttr> rows = ArrayRef(order).drop_while(isBatch), columns = rows.drop_front(loops.m.size()).drop_while(isBatch);
  if (rows.take_front(loops.m.size()) == ArrayRef(loops.m) && columns == ArrayRef(loops.n))
    return type;
  order = units;
  order.append(loops.batch);
  order.append(loops.m);
  order.append(loops.n);
  return inOrder(type, order);
}

/// Axes of the product with their sizes.
struct Positions {
  Positions(nn::EinsumOp op, ArrayRef<StringAttr> loops) : axes(loops) {
    for (StringAttr axis : axes)
      sizes.push_back(nn::sizeOf(nn::hasAxis(op.getA().getType(), axis) ? op.getA().getType() : op.getB().getType(), axis));
    for (int64_t size : sizes)
      volume *= size;
  }
  /// Gives an empty list one position, along which nothing moves.
  void addUnit() {
    if (axes.empty())
      axes.push_back({}), sizes.push_back(1);
  }
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  int64_t volume = 1;
};

static rank::WalkedAttr walkedAttr(MLIRContext *context, const Operand &operand, const Positions &outer, const Positions &inner) {
  SmallVector<int64_t> strides;
  SmallVector<rank::WindowAttr> windows;
  auto axes = llvm::concat<const StringAttr>(outer.axes, inner.axes);
  for (StringAttr axis : axes)
    strides.push_back(operand.strides.lookup(axis));
  for (const Walked &walked : operand.windows) {
    SmallVector<int64_t> steps;
    for (StringAttr axis : axes)
      steps.push_back(walked.step(axis));
    windows.push_back(rank::WindowAttr::get(context, walked.size, walked.stride, walked.before, walked.spread, steps));
  }
  return rank::WalkedAttr::get(context, strides, windows);
}

/// Strides of batch loops, then of rows and columns.
static DenseI64ArrayAttr productStrides(OpBuilder &builder, const llvm::MapVector<StringAttr, int64_t> &strides, const Positions &batch,
                                        int64_t row, int64_t column) {
  SmallVector<int64_t> all;
  for (StringAttr axis : batch.axes)
    all.push_back(strides.lookup(axis));
  all.append({row, column});
  return builder.getDenseI64ArrayAttr(all);
}

static void writeProduct(nn::EinsumOp op, const Operand &a, const Operand &b, const Loops &loops) {
  Positions batch(op, loops.batch), m(op, loops.m), n(op, loops.n), k(op, loops.k);
  for (Positions *positions : {&m, &n, &k})
    positions->addUnit();
  RankedTensorType type = storedType(op, loops);
  bool isCopied = type != op.getType();
  Accumulation accumulation = isCopied ? Accumulation{} : accumulationOf(op);
  Operation *place = accumulation.sum ? accumulation.sum.getOperation() : op.getOperation();
  OpBuilder builder(place);
  MLIRContext *context = builder.getContext();
  llvm::MapVector<StringAttr, int64_t> cStrides;
  int64_t stride = 1;
  for (StringAttr axis : llvm::reverse(nn::axesOf(type))) {
    cStrides[axis] = stride;
    stride *= nn::sizeOf(type, axis);
  }
  int64_t cRow = loops.m.empty() ? n.volume : cStrides.lookup(loops.m.back());
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto matmul = rank::MatmulOp::create(
      builder, op.getLoc(), type, a.base, b.base, accumulation.variable, ValueRange(), builder.getDenseI64ArrayAttr(batch.sizes),
      i64(m.volume), i64(n.volume), i64(k.volume), productStrides(builder, a.strides, batch, 0, 0),
      productStrides(builder, b.strides, batch, 0, 0), productStrides(builder, cStrides, batch, cRow, 1), i64(a.offset), i64(b.offset),
      op.getTf32Attr(), UnitAttr(), builder.getF64FloatAttr(1),
      rank::WindowedAttr::get(context, m.sizes, n.sizes, k.sizes, walkedAttr(context, a, m, k), walkedAttr(context, b, k, n)));
  attributes::at.copy(op, matmul);
  Value result = isCopied ? inOrder(op, matmul, llvm::to_vector(nn::axesOf(op.getType()))) : matmul.getResult();
  (accumulation.sum ? accumulation.sum.getResult() : op.getResult()).replaceAllUsesWith(result);
  if (accumulation.sum)
    accumulation.sum.erase();
  op.erase();
}

bool rewriteWindowedProduct(nn::EinsumOp op) {
  if (!windowsOf(op.getA()) && !windowsOf(op.getB()))
    return false;
  orderOperands(op);
  FailureOr<Loops> loops = productLoops(op, Operand(op.getA()), Operand(op.getB()));
  if (failed(loops) || !isPossible(Operand(op.getA()), Operand(op.getB()), *loops))
    return false;
  OpOperand &first = op.getAMutable(), &second = op.getBMutable();
  nn::WindowsOp inA = windowsOf(first.get()), inB = windowsOf(second.get());
  inA ? moveChannelsLast(op, first) : moveWindowsInward(op, first, inB);
  inB ? moveChannelsLast(op, second) : moveWindowsInward(op, second, inA);
  // The innermost loops are those in which an operand with windows is contiguous.
  Operand a(first.get()), b(second.get());
  auto sort = [](SmallVector<StringAttr> &axes, const Operand &operand) {
    llvm::stable_sort(axes, [&](StringAttr x, StringAttr y) { return operand.reach(x) > operand.reach(y); });
  };
  sort(loops->m, a);
  sort(loops->n, b);
  sort(loops->k, inA ? a : b);
  writeProduct(op, a, b, *loops);
  return true;
}

} // namespace npar::codegen
