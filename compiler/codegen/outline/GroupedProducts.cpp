// Writes grouped products as strided products of samples and groups, with the ranges of rows that belong to each group.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/ops/Integer.h"

#include "llvm/ADT/DenseMap.h"

#include <tuple>

using namespace mlir;

namespace npar::codegen {

using Axes = SmallVector<StringAttr>;

namespace {
/// A tensor's stride along each role of a grouped product; a role without axes in the tensor has stride 0.
struct RoleStrides {
  int64_t samples = 0, group = 0, row = 0, left = 0, right = 0;
};

/// The axes of a grouped product by their roles: samples, the group, the row, and the features of the left and the right operand. In
/// nn.grouped `left` is summed over, in nn.grouped_weights the row is.
struct Roles {
  Axes samples, group, row, left, right;

  static int64_t sizeOf(Type type, const Axes &axes) {
    int64_t size = 1;
    for (StringAttr axis : axes)
      size *= nn::sizeOf(type, axis);
    return size;
  }
};
} // namespace

static Axes joined(std::initializer_list<Axes> lists) {
  Axes all;
  for (const Axes &list : lists)
    all.append(list);
  return all;
}

/// The stride of axes that are walked as one, the last one innermost; none if they are not adjacent.
static std::optional<int64_t> strideAlong(const View &view, Type type, const Axes &axes) {
  int64_t stride = 0, size = 1;
  for (StringAttr axis : llvm::reverse(axes)) {
    int64_t extent = nn::sizeOf(type, axis);
    if (extent <= 1) // or the tensor lacks it
      continue;
    if (size > 1 && view.stride(axis) != stride * size)
      return std::nullopt;
    if (size == 1)
      stride = view.stride(axis);
    size *= extent;
  }
  return stride;
}

static std::optional<RoleStrides> stridesOf(const View &view, Type type, const Roles &roles) {
  RoleStrides strides;
  for (auto [stride, axes] :
       {std::pair(&strides.samples, &roles.samples), std::pair(&strides.group, &roles.group), std::pair(&strides.row, &roles.row),
        std::pair(&strides.left, &roles.left), std::pair(&strides.right, &roles.right)}) {
    std::optional<int64_t> found = strideAlong(view, type, *axes);
    if (!found)
      return std::nullopt;
    *stride = *found;
  }
  return strides;
}

/// One matrix of a product: strides of the batch loops, of rows and of columns, and the numbers of rows and columns.
struct Matrix {
  int64_t samples, group, row, column, rows, columns;

  /// A loop of one iteration has stride 1 where the other has not.
  void settle() {
    if (columns == 1)
      column = row == 1 ? std::max<int64_t>(rows, 1) : 1;
    if (rows == 1)
      row = column == 1 ? std::max<int64_t>(columns, 1) : 1;
  }
  bool hasUnit() const { return row == 1 || column == 1; }
  SmallVector<int64_t> strides() const { return {samples, group, row, column}; }
};

/// An operand as it is stored, or a copy in the order of the roles where no strides fit. `matrixOf` takes the strides of roles.
static Matrix operandOf(Operation *op, View &view, Value value, const Roles &roles, const Axes &order,
                        llvm::function_ref<Matrix(const RoleStrides &)> matrixOf) {
  for (int attempt = 0;; ++attempt) {
    if (std::optional<RoleStrides> strides = stridesOf(view, value.getType(), roles)) {
      Matrix matrix = matrixOf(*strides);
      matrix.settle();
      if (matrix.hasUnit() || attempt > 0)
        return matrix;
    }
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(value.getType());
    auto copy = nn::BroadcastOp::create(builder, op->getLoc(), inOrder(type, order), value);
    attributes::at.copy(op, copy);
    value = copy;
    view = View(value);
  }
}

namespace {
/// Ranges of rows that count from the first row of a piece, as those of the `rows` rows from `offset` on. The products of a round share
/// them.
class RangesOfRounds {
public:
  Value within(Operation *op, Value ranges, int64_t offset, int64_t rows) {
    Value &known = made[{ranges, offset, rows}];
    if (!known)
      known = cut(op, ranges, offset, rows);
    return known;
  }

private:
  static Value cut(Operation *op, Value ranges, int64_t offset, int64_t rows) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Type type = ranges.getType();
    auto placed = [&](auto value) {
      attributes::at.copy(op, value);
      return value->getResult(0);
    };
    auto constant = [&](int64_t value) {
      return placed(nn::FillOp::create(builder, loc, nn::scalarOf(builder.getI32Type()), builder.getF64FloatAttr(double(value))));
    };
    auto less = [&](Value a, Value b) { return placed(nn::CompareOp::create(builder, loc, type, a, b, "less")); };
    auto select = [&](Value condition, Value a, Value b) { return placed(nn::WhereOp::create(builder, loc, type, condition, a, b)); };
    Value zero = constant(0), end = constant(rows);
    Value number = placed(nn::IntegerOp::create(builder, loc, type, ranges, constant(offset), "sub"));
    Value begun = select(less(number, zero), zero, number);
    return select(less(end, begun), end, begun);
  }

