// Ring attention: keys and values travel past the queries, and no rank ever holds all of them (Liu et al. 2023, "Ring Attention with
// Blockwise Transformers"). In zigzag order with a causal mask every rank computes half of every step, so that the work is balanced
// (Brandon et al. 2023, "Striped Attention"; the zigzag order is Llama 3's).
//
// With n ranks, rank i holds the keys of rank j = (i - t) mod n at step t. Each step is an nn.ring_attention, which skips what the
// positions of its keys mask. In natural order it skips all of the step or nothing. In zigzag order rank i has the chunks i ("early") and 2
// n - 1 - i ("late") of 2 n, so that at every step t > 0 two of four products remain:
//
//            keys of j:  early   late
//   early queries of i   j < i   never
//   late queries of i    always  j > i
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/Rules.h"
#include "compiler/passes/place/expand/Expand.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {
namespace {

/// The values that travel round the ring together: keys, values and the data that have keys but no queries.
struct Pair {
  Value k, v;
  SmallVector<Value> data = {};
};

/// Works on both attention and its gradient.
template <typename Op> class Ring {
public:
  explicit Ring(Op op) : op(op), b(op), seq(op.getSeqAttr()), key(op.getKeyAttr()), wide(getElementTypeOrSelf(op.getLse().getType())) {
    LayoutAttr layout = dist::layoutOf(op.getQ());
    axes = layout.splitsOf(layout.dimOf(seq));
    members = dist::meshOf(op).sizeOf(axes);
    isBalanced = op.getCausal() && dist::zigzagOf(op, seq) == members;
  }

  /// Out and lse.
  SmallVector<Value> forward() {
    Pair keys{op.getK(), op.getV(), travellers()}, next;
    Value state;
    for (int64_t step = 0;; ++step, keys = next) {
      bool isLast = step + 1 == members;
      if (!isLast)
        next = shift(keys); // on its way while this one is worked on
      SmallVector<Type> types(op->getResultTypes());
      if (!isLast)
        types = {stateType()};
      SmallVector<Value> further = dataWith(keys.data);
      if (state)
        further.insert(further.begin(), state);
      auto made = nn::RingAttentionOp::create(b.builder, op.getLoc(), types, op.getQ(), keys.k, keys.v, further, seq, op.getFeatureAttr(),
                                              op.getCausalAttr(), op.getScaleAttr(), op.getKeysAttr(), op.getKeyAttr(), op.getScoresAttr(),
                                              ring(), number(step), balanced());
      copyAt(made);
      if (isLast)
        return llvm::to_vector<2>(ValueRange(made.getMade()));
      state = made.getMade().front();
    }
  }

  /// Gradients of q, k and v, then of the data: each is a sum over the steps, in at least float32.
  SmallVector<Value> backward(Value dout, Value out) {
    Pair keys{op.getK(), op.getV(), travellers()}, next, sums; // the sums are on their way with the keys
    Value dq;
    SmallVector<Value> slopes(op->getNumResults() - 3);
    sums.data.resize(slopes.size());
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(nn::withElement(type, wide));
    for (int64_t step = 0; step < members; ++step, keys = next) {
      if (step + 1 < members)
        next = shift(keys);
      auto here = nn::RingAttentionGradOp::create(b.builder, op.getLoc(), types, op.getQ(), keys.k, keys.v, out, dout, op.getLse(),
                                                  dataWith(keys.data), seq, op.getFeatureAttr(), op.getCausalAttr(), op.getScaleAttr(),
                                                  op.getKeysAttr(), op.getKeyAttr(), op.getScoresAttr(), slopeNumbers(), ring(),
                                                  number(step), balanced());
      copyAt(here);
      dq = add(dq, here.getDq());
      sums.k = add(sums.k, here.getDk()), sums.v = add(sums.v, here.getDv());
      for (auto [index, slope] : llvm::enumerate(here.getSlopes())) {
        Value &sum = travels(slope) ? sums.data[index] : slopes[index];
        sum = add(sum, slope);
      }
      if (members > 1)
        sums = shift(sums); // the last time: home
    }
    SmallVector<Value> gradients, all{dq, sums.k, sums.v};
    for (auto [stayed, moved] : llvm::zip(slopes, sums.data))
      all.push_back(stayed ? stayed : moved);
    for (auto [sum, type] : llvm::zip(all, op->getResultTypes()))
      gradients.push_back(b.convert(sum, getElementTypeOrSelf(type)));
    return gradients;
  }

private:
  /// Data of keys, and of no queries, are those of a rank's own keys.
  bool travels(Value datum) { return nn::hasAxis(datum.getType(), op.getDataAxis()) && !nn::hasAxis(datum.getType(), seq); }
  SmallVector<Value> travellers() {
    return llvm::filter_to_vector(ValueRange(op.getData()), [&](Value datum) { return travels(datum); });
  }
  /// All data, with those that have come by.
  SmallVector<Value> dataWith(ArrayRef<Value> moved) {
    SmallVector<Value> all = llvm::to_vector(ValueRange(op.getData()));
    size_t next = 0;
    for (Value &datum : all)
      if (travels(datum))
        datum = moved[next++];
    return all;
  }
  DenseI64ArrayAttr slopeNumbers() { return op.getSlopedAttr(); }

  ArrayAttr ring() { return dist::stringArray(op.getContext(), axes); }
  IntegerAttr number(int64_t step) { return b.builder.getI64IntegerAttr(step); }
  UnitAttr balanced() { return isBalanced ? b.builder.getUnitAttr() : UnitAttr(); }

  void copyAt(Operation *made) {
    if (auto at = nn::getAt(op))
      nn::setAt(made, at);
  }

  /// The type of the softmax state, which holds for each row of lse: sums of exponentials times values, their maximum, their sum.
  Type stateType() {
    LayoutAttr rows = dist::layoutOf(op.getLse());
    SmallVector<StringAttr> names(rows.getNames());
    SmallVector<int64_t> sizes(rows.getSizes());
    SmallVector<SmallVector<StringAttr>> splits;
    for (size_t dim = 0; dim < names.size(); ++dim)
      splits.push_back(rows.splitsOf(dim));
    names.push_back(b.builder.getStringAttr(seq.getValue() + ".state"));
    sizes.push_back(nn::sizeOf(op.getV().getType(), op.getFeatureAttr()) + 2);
    splits.emplace_back();
    return dist::localType(wide, dist::makeLayout(op.getContext(), names, sizes, splits), dist::meshOf(op));
  }

  Value shift(Value x) {
    auto cause = dist::CauseAttr::get(op.getContext(), program::CauseKind::PassesRound, b.builder.getStringAttr("attention"), {},
                                      b.builder.getArrayAttr({key, seq}), b.builder.getStrArrayAttr({"", ""}), {}, {});
    auto moved = dist::PermuteOp::create(b.builder, op.getLoc(), x.getType(), x, ring(), 1, cause);
    if (SmallVector<Attribute> rules = namedRules(op, seq, axes); !rules.empty())
      attributes::causingRules.set(moved, rules);
    copyAt(moved);
    return moved.getResult();
  }
  Pair shift(const Pair &pair) {
    Pair moved{shift(pair.k), shift(pair.v)};
    for (Value datum : pair.data)
      moved.data.push_back(datum ? shift(datum) : Value());
    return moved;
  }

  Value add(Value sum, Value x) { return sum ? b.binary("add", sum, x, sum.getType()) : x; }

  Op op;
  LocalBuilder b;
  StringAttr seq, key;
  Type wide;
  SmallVector<StringAttr> axes; ///< mesh axes that split the sequence: the ring
  int64_t members;
  bool isBalanced;
};

} // namespace

void expandRing(nn::AttentionOp op) {
  op->replaceAllUsesWith(Ring<nn::AttentionOp>(op).forward());
  op->erase();
}

void expandRing(nn::AttentionGradOp op) {
  op->replaceAllUsesWith(Ring<nn::AttentionGradOp>(op).backward(op.getDout(), op.getOut()));
  op->erase();
}

} // namespace npar::place
