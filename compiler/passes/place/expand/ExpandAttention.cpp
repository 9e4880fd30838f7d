// softmax, attention and their gradients as local operations; k and v go under the alias `key` of the sequence. Blocked attention is local
// as it is.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/expand/Expand.h"

using namespace mlir;

namespace npar::place {

/// exp(x - max) / sum: the maximum cancels but keeps exp in range.
static Value softmax(LocalBuilder &b, Value x, StringAttr axis, Type result) {
  Value e = b.unary("exp", b.binary("sub", x, b.max(x, axis)));
  return b.binary("div", e, b.sum(e, axis), result);
}

/// y (dy - sum dy y)
static Value softmaxGradient(LocalBuilder &b, Value y, Value dy, StringAttr axis, Type result) {
  Value dot = b.sum(b.binary("mul", dy, y), axis);
  return b.binary("mul", y, b.binary("sub", dy, dot), result);
}

static void expandSoftmax(nn::SoftmaxOp op) {
  LocalBuilder b(op);
  op->replaceAllUsesWith(ValueRange{softmax(b, op.getX(), op.getAxisAttr(), op.getY().getType())});
  op->erase();
}

static void expandSoftmaxGrad(nn::SoftmaxGradOp op) {
  LocalBuilder b(op);
  op->replaceAllUsesWith(ValueRange{softmaxGradient(b, op.getY(), op.getDy(), op.getAxisAttr(), op.getDx().getType())});
  op->erase();
}

/// Scores and their softmax are f32 where the products take 16-bit floats.
template <typename Op> static Type softmaxType(Op op) { return nn::widened(op.getQ().getType()); }

static void expandAttention(nn::AttentionOp op) {
  if (op.getBlocked())
    return;
  if (op.getRing())
    return expandRing(op);
  LocalBuilder b(op);
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr();
  Value k = b.rename(op.getK(), seq, key), v = b.rename(op.getV(), seq, key);
  Value scores = b.scale(b.einsum(op.getQ(), k, nn::axesOf(op.getProbs().getType()), softmaxType(op)), op.getScale().convertToDouble());
  if (op.getCausal())
    scores = b.build("causal_mask", scores.getType(), scores, {{"query", seq}, {"key", key}});
  Type result = op.getProbs().getType();
  Value probs = b.convert(softmax(b, scores, key, nn::withElement(result, softmaxType(op))), getElementTypeOrSelf(result));
  Value out = b.build("einsum", op.getOut().getType(), {probs, v});
  op->replaceAllUsesWith(ValueRange{out, probs});
  op->erase();
}

/// Masked positions have probability 0, so nothing flows through them without another mask. Where the queries are split and the keys whole,
/// the gradients of keys and values are partial.
static void expandAttentionGrad(nn::AttentionGradOp op) {
  if (op.getBlocked())
    return;
  if (op.getRing())
    return expandRing(op);
  LocalBuilder b(op);
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr();
  Value k = b.rename(op.getK(), seq, key), v = b.rename(op.getV(), seq, key), probs = op.getProbs();
  // Gradients of keys and values are summed over the groups of queries: partial if the groups are split.
  Value dv = b.build("einsum", b.renamed(op.getDv().getType(), seq, key), {probs, op.getDout()});
  Type wide = nn::withElement(probs.getType(), softmaxType(op));
  Value dprobs = b.build("einsum", wide, {op.getDout(), v});
  Value gradient = softmaxGradient(b, b.convert(probs, softmaxType(op)), dprobs, key, wide);
  Value dscores = b.convert(b.scale(gradient, op.getScale().convertToDouble()), getElementTypeOrSelf(probs.getType()));
  Value dq = b.build("einsum", op.getDq().getType(), {dscores, k});
  Value dk = b.build("einsum", b.renamed(op.getDk().getType(), seq, key), {dscores, op.getQ()});
  op->replaceAllUsesWith(ValueRange{dq, b.rename(dk, key, seq), b.rename(dv, key, seq)});
  op->erase();
}

void attachAttention(MLIRContext *context) {
  nn::SoftmaxOp::attachInterface<ExpandedBy<nn::SoftmaxOp, expandSoftmax>>(*context);
  nn::SoftmaxGradOp::attachInterface<ExpandedBy<nn::SoftmaxGradOp, expandSoftmaxGrad>>(*context);
  nn::AttentionOp::attachInterface<ExpandedBy<nn::AttentionOp, expandAttention>>(*context);
  nn::AttentionGradOp::attachInterface<ExpandedBy<nn::AttentionGradOp, expandAttentionGrad>>(*context);
}

} // namespace npar::place
