// Attention: softmax(scale * q k) v, one op through autodiff and placing (RULES.md#P5).
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "compiler/dialects/nn/ops/Scores.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Attention.cpp.inc"

void nn::addAttention(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Attention.cpp.inc"
      >(dialect);
}

static bool isPlaced(Type type) { return !llvm::isa<AxesAttr>(llvm::cast<RankedTensorType>(type).getEncoding()); }

/// The name of the second result and of the corresponding operand: the probabilities, or the logarithms of their sums.
template <typename Op> static StringRef kept(Op op) { return op.keepsLse() ? "lse" : "probs"; }

/// Axes of q that probs (or lse) lacks: q and k are multiplied over them.
static SmallVector<StringAttr> contractedAxes(Type q, Type probs) {
  SmallVector<StringAttr> axes;
  for (StringAttr name : axesOf(q))
    if (!hasAxis(probs, name))
      axes.push_back(name);
  return axes;
}

static LogicalResult requireAxes(Operation *op, Type type, StringRef what, ArrayRef<StringAttr> axes, StringRef where) {
  for (StringAttr name : axes)
    if (failed(requireAxis(op, type, what, name)))
      return failure();
  for (StringAttr name : axesOf(type))
    if (!llvm::is_contained(axes, name))
      return op->emitOpError() << "axis '" << name.getValue() << "' of " << what << " is missing in " << where;
  return success();
}

/// Verifies the result that is kept for the backward pass: probs or lse.
template <typename Op> static LogicalResult verifyKept(Op op) {
  Type q = op.getQ().getType(), type = op.getProbs().getType();
  if (failed(requireAxis(op, type, kept(op), op.getSeqAttr())) || failed(requireNoAxis(op, type, kept(op), op.getFeatureAttr())))
    return failure();
  if (!op.keepsLse())
    return failure(failed(requireSameElement(op, {q, type})) || failed(requireAxis(op, type, "probs", op.getKeyAttr())));
  for (StringAttr name : axesOf(type))
    if (!hasAxis(q, name))
      return op.emitOpError() << "axis '" << name.getValue() << "' of lse is missing in q";
  return success();
}

// q: [.., seq, heads, groups, contracted], k: [.., seq, heads, contracted], v: [.., seq, heads, feature], probs: [.., heads, groups, seq,
// key], lse: [.., heads, groups, seq]. With `keys` k and v have that axis in the place of seq.
template <typename Op> static LogicalResult verifyShapes(Op op, bool isPlacedByData = false) {
  Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType(), probs = op.getProbs().getType();
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr(), feature = op.getFeatureAttr(), keys = op.getKeyAxis();
  bool isOther = keys != seq;
  if (failed(requireSameElement(op, {q, k, v})) || failed(verifyKept(op)) || failed(requireNoAxis(op, q, "q", key)))
    return failure();
  if (isOther ? failed(requireNoAxis(op, q, "q", keys)) || failed(requireNoAxis(op, k, "k", seq))
              : failed(requireWithin(op, k, "k", q, "q")))
    return failure();
  SmallVector<StringAttr> rows, heads; // of q and of k without what is contracted
  for (StringAttr name : axesOf(probs)) {
    if (name == key)
      continue;
    rows.push_back(name);
    if (hasAxis(k, name))
      heads.push_back(name);
  }
  if (isOther)
    heads.push_back(keys);
  SmallVector<StringAttr> contracted = contractedAxes(q, probs), queries(rows), looked(heads), values(heads);
  if (contracted.empty())
    return op.emitOpError() << "q and k have no axis to be multiplied over: " << kept(op) << " has all axes of q";
  queries.append(contracted);
  looked.append(contracted);
  values.push_back(feature);
  if (failed(requireAxes(op, q, "q", queries, kept(op))) || failed(requireAxis(op, k, "k", keys)) ||
      failed(requireAxes(op, k, "k", looked, "q")) || failed(requireAxes(op, v, "v", values, "k")))
    return failure();
  // After placing the queries may be split while the keys are whole.
  int64_t size = sizeOf(q, seq), alias = op.keepsLse() ? sizeOf(k, keys) : sizeOf(probs, key);
  if (isOther && op.getCausal() && !isPlacedByData)
    return op.emitOpError("is causal over the keys of another sequence");
  if (!isOther && !op.getRing() && !isPlaced(q) && size != alias)
    return op.emitOpError() << "axis '" << seq.getValue() << "' has size " << size << " but its alias '" << key.getValue() << "' has "
                            << alias;
  return op.getRing() && op.getBlocked() ? op.emitOpError("is both 'ring' and 'blocked'") : success();
}