  llvm::DenseMap<std::tuple<Value, int64_t, int64_t>, Value> made;
};
} // namespace

template <typename Op>
static void replaceByProduct(Op op, const View &left, const View &right, const Matrix &a, const Matrix &b, const Matrix &c,
                             const Roles &roles, int64_t rowCount, bool depth, RangesOfRounds &rounds) {
  Accumulation accumulation = depth ? accumulationOf(op) : Accumulation{};
  OpBuilder builder(accumulation.sum ? accumulation.sum.getOperation() : op.getOperation());
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto array = [&](ArrayRef<int64_t> values) { return builder.getDenseI64ArrayAttr(values); };
  Type first = op.getFirst().getType();
  Axes order = joined({roles.samples, roles.group});
  SmallVector<Value> ranges;
  for (Value each : {op.getFirst(), op.getLast()})
    ranges.push_back(inOrder(op, op.getOffset() ? rounds.within(op, each, *op.getOffset(), rowCount) : each, order));
  auto matmul =
      rank::MatmulOp::create(builder, op.getLoc(), op.getType(), left.base, right.base, accumulation.variable, ranges,
                             array({Roles::sizeOf(first, roles.samples), Roles::sizeOf(first, roles.group)}), i64(c.rows), i64(c.columns),
                             i64(a.columns), array(a.strides()), array(b.strides()), array(c.strides()), i64(left.offset),
                             i64(right.offset), op.getTf32Attr(), depth ? builder.getUnitAttr() : UnitAttr(), op.getFilledAttr(),
                             /*windowed=*/rank::WindowedAttr());
  attributes::at.copy(op, matmul);
  if (accumulation.sum) {
    accumulation.sum.replaceAllUsesWith(matmul.getResult());
    accumulation.sum.erase();
  } else {
    op.replaceAllUsesWith(matmul.getResult());
  }
  op.erase();
}

/// The axes of samples and of the group, from the ranges.
template <typename Op> static Roles commonRoles(Op op) {
  Roles roles;
  for (StringAttr axis : nn::axesOf(op.getFirst().getType()))
    (axis == op.getAxisAttr() ? roles.group : roles.samples).push_back(axis);
  roles.row = {op.getRowAttr()};
  return roles;
}

/// The axes of `type` that no other role has and that `holds` accepts.
static Axes featuresOf(Type type, const Roles &roles, llvm::function_ref<bool(StringAttr)> holds) {
  Axes others = joined({roles.samples, roles.group, roles.row}), features;
  for (StringAttr axis : nn::axesOf(type))
    if (!llvm::is_contained(others, axis) && holds(axis))
      features.push_back(axis);
  return features;
}

