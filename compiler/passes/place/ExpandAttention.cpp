// softmax, attention and their gradients as local operations; k and v go under the alias `key` of the sequence.
#include "compiler/passes/place/LocalBuilder.h"

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

void expand(nn::SoftmaxOp op) {
  LocalBuilder b(op);
  op->replaceAllUsesWith(ValueRange{softmax(b, op.getX(), op.getAxisAttr(), op.getY().getType())});
  op->erase();
}

void expand(nn::SoftmaxGradOp op) {
  LocalBuilder b(op);
  op->replaceAllUsesWith(ValueRange{softmaxGradient(b, op.getY(), op.getDy(), op.getAxisAttr(), op.getDx().getType())});
  op->erase();
}

void expand(nn::AttentionOp op) {
  LocalBuilder b(op);
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr();
  Value k = b.rename(op.getK(), seq, key), v = b.rename(op.getV(), seq, key);
  Value scores = b.scale(b.einsum(op.getQ(), k, nn::axesOf(op.getProbs().getType())), op.getScale().convertToDouble());
  if (op.getCausal())
    scores = b.build("causal_mask", scores.getType(), scores, {{"query", seq}, {"key", key}});
  Value probs = softmax(b, scores, key, op.getProbs().getType());
  Value out = b.build("einsum", op.getOut().getType(), {probs, v});
  op->replaceAllUsesWith(ValueRange{out, probs});
  op->erase();
}

/// Masked positions have probability 0, so nothing flows through them without another mask.
void expand(nn::AttentionGradOp op) {
  LocalBuilder b(op);
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr();
  Value k = b.rename(op.getK(), seq, key), v = b.rename(op.getV(), seq, key), probs = op.getProbs();
  // Summed over the groups of queries: partial where those are split.
  auto aliased = [&](Value gradient) { return b.renamed(gradient.getType(), seq, key); };
  Value dv = b.build("einsum", aliased(op.getDv()), {probs, op.getDout()});
  Value dprobs = b.build("einsum", probs.getType(), {op.getDout(), v});
  Value dscores = b.scale(softmaxGradient(b, probs, dprobs, key, probs.getType()), op.getScale().convertToDouble());
  Value dq = b.build("einsum", op.getDq().getType(), {dscores, k});
  Value dk = b.build("einsum", aliased(op.getDk()), {dscores, op.getQ()});
  op->replaceAllUsesWith(ValueRange{dq, b.rename(dk, key, seq), b.rename(dv, key, seq)});
  op->erase();
}

} // namespace npar::place