/// out has the axes of the queries' rows, and the feature.
template <typename Op> static LogicalResult verifyOut(Op op, Type out, StringRef what) {
  SmallVector<StringAttr> axes;
  for (StringAttr name : axesOf(op.getProbs().getType()))
    if (name != op.getKeyAttr())
      axes.push_back(name);
  axes.push_back(op.getFeatureAttr());
  return requireAxes(op, out, what, axes, kept(op));
}

/// Verifies that `sloped` numbers existing floating-point data, and that there is a formula of scores if there are data.
template <typename Op> static LogicalResult verifyData(Op op, size_t bare) {
  ValueRange data = op.getData();
  if (!op.getScores() && data.size() != bare)
    return op.emitOpError() << "has " << data.size() << " data and no 'scores'";
  for (int64_t number : op.getSlopeNumbers())
    if (number < 0 || number >= static_cast<int64_t>(data.size()) || !isa<FloatType>(getElementTypeOrSelf(data[number].getType())))
      return op.emitOpError() << "has a slope for number " << number << " of " << data.size() << " data";
  return success();
}

/// The number of `data` in the imported form, a bias and a mask; 0 once `scores` holds their formula.
static size_t bareData(AttentionOp op) { return size_t(op.getBiased().value_or(false)) + size_t(op.getMasked().value_or(false)); }

/// Verifies that attention over kept keys has the positions of its queries as the last of `data`.
static LogicalResult verifyPositions(AttentionOp op) {
  if (!op.getKeysAttr() || !op.getCausal())
    return success();
  Type last = op.getData().empty() ? Type() : op.getData().back().getType();
  if (last && op.getBlocked() && !axesOf(last).empty() && axesOf(last).back() == op.getSeqAttr() &&
      getElementTypeOrSelf(last).isInteger(32))
    return success();
  return op.emitOpError()
         << "is causal over the keys of another sequence: it must be 'blocked', with the positions of the queries as its last datum";
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyPositions(*this)))
    return failure();
  bool isPlacedByData = bool(getPositions());
  return failure(failed(verifyShapes(*this, isPlacedByData)) || failed(verifyData(*this, bareData(*this) + size_t(isPlacedByData))) ||
                 failed(verifyOut(*this, getOut().getType(), "out")));
}
LogicalResult AttentionGradOp::verify() {
  if (keepsLse() && !getOut())
    return emitOpError() << "with '" << (getRing() ? "ring" : "blocked") << "' needs 'out'";
  if (getScores() && !keepsLse())
    return emitOpError() << "with 'scores' needs 'ring' or 'blocked'";
  if (failed(verifyData(*this, 0)))
    return failure();
  if (getSlopes().size() != getSlopeNumbers().size())
    return emitOpError() << "makes " << getSlopes().size() << " slopes, must make " << getSlopeNumbers().size();
  return failure(failed(verifyShapes(*this)) || failed(verifyOut(*this, getDout().getType(), "dout")) ||
                 (getOut() && failed(verifyOut(*this, getOut().getType(), "out"))) ||
                 failed(requireSameOrder(*this, getDq().getType(), "dq", getQ().getType(), "q")) ||
                 failed(requireSameOrder(*this, getDk().getType(), "dk", getK().getType(), "k")) ||
                 failed(requireSameOrder(*this, getDv().getType(), "dv", getV().getType(), "v")));
}

