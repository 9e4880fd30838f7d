// Ring attention: keys and values travel past the queries, and nobody ever holds all of them (Liu et al. 2023, "Ring Attention with
// Blockwise Transformers"). In zigzag order with a causal mask each rank computes half of every step, and all the same (Brandon et al.
// 2023, "Striped Attention"; the zigzag order is Llama 3's).
//
// With n ranks, at step t rank i holds the keys of rank j = (i - t) mod n. In natural order they are masked by global positions. In zigzag
// order rank i has the chunks i ("early") and 2 n - 1 - i ("late") of 2 n. Then at every step t > 0, without any mask:
//
//            keys of j:  early   late
//   early queries of i   j < i   never          so late x early always, and besides, chosen by the own coordinate,
//   late queries of i    always  j > i          early x early or late x late
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/Rules.h"
#include "compiler/passes/place/expand/Expand.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {
namespace {

/// The running softmax of some rows of queries: exp(scores - max) summed over the keys so far, and times their values.
struct Rows {
  Value max, sum, out;
};

/// A block of keys with their values, or a half of one.
struct Keys {
  Value k, v;
};

/// What the gradients of some rows of queries need: [rows, feature], [rows, feature], [rows], [rows].
struct Queries {
  Value q, dout, lse, dot;
};

struct Gradients {
  Value dq, dk, dv;
};

/// Works on both attention and its gradient. "Rows" are queries, under the name of the sequence (all of this rank) or of a half of it;
/// blocks of keys have their own name and are no split axis: a block is what one rank has.
template <typename Op> class Ring {
public:
  explicit Ring(Op op)
      : op(op), b(op), layout(dist::layoutOf(op.getQ())), mesh(dist::meshOf(op)), seq(op.getSeqAttr()), key(op.getKeyAttr()),
        half(named("half")), halfRow(named("row")), axes(layout.splitsOf(layout.dimOf(seq))), members(mesh.sizeOf(axes)) {
    Type element = getElementTypeOrSelf(op.getQ().getType());
    narrow = element;
    wide = element.getIntOrFloatBitWidth() < 32 ? Type(b.builder.getF32Type()) : element;
    balanced = op.getCausal() && members > 1 && dist::zigzagOf(op, seq) == members;
  }

  // --- forward ---

  Rows forward() {
    Keys piece{op.getK(), op.getV()}, next;
    Rows rows, early, late;
    Value earlyQ, lateQ;
    for (int64_t step = 0; step < members; ++step, piece = next) {
      if (step + 1 < members)
        next = shift(piece); // on its way while this one is worked on
      if (!balanced || step == 0) {
        rows = attend(op.getQ(), block(piece), rows, step);
        continue;
      }
      if (step == 1) {
        early = part(rows, 0), late = part(rows, 1);
        earlyQ = queryHalf(op.getQ(), 0), lateQ = queryHalf(op.getQ(), 1);
      }
      Keys earlyKeys = part(piece, 0), lateKeys = part(piece, 1);
      late = attend(lateQ, earlyKeys, late, -1);
      Rows before = choose(early, late, step);
      Keys keys = choose(earlyKeys, lateKeys, step);
      Rows chosen = attend(choose(earlyQ, lateQ, step), keys, before, -1);
      early = choose(chosen, early, step);
      late = choose(late, chosen, step);
    }
    if (balanced)
      rows = {join(early.max, late.max, rows.max), join(early.sum, late.sum, rows.sum), join(early.out, late.out, rows.out)};
    return rows;
  }

  Value lse(const Rows &rows, Type type) { return b.binary("add", b.unary("log", rows.sum), rows.max, type); }
  Value out(const Rows &rows, Type type) {
    Value quotient = b.binary("div", rows.out, rows.sum);
    return quotient.getType() == type ? quotient : b.build("convert", type, quotient);
  }

  // --- backward ---

  Gradients backward(Value dout, Value out, Value lse) {
    // The softmax's gradient: p (dp - sum of p dp), and the sum is that of dout out over the features.
    Value dot = b.sum(b.binary("mul", widened(dout), widened(out)), op.getFeatureAttr(), lse.getType());
    Queries all{op.getQ(), dout, lse, dot}, early, late;
    Keys piece{op.getK(), op.getV()}, next;
    Gradients sums; // of keys and values: on their way with them
    Value earlyDq, lateDq;
    for (int64_t step = 0; step < members; ++step, piece = next) {
      if (step + 1 < members)
        next = shift(piece);
      if (!balanced || step == 0) {
        Gradients here = differentiate(all, block(piece), step);
        sums = {add(sums.dq, here.dq), add(sums.dk, pieceOf(here.dk, piece.k)), add(sums.dv, pieceOf(here.dv, piece.v))};
      } else {
        if (step == 1) {
          early = part(all, 0), late = part(all, 1);
          earlyDq = queryHalf(sums.dq, 0), lateDq = queryHalf(sums.dq, 1);
        }
        Keys earlyKeys = part(piece, 0), lateKeys = part(piece, 1);
        Gradients always = differentiate(late, earlyKeys, -1);
        Queries queries = choose(early, late, step);
        Gradients chosen = differentiate(queries, choose(earlyKeys, lateKeys, step), -1);
        lateDq = add(lateDq, always.dq);
        addChosen(earlyDq, lateDq, chosen.dq, step);
        sums.dk = gathered(sums.dk, always.dk, chosen.dk, step);
        sums.dv = gathered(sums.dv, always.dv, chosen.dv, step);
      }
      if (members > 1) {
        Keys moved = shift(Keys{sums.dk, sums.dv}); // the last time: home
        sums.dk = moved.k, sums.dv = moved.v;
      }
    }
    if (balanced)
      sums.dq = join(earlyDq, lateDq, sums.dq);
    return sums;
  }

  Value narrowed(Value x, Type type) { return x.getType() == type ? x : b.build("convert", type, x); }

private:
  StringAttr named(StringRef part) { return b.builder.getStringAttr(seq.getValue() + "." + part); }

  // --- blocks of keys and halves of them ---

  /// `axis` becomes `to` of the given sizes, which nothing splits.
  LayoutAttr renamed(LayoutAttr from, StringAttr axis, ArrayRef<StringAttr> to, ArrayRef<int64_t> sizes) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> all;
    SmallVector<SmallVector<StringAttr>> splits;
    for (auto [dim, name] : llvm::enumerate(from.getNames())) {
      if (name != axis) {
        names.push_back(name), all.push_back(from.getSizes()[dim]), splits.push_back(from.splitsOf(dim));
        continue;
      }
      names.append(to.begin(), to.end());
      all.append(sizes.begin(), sizes.end());
      splits.append(to.size(), {});
    }
    return dist::makeLayout(op.getContext(), names, all, splits);
  }