// [S,R,K] x [G,K,N] -> [S,R,N]
static bool rewriteGrouped(nn::GroupedOp op, RangesOfRounds &rounds) {
  Type rowsType = op.getRows().getType(), weightsType = op.getWeights().getType(), type = op.getType();
  Roles roles = commonRoles(op);
  roles.left = featuresOf(weightsType, roles, [&](StringAttr axis) { return !nn::hasAxis(type, axis); });
  roles.right = featuresOf(type, roles, [](StringAttr) { return true; });
  int64_t rows = nn::sizeOf(rowsType, op.getRowAttr()), depth = Roles::sizeOf(rowsType, roles.left),
          columns = Roles::sizeOf(type, roles.right);
  View left(op.getRows()), right(op.getWeights()), result(op.getResult());
  std::optional<RoleStrides> made = stridesOf(result, type, roles);
  if (!made || (columns > 1 && made->right != 1))
    return false;
  Matrix a = operandOf(op, left, op.getRows(), roles, joined({roles.samples, roles.row, roles.left}),
                       [&](const RoleStrides &s) { return Matrix{s.samples, 0, s.row, s.left, rows, depth}; });
  Matrix b = operandOf(op, right, op.getWeights(), roles, joined({roles.group, roles.left, roles.right}),
                       [&](const RoleStrides &s) { return Matrix{0, s.group, s.left, s.right, depth, columns}; });
  Matrix c{made->samples, 0, rows == 1 ? columns : made->row, 1, rows, columns};
  replaceByProduct(op, left, right, a, b, c, roles, rows, /*depth=*/false, rounds);
  return true;
}

// [S,R,M] x [S,R,N] -> [G,M,N]
static bool rewriteGroupedWeights(nn::GroupedWeightsOp op, RangesOfRounds &rounds) {
  Value first = op.getA(), second = op.getB();
  Type type = op.getType();
  Roles roles = commonRoles(op);
  auto rolesOfFeatures = [&] {
    roles.left = featuresOf(type, roles, [&](StringAttr axis) { return nn::hasAxis(first.getType(), axis); });
    roles.right = featuresOf(type, roles, [&](StringAttr axis) { return nn::hasAxis(second.getType(), axis); });
  };
  rolesOfFeatures();
  View result(op.getResult());
  std::optional<RoleStrides> made = stridesOf(result, type, roles);
  if (!made)
    return false;
  // C's contiguous axis must be one of columns.
  if (Roles::sizeOf(type, roles.right) > 1 && made->right != 1) {
    std::swap(first, second);
    std::swap(made->left, made->right);
    rolesOfFeatures();
  }
  int64_t depth = nn::sizeOf(first.getType(), op.getRowAttr()), rows = Roles::sizeOf(type, roles.left),
          columns = Roles::sizeOf(type, roles.right);
  if (columns > 1 && made->right != 1)
    return false;
  View left(first), right(second);
  Matrix a = operandOf(op, left, first, roles, joined({roles.samples, roles.row, roles.left}),
                       [&](const RoleStrides &s) { return Matrix{s.samples, 0, s.left, s.row, rows, depth}; });
  Matrix b = operandOf(op, right, second, roles, joined({roles.samples, roles.row, roles.right}),
                       [&](const RoleStrides &s) { return Matrix{s.samples, 0, s.row, s.right, depth, columns}; });
  Matrix c{0, made->group, rows == 1 ? columns : made->left, 1, rows, columns};
  replaceByProduct(op, left, right, a, b, c, roles, depth, /*depth=*/true, rounds);
  return true;
}

/// Returns whether this rank has one of the pieces of the rows.
template <typename Op> static bool isInPieces(Op op, Value rows) {
  dist::LayoutAttr layout = dist::layoutOf(rows.getType());
  int64_t global = layout ? layout.getSizes()[layout.dimOf(op.getRowAttr())] : nn::sizeOf(rows.getType(), op.getRowAttr());
  return nn::sizeOf(rows.getType(), op.getRowAttr()) * int64_t(op.getPieces()) == global;
}

LogicalResult rewriteGroupedProducts(Block &block) {
  RangesOfRounds rounds;
  SmallVector<Operation *> products; // sums that go into them are erased
  for (Operation &op : block)
    if (isa<nn::GroupedOp, nn::GroupedWeightsOp>(op))
      products.push_back(&op);
  for (Operation *op : products) {
    auto grouped = dyn_cast<nn::GroupedOp>(op);
    auto weights = dyn_cast<nn::GroupedWeightsOp>(op);
    if ((grouped && !isInPieces(grouped, grouped.getRows())) || (weights && !isInPieces(weights, weights.getA())))
      return op->emitOpError("has rows in pieces for other ranks than the plan's");
    if ((grouped && !rewriteGrouped(grouped, rounds)) || (weights && !rewriteGroupedWeights(weights, rounds)))
      return op->emitOpError("has a result in an order that no product writes");
  }
  return success();
}

} // namespace npar::codegen
