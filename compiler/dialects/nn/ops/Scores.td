// Formulas by which attention changes scores between product and softmax; kernels are generated from them.
#ifndef NPAR_NN_SCORES_TD
#define NPAR_NN_SCORES_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_ScoresOp : Nn_Op<"scores", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "the formula by which an attention changes its scores";
  let description = [{
    Arguments of the body are the scores of some queries and keys, the queries' positions, the keys' positions, and one for each of the
    attention's `data`, without what is one value for all of the scores (samples, heads): of the axes of queries and keys, which are called
    `score.query` and `score.key` here, those that it has, or `score.table`, of a table that nn.gather looks positions up in. The result is the scores that go into the softmax, minus infinity where a key is
    not seen, and where probabilities are dropped a second one: 0, or what a probability that is kept is multiplied by.

    No query sees keys that stand more than `back` before it, or more than `ahead` after it, where these are given.

    Sizes are those of one score; codegen/outline makes blocks of them.
    ```mlir
    nn.scores @formula_0 {
    ^bb0(%x: tensor<1x1xf32, #nn.axes<score.query, score.key>>, %i: tensor<1xi32, #nn.axes<score.query>>,
         %j: tensor<1xi32, #nn.axes<score.key>>, %slope: tensor<f32, #nn.axes<>>):
      %d = nn.integer "sub" %j, %i : ..
      %f = nn.to_float %d : ..
      %b = nn.mul %f, %slope : ..
      %y = nn.add %x, %b : ..
      nn.scores_yield %y : tensor<1x1xf32, #nn.axes<score.query, score.key>>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$back, OptionalAttr<I64Attr>:$ahead);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extra = [{
    /// Arguments before those of `data`.
    static constexpr unsigned positions = 3;
    /// Axes of the body: no axis of a text can be called so.
    static constexpr ::llvm::StringLiteral query = "score.query", keys = "score.key", table = "score.table";
  }];
}

def Nn_ScoresYieldOp : Nn_Op<"scores_yield", [Pure, Terminator, HasParent<"ScoresOp">]> {
  let summary = "changed scores, and the factors of probabilities";
  let arguments = (ins Variadic<Nn_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Nn_ScoreDropoutOp : Nn_PureOp<"score_dropout", [Nn_Lowerable]> {
  let summary = "0 for a probability that is dropped, 1 / (1 - rate) for one that is kept";
  let description = [{
    Drawn as nn.dropout draws, at the place of the probability in the whole model: `row` numbers samples of the micro-batch and heads,
    `rows` are there in it, i and j are the positions of query and key, of `queries` and `keys`.
  }];
  let arguments = (ins Nn_Integer:$row, Nn_Integer:$i, Nn_Integer:$j, F64Attr:$rate, StrAttr:$site, I64Attr:$rows, I64Attr:$queries,
                       I64Attr:$keys);
  let results = (outs Nn_Float:$result);
}

#endif