  Value reshaped(Value x, LayoutAttr to) {
    Type type = dist::localType(getElementTypeOrSelf(x.getType()), to, mesh);
    return x.getType() == type ? x : b.build("reshape", type, x);
  }

  Value block(Value x) { return reshaped(x, renamed(dist::layoutOf(x), seq, {key}, {nn::sizeOf(x.getType(), seq)})); }
  Keys block(const Keys &piece) { return {block(piece.k), block(piece.v)}; }
  /// A block's value as this rank's piece of the sequence.
  Value pieceOf(Value x, Value like) { return reshaped(x, dist::layoutOf(like)); }

  Value halfOf(Value x, int64_t index, StringAttr row) {
    int64_t size = nn::sizeOf(x.getType(), seq) / 2;
    LayoutAttr from = dist::layoutOf(x);
    Value halves = reshaped(x, renamed(from, seq, {half, row}, {2, size}));
    Type type = dist::localType(getElementTypeOrSelf(x.getType()), renamed(from, seq, {row}, {size}), mesh);
    return b.build("select", type, halves, {{"axis", half}, {"index", b.builder.getI64IntegerAttr(index)}});
  }
  Value queryHalf(Value x, int64_t index) { return halfOf(x, index, halfRow); }
  Value keyHalf(Value x, int64_t index) { return halfOf(x, index, key); }