// The probabilities; `ring` and `blocked` are not decided in the language.
SmallVector<Type> AttentionOp::getFurtherTypes(RankedTensorType out, DictionaryAttr attributes) {
  auto seq = attributes.getAs<StringAttr>("seq"), feature = attributes.getAs<StringAttr>("feature");
  auto keys = attributes.getAs<IntegerAttr>("key_count");
  RankedTensorType rows = withoutAxes(out, {seq, feature});
  SmallVector<StringAttr> names(axesOf(rows));
  SmallVector<int64_t> sizes(rows.getShape());
  names.append({seq, attributes.getAs<StringAttr>("key")});
  sizes.append({sizeOf(out, seq), keys ? keys.getInt() : sizeOf(out, seq)});
  return {withAxes(out.getElementType(), names, sizes)};
}

// Heads, groups and what is before them are parallel; the gradients of k and v are sums over the groups. The keys of another sequence are
// known by their alias alone; what tables of `data` have besides is whole.
template <typename Op> static SmallVector<LoopAxis> loopAxes(Op op) {
  Type probs = op.getProbs().getType();
  SmallVector<LoopAxis> axes;
  for (LoopAxis axis : defaultLoopAxes(op)) {
    bool isRow = hasAxis(probs, axis.name) && axis.name != op.getKeyAttr();
    if (axis.name == op.getSeqAttr())
      axis.kind = LoopKind::Context;
    else if (!isRow)
      axis.kind = LoopKind::Whole;
    if (axis.name != op.getKeysAttr() && axis.name != op.getKeyAttr())
      axes.push_back(axis);
  }
  if (!op.getRing() || op.getKeysAttr() || !op.getData().empty())
    axes.push_back({op.getKeyAttr(), LoopKind::Whole});
  return axes;
}
SmallVector<LoopAxis> AttentionOp::getLoopAxes() { return loopAxes(*this); }
SmallVector<LoopAxis> AttentionGradOp::getLoopAxes() { return loopAxes(*this); }

// k and v, their gradients as well, have the sequence under its alias; on a ring each rank has the keys of its own queries, or of another
// sequence a share like that of the queries (Rules.cpp).
template <typename Op> static StringAttr loopOfKey(Op op, StringAttr axis) {
  if (axis != op.getKeyAxis())
    return axis;
  return op.getRing() && !op.getKeysAttr() ? axis : op.getKeyAttr();
}

/// With a ring, data travel with the keys that they belong to, except those that also have queries, which are stored for all keys. The op
/// stores the numbers of these, because a value stored in shares does not show its axes.
template <typename Op> static StringAttr loopOfDatum(Op op, int64_t number, StringAttr axis) {
  if (axis != op.getDataAxis())
    return axis;
  if (!op.getRing())
    return op.getKeyAttr();
  auto paired = attributes::pairedData.get(op);
  bool isPaired = paired && llvm::is_contained(paired.asArrayRef(), number);
  return isPaired ? axis : op.getKeysAttr() ? op.getKeyAttr() : op.getSeqAttr();
}

StringAttr AttentionOp::loopOfOperand(unsigned operand, StringAttr axis) {
  if (operand >= 3)
    return loopOfDatum(*this, operand - 3, axis);
  return operand == 0 ? axis : loopOfKey(*this, axis);
}
StringAttr AttentionOp::loopOfResult(unsigned, StringAttr axis) { return axis; }
StringAttr AttentionGradOp::loopOfOperand(unsigned operand, StringAttr axis) {
  if (operand >= 6)
    return loopOfDatum(*this, operand - 6, axis);
  return operand == 1 || operand == 2 ? loopOfKey(*this, axis) : axis;
}
StringAttr AttentionGradOp::loopOfResult(unsigned result, StringAttr axis) {
  if (result >= 3)
    return loopOfDatum(*this, getSlopeNumbers()[result - 3], axis);
  return result == 1 || result == 2 ? loopOfKey(*this, axis) : axis;
}