  Value joinHalves(Value early, Value late, Value like, StringAttr row) {
    LayoutAttr to = dist::layoutOf(like);
    LayoutAttr halves = renamed(to, seq, {half, row}, {2, nn::sizeOf(early.getType(), row)});
    Type type = dist::localType(getElementTypeOrSelf(early.getType()), halves, mesh);
    return reshaped(b.build("stack", type, {early, late}, {{"axis", half}}), to);
  }
  Value join(Value early, Value late, Value like) { return joinHalves(early, late, like, halfRow); }

  Keys part(const Keys &piece, int64_t index) { return {keyHalf(piece.k, index), keyHalf(piece.v, index)}; }
  Rows part(const Rows &rows, int64_t index) {
    return {queryHalf(rows.max, index), queryHalf(rows.sum, index), queryHalf(rows.out, index)};
  }
  Queries part(const Queries &all, int64_t index) {
    return {queryHalf(all.q, index), queryHalf(all.dout, index), queryHalf(all.lse, index), queryHalf(all.dot, index)};
  }

  // --- what differs between ranks ---

  Value shift(Value x) {
    auto cause = dist::CauseAttr::get(op.getContext(), program::CauseKind::PassesRound, b.builder.getStringAttr("attention"), {},
                                      b.builder.getArrayAttr({key, seq}), b.builder.getStrArrayAttr({"", ""}), {}, {});
    auto moved = dist::PermuteOp::create(b.builder, op.getLoc(), x.getType(), x, dist::stringArray(op.getContext(), axes), 1, cause);
    if (SmallVector<Attribute> rules = namedRules(op, seq, axes); !rules.empty())
      moved->setAttr(ruleAttrName, b.builder.getArrayAttr(rules));
    if (auto at = nn::getAt(op))
      nn::setAt(moved, at);
    return moved.getResult();
  }

  Keys shift(const Keys &piece) { return {shift(piece.k), shift(piece.v)}; }

  /// `early` where the keys are those of an earlier rank, else `late`.
  Value choose(Value early, Value late, int64_t step) {
    auto chosen =
        dist::ChooseOp::create(b.builder, op.getLoc(), early.getType(), early, late, dist::stringArray(op.getContext(), axes), step);
    if (auto at = nn::getAt(op))
      nn::setAt(chosen, at);
    return chosen.getResult();
  }
  Keys choose(const Keys &early, const Keys &late, int64_t step) { return {choose(early.k, late.k, step), choose(early.v, late.v, step)}; }
  Rows choose(const Rows &early, const Rows &late, int64_t step) {
    return {choose(early.max, late.max, step), choose(early.sum, late.sum, step), choose(early.out, late.out, step)};
  }
  Queries choose(const Queries &early, const Queries &late, int64_t step) {
    return {choose(early.q, late.q, step), choose(early.dout, late.dout, step), choose(early.lse, late.lse, step),
            choose(early.dot, late.dot, step)};
  }
  /// Adds to the half that was chosen.
  void addChosen(Value &early, Value &late, Value chosen, int64_t step) {
    Value sum = add(choose(early, late, step), chosen);
    early = choose(sum, early, step);
    late = choose(late, sum, step);
  }
  /// A sum over keys of this rank's piece, with what the early half gets always and what the chosen one gets.
  Value gathered(Value sum, Value always, Value chosen, int64_t step) {
    Value early = add(keyHalf(sum, 0), always), late = keyHalf(sum, 1);
    addChosen(early, late, chosen, step);
    return joinHalves(early, late, sum, key);
  }

  // --- arithmetic: products in the tensors' type, sums in at least float32 ---

  Value widened(Value x) { return converted(x, wide); }
  Value converted(Value x, Type element) {
    return getElementTypeOrSelf(x.getType()) == element ? x : b.build("convert", nn::withElement(x.getType(), element), x);
  }
  Value add(Value sum, Value x) { return sum ? b.binary("add", sum, x, sum.getType()) : x; }
  Value product(Value x, Value y, ArrayRef<StringAttr> names) {
    Value left = converted(x, narrow), right = converted(y, narrow);
    return widened(b.einsum(left, right, names));
  }

  /// The axes of `like` with the sequence under the name that `rows` has for it.
  SmallVector<StringAttr> axesLike(Value like, Value rows) {
    SmallVector<StringAttr> names(nn::axesOf(like.getType()));
    if (!nn::hasAxis(rows.getType(), seq))
      llvm::replace(names, seq, halfRow);
    return names;
  }

  /// scale q k, masked by positions; `step` -1: nothing is masked.
  Value scores(Value q, Value k, int64_t step) {
    SmallVector<StringAttr> names = axesLike(op.getLse(), q);
    names.push_back(key);
    Value scores = b.scale(product(q, k, names), op.getScale().convertToDouble());
    if (!op.getCausal() || step < 0)
      return scores;
    return b.build(
        "causal_mask", scores.getType(), scores,
        {{"query", seq}, {"key", key}, {"ring", dist::stringArray(op.getContext(), axes)}, {"step", b.builder.getI64IntegerAttr(step)}});
  }

  Rows attend(Value q, const Keys &keys, const Rows &before, int64_t step) {
    Value scores = this->scores(q, keys.k, step), max = b.max(scores, key);
    if (before.max)
      max = b.binary("max2", before.max, max);
    Value weights = b.unary("exp", b.binary("sub", scores, max));
    Rows rows{max, b.sum(weights, key), product(weights, keys.v, axesLike(op.getOut(), q))};
    if (!before.max)
      return rows;
    Value decay = b.unary("exp", b.binary("sub", before.max, max));
    rows.sum = b.binary("add", b.binary("mul", before.sum, decay), rows.sum);
    rows.out = b.binary("add", b.binary("mul", before.out, decay), rows.out);
    return rows;
  }

  Gradients differentiate(const Queries &rows, const Keys &keys, int64_t step) {
    Value probs = b.unary("exp", b.binary("sub", scores(rows.q, keys.k, step), rows.lse));
    Value dprobs = product(rows.dout, keys.v, nn::axesOf(probs.getType()));
    Value dscores = b.scale(b.binary("mul", probs, b.binary("sub", dprobs, rows.dot)), op.getScale().convertToDouble());
    return {product(dscores, keys.k, nn::axesOf(rows.q.getType())), product(dscores, rows.q, nn::axesOf(keys.k.getType())),
            product(probs, rows.dout, nn::axesOf(keys.v.getType()))};
  }

  Op op;
  LocalBuilder b;
  LayoutAttr layout;
  dist::MeshAttr mesh;
  StringAttr seq, key, half, halfRow;
  SmallVector<StringAttr> axes; ///< of the mesh that split the sequence: the ring
  int64_t members;
  Type narrow, wide;
  bool balanced = false;
};

} // namespace

void expandRing(nn::AttentionOp op) {
  Ring<nn::AttentionOp> ring(op);
  Rows rows = ring.forward();
  Value out = ring.out(rows, op.getOut().getType()), lse = ring.lse(rows, op.getLse().getType());
  op->replaceAllUsesWith(ValueRange{out, lse});
  op->erase();
}

void expandRing(nn::AttentionGradOp op) {
  Ring<nn::AttentionGradOp> ring(op);
  Gradients gradients = ring.backward(op.getDout(), op.getOut(), op.getLse());
  op->replaceAllUsesWith(ValueRange{ring.narrowed(gradients.dq, op.getDq().getType()), ring.narrowed(gradients.dk, op.getDk().getType()),
                                    ring.narrowed(gradients.dv, op.getDv().getType())});
  op->erase();
}

} // namespace npar::place