/// Pairs of a query and a key, in all heads, for which something is computed: what is masked is left out, query by query. Where the queries
/// are split, of the rank that has the last ones.
template <typename Op> static double pairs(Op op) {
  double kept = static_cast<double>(llvm::cast<RankedTensorType>(op.getProbs().getType()).getNumElements());
  double keys = op.keepsLse() ? static_cast<double>(sizeOf(op.getK().getType(), op.getKeyAxis())) : 1;
  double queries = static_cast<double>(sizeOf(op.getQ().getType(), op.getSeqAttr()));
  return kept * (op.getBlocked() && op.getCausal() ? keys - (std::min(queries, keys) - 1) / 2 : keys);
}

template <typename Op> static double contractedSize(Op op) {
  double size = 1;
  for (StringAttr axis : contractedAxes(op.getQ().getType(), op.getProbs().getType()))
    size *= static_cast<double>(sizeOf(op.getQ().getType(), axis));
  return size;
}

/// Floating-point operations of products, per pair of positions: `contracted` products with q or k, `values` products with v.
template <typename Op> static double productFlops(Op op, int contracted, int values) {
  return 2 * pairs(op) * (contracted * contractedSize(op) + values * static_cast<double>(sizeOf(op.getV().getType(), op.getFeatureAttr())));
}

// The forward pass has two products; the backward has four, or five if it recomputes the scores; each also has the softmax. An attention
// that is repeated for its probabilities only computes the scores.
double AttentionOp::getFlops() { return productFlops(*this, 1, 1) + 7 * pairs(*this); }
double AttentionGradOp::getFlops() { return getProductFlops() + 6 * pairs(*this); }
double AttentionOp::getProductFlops() { return productFlops(*this, 1, getBlocked() || !getOut().use_empty()); }
double AttentionGradOp::getProductFlops() { return productFlops(*this, getBlocked() ? 3 : 2, 2); }

// The gradients of k and v are sums over the groups and over the sequence, that of q is one over the keys. Data change nothing where dout
// is 0.
bool AttentionGradOp::needsZeroPadding(unsigned operand, StringAttr axis) {
  if (operand >= 6)
    return false;
  return isContracted(*this, operand, axis) || axis == getSeqAttr() || !hasAxis(getK().getType(), axis);
}

/// The gradient of a datum for each sample and head: the axes of lse but seq, and its own.
static Type slopeType(AttentionOp op, Type datum) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto add = [&](Type type) {
    for (auto [name, size] : llvm::zip(axesOf(type), llvm::cast<RankedTensorType>(type).getShape()))
      if (!llvm::is_contained(names, name))
        names.push_back(name), sizes.push_back(size);
  };
  add(withoutAxes(llvm::cast<RankedTensorType>(op.getLse().getType()), {op.getSeqAttr()}));
  add(datum);
  return withAxes(getElementTypeOrSelf(op.getLse().getType()), names, sizes);
}

SmallVector<Value> AttentionOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1]) {
    emitOpError() << "no gradient flows through the probabilities";
    return {};
  }
  SmallVector<Value> further;
  if (keepsLse())
    further.push_back(getOut());
  llvm::append_range(further, getData());
  SmallVector<Type> types = {getQ().getType(), getK().getType(), getV().getType()};
  for (int64_t number : getSlopeNumbers())
    types.push_back(slopeType(*this, getData()[number].getType()));
  auto grad = AttentionGradOp::create(builder, getLoc(), types, getQ(), getK(), getV(), getProbs(), gradients[0], further, getSeqAttr(),
                                      getKeyAttr(), getFeatureAttr(), getCausalAttr(), getScaleAttr(), getKeysAttr(), getScoresAttr(),
                                      getSlopedAttr(), getRingAttr(), getBlockedAttr());
  attributes::pairedData.copy(*this, grad);
  SmallVector<Value> all = {grad.getDq(), grad.getDk(), grad.getDv()};
  all.resize(getNumOperands());
  for (auto [number, slope] : llvm::zip(getSlopeNumbers(), grad.getSlopes())) {
    auto datum = llvm::cast<RankedTensorType>(getData()[number].getType());
    Value sum = reduceTo(builder, getLoc(), slope, withElement(datum, getElementTypeOrSelf(slope.getType())));
    all[3 + number] = sum.getType() == datum ? sum : ConvertOp::create(builder, getLoc(), datum, sum).getResult();
  }
  return all;
}
