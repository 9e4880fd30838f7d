// The ops that a fragment's arithmetic is lowered to: launches of outlined kernels, library matrix products and attention, still on SSA
// tensors.
#ifndef NPAR_RANK_KERNEL_OPS
#define NPAR_RANK_KERNEL_OPS

include "compiler/dialects/rank/RankDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

def Rank_ExistingAttr : AttrDef<Rank_Dialect, "Existing"> {
  let mnemonic = "existing";
  let summary = "which routed rows of a kernel exist: it computes no others";
  let description = [{
    The kernel's last operand holds, for each sample and entry (expert), the row after the entry's last one; `ends` are its axes. The axis
    `row` has pieces of `places` rows, each for its part of the entries. Of a piece the rows before the greatest end exist. In the others
    the kernel's results are 0 with `clears`; without, the kernel leaves them as they are.
    ```mlir
    #rank.existing<row = "row", entry = "expert", ends = ["batch", "expert"], places = 16, clears = false>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$row, "::mlir::StringAttr":$entry, "::mlir::ArrayAttr":$ends, "int64_t":$places,
      "bool":$clears);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rank_WindowAttr : AttrDef<Rank_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "a dimension of an operand that a window walks (engine/program/Program.fbs, Window)";
  let parameters = (ins "int64_t":$size, "int64_t":$stride, "int64_t":$before, "int64_t":$spread, ArrayRefParameter<"int64_t">:$steps);
  let assemblyFormat = "`<` $size `by` $stride `,` `before` $before `,` `spread` $spread `,` `steps` `[` $steps `]` `>`";
}

def Rank_WalkedAttr : AttrDef<Rank_Dialect, "Walked"> {
  let mnemonic = "walked";
  let summary = "where the elements of an operand are: a stride of each position, and windows (engine/program/Program.fbs, WalkedOperand)";
  let parameters = (ins ArrayRefParameter<"int64_t">:$strides, OptionalArrayRefParameter<"WindowAttr">:$windows);
  let assemblyFormat = "`<` `[` $strides `]` (`,` $windows^)? `>`";
}

def Rank_WindowedAttr : AttrDef<Rank_Dialect, "Windowed"> {
  let mnemonic = "windowed";
  let summary = "sizes of the positions of m, n and k, and the walks of both operands (engine/program/Program.fbs, WindowedProduct)";
  let description = [{
    Rows of 2 x 8 x 8 positions of 3 x 3 windows with a border, times a matrix:
    ```mlir
    #rank.windowed<m [2, 8, 8], n [5], k [3, 3, 4],
        <[256, 0, 0, 0, 0, 1], <8 by 32, before 1, spread 1, steps [0, 1, 0, 1, 0, 0]>, <8 by 4, before 1, spread 1, steps [0, 0, 1, 0, 1, 0]>>,
        <[12, 4, 1, 36]>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$m, ArrayRefParameter<"int64_t">:$n, ArrayRefParameter<"int64_t">:$k,
      "WalkedAttr":$a, "WalkedAttr":$b);
  let assemblyFormat = "`<` `m` `[` $m `]` `,` `n` `[` $n `]` `,` `k` `[` $k `]` `,` $a `,` $b `>`";
}

def Rank_KernelOp : Rank_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a group of nn operations that runs as one generated loop nest";
  let description = [{
    The body holds nn prims on local tensors (types carry the layouts); block arguments are the operands, `rank.yield` names the results.
    It is compiled to `extern "C" void NAME(void *const *buffers, const int64_t *context, int64_t begin, int64_t end)`: buffers are the
    operands, then the results, each contiguous row-major; [begin, end) is any part of `extent` independent rows.
    `inplace` lists pairs [result, operand] that may share storage. `filled` is the part of the elements that exists on average, of routed
    rows; `flops` counts all. With `existing` the last operand tells which rows exist. A kernel that differs from another one in `filled`
    alone has no code of its own: `code` names the other.

    ```mlir
    rank.kernel @gelu_0 {extent = 256 : i64, flops = 1.0e+06 : f64, inplace = [array<i64: 0, 0>]} {
    ^bb0(%x: tensor<8x128x256xf32, #l>):
      %y = nn.gelu %x ...
      rank.yield %y : tensor<8x128x256xf32, #l>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$extent, F64Attr:$flops, DefaultValuedAttr<ArrayAttr, "{}">:$inplace,
      DefaultValuedAttr<F64Attr, "1.0">:$filled, OptionalAttr<Rank_ExistingAttr>:$existing,
      OptionalAttr<FlatSymbolRefAttr>:$code);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name of the function that computes the kernel.
    ::llvm::StringRef getFunction() { return getCode().value_or(getSymName()); }
    /// Pairs (result, operand) that may share storage.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getInplacePairs();
    ::mlir::TypeRange getOperandTypes() { return getBody().front().getArgumentTypes(); }
    ::mlir::TypeRange getResultTypes() { return getBody().front().getTerminator()->getOperandTypes(); }
  }];
}

def Rank_YieldOp : Rank_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Rank_LaunchOp : Rank_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel on tensors";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $outputs)";
}

def Rank_MatmulOp : Rank_Op<"matmul", [Pure, AttrSizedOperandSegments]> {
  let summary = "a strided matrix product, computed by a library";
  let description = [{
    `C[b][i][j] (+)= sum_k A[b][i][k] B[b][k][j]`, batch loops outermost. `a`, `b` and `c` hold element strides: one per batch loop, then
    row stride, then column stride; an operand's offset counts elements from its first. C's column stride is 1; A and B have one unit
    stride among row and column. With an accumulate operand, which may share the result's storage, the product is added to it. With `tf32`
    operands, of f32, are rounded to TF32 (RULES.md#N8).
    With `ranges`, first and last, the product is grouped by the rows of C or, with `depth`, by those that are summed over; the batch loops
    are samples and groups (engine/program/Program.fbs, Matmul). `filled` is the part of the rows that belongs to a group on average.
    With `windowed`, it tells where the elements of A and B are, and their strides of rows and columns are 0.
    ```mlir
    %c = rank.matmul %a, %b {batch = array<i64>, m = 256, n = 768, k = 768, a = array<i64: 768, 1>, ...} : (...) -> ...
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, Optional<AnyRankedTensor>:$accumulator, Variadic<AnyRankedTensor>:$ranges,
      DenseI64ArrayAttr:$batch,
      I64Attr:$m, I64Attr:$n, I64Attr:$k, DenseI64ArrayAttr:$a, DenseI64ArrayAttr:$b, DenseI64ArrayAttr:$c,
      DefaultValuedAttr<I64Attr, "0">:$a_offset, DefaultValuedAttr<I64Attr, "0">:$b_offset, UnitAttr:$tf32, UnitAttr:$depth,
      DefaultValuedAttr<F64Attr, "1.0">:$filled, OptionalAttr<Rank_WindowedAttr>:$windowed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs (`accumulate` $accumulator^)? (`grouped` $ranges^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Multiply-adds counted twice. In a grouped product each row meets one group.
    double getFlops();
    ::npar::program::Grouping getGrouping();
  }];
}

// Operands are described by strides. `strides` has, for each operand and then for each result, the element strides of the batch loops
// (outermost first), of the heads of a group and of its rows; `offsets` is the number of elements before the first one of each operand. If
// a causal mask must know which rows of the sequence a rank has, `pieces` names the mesh axes that split the sequence. The keys are the
// whole sequence or, with `step`, the piece of the member `step` places before this one on the ring of these axes. `zigzag`: the number of
// ranks of the sequence's zigzag order (0: logical order).
//
// Each row sees at most `back` keys before it and `ahead` keys after it, so that whole blocks are skipped. With `other` the keys are those
// of another sequence. `causal` and `other` together: the keys were kept from the rows' own sequence, and the operand before the data holds
// the position of the first row. `kernels` change the scores, in blocks of `scoreRows` rows (engine/program/Attentions.h). Each takes
// scores, the positions of queries and of keys, and the data, which are the step's last operands. `data` describes the data and then the
// results for their slopes. Each entry consists of the strides of the batch loops, of heads, of queries and of keys (-1 if it lacks queries
// or keys), its number of keys, the entries of a table (0: not a table), and the number of the datum whose slope it is (-1: not a slope).
class Rank_AttentionBase<string mnemonic, list<Trait> traits = []> : Rank_Op<mnemonic, !listconcat([Pure], traits)> {
  dag sizes = (ins DenseI64ArrayAttr:$batch, I64Attr:$heads, I64Attr:$rows, I64Attr:$keys, I64Attr:$features, I64Attr:$values,
      F64Attr:$scale, UnitAttr:$causal, UnitAttr:$other, OptionalAttr<StrArrayAttr>:$pieces, OptionalAttr<I64Attr>:$step,
      DefaultValuedOptionalAttr<I64Attr, "0">:$zigzag, OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "kernels">>:$kernels,
      OptionalAttr<I64Attr>:$back, OptionalAttr<I64Attr>:$ahead,
      OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "places of data">>:$data,
      TypedArrayAttrBase<DenseI64ArrayAttr, "strides of each operand and result">:$strides,
      DenseI64ArrayAttr:$offsets, F64Attr:$flops);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rank_AttentionOp : Rank_AttentionBase<"attention"> {
  let summary = "softmax attention in one step, which never stores a matrix of rows by keys";
  let description = [{
    For each index of `batch`, one head of k and v and the `heads` heads of q that attend to it: q [heads, rows, features], k [keys, features],
    v [keys, values], out [heads, rows, values], lse [heads, rows]. `out = softmax(scale * q k^T) v`, causal where keys after a row are left
    out, and `lse` the logarithm of the softmax's sum. Features, values and the whole of lse for an index are contiguous. Of keys that come in
    several steps the softmax so far goes from one to the next, as the fourth operand and the only result: [heads, rows, values + 2], contiguous.
    With `kernels` the first of them makes new scores of scores, and where probabilities are dropped their factors.
    ```mlir
    %out, %lse = rank.attention %q, %k, %v {batch = array<i64: 2, 4>, causal, heads = 3, rows = 8, keys = 8, features = 16, values = 16,
        scale = 0.25, strides = [array<i64: 1536, 48, 16, 192>, array<i64: 512, 16, 0, 64>, ...], offsets = array<i64: 0, 0, 0>, ...} : (...)
        -> (...)
    ```
  }];
  let arguments = !con((ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, Variadic<AnyRankedTensor>:$further), sizes);
  let results = (outs Variadic<AnyRankedTensor>:$made);
  let extraClassDeclaration = [{
    /// Returns whether this is the last step, which yields out and lse.
    bool ends() { return getMade().size() == 2; }
    unsigned getDataCount() { return getData() ? getData()->size() : 0; }
    /// The softmax state of the previous step, or null.
    ::mlir::Value getBefore() {
      return !isPlaced() && getFurther().size() > getDataCount() ? ::mlir::Value(getFurther().front()) : ::mlir::Value();
    }
    /// Returns whether an operand holds the position of the first row.
    bool isPlaced() { return getCausal() && getOther(); }
  }];
}

def Rank_AttentionGradOp : Rank_AttentionBase<"attention_grad"> {
  let summary = "the gradients of rank.attention's operands in one step";
  let description = [{
    From what rank.attention had and made, and the gradient of its first result. Those of k and v are sums over the heads. With `partly`,
    of keys that come in several steps, they are f32 (f64 of f64).
    With `kernels` the first is rank.attention's with rows of keys, the second makes gradients of scores, of new scores' gradients, which it
    takes last, and for each slope what is to be added up, and of a table to which entries.
    ```mlir
    %dq, %dk, %dv = rank.attention_grad %q, %k, %v, %out, %dout, %lse {...} : (...) -> (...)
    ```
  }];
  let arguments = !con((ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, AnyRankedTensor:$out, AnyRankedTensor:$dout,
                            AnyRankedTensor:$lse, Variadic<AnyRankedTensor>:$further), !con(sizes, (ins UnitAttr:$partly)));
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv, Variadic<AnyRankedTensor>:$slopes);
  let extraClassDeclaration = [{
    unsigned getDataCount() { return getFurther().size(); }
  }];
}

def Rank_SquareSumOp : Rank_Op<"square_sum", [Pure]> {
  let summary = "one parameter's sums of squares, one per block of 1,024 elements, in f64; inside kernels";
  let description = [{
    Blocks are consecutive elements of this rank's piece in row-major order. Within a block, lane `l` of 16 adds the squares of elements
    `l`, `l + 16`, ... in ascending order, then lanes `i` and `i + 8`, then `i` and `i + 4`, and so on (`laneTree`). All sums are 0 on ranks
    whose coordinate is not 0 along some mesh axis of `replicas`. Padding has to be zero. Of several gradients, those of a parameter's
    uses, it is the sum's squares: they are added element by element in their order, as nn.combine does, and the sum is stored nowhere.
    ```mlir
    %s = rank.square_sum %g {replicas = ["tp"]} : (tensor<5000xf32, #nn.axes<embed>>) -> tensor<5xf64, #nn.axes<block>>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, StrArrayAttr:$replicas);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$gradients attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    static constexpr int64_t blockSize() { return 1024; }
  }];
}

def Rank_BinSumsOp : Rank_Op<"bin_sums", [Pure]> {
  let summary = "block sums of all operands added exactly, in the bins of nn.square_sums; inside kernels";
  let description = [{
    A block sum's bits are cut into multiples of the bins' units, from the highest bin that it reaches down; infinity and NaN go whole to the
    last bin.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$sums);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Rank_ContextOp : Rank_Op<"context", [Pure]> {
  let summary = "a run-time value of the rank: data step, micro index, seed, a mesh coordinate or a number of the run";
  let description = [{
    Appears only inside kernels while they are lowered. Fields are words of the context array, in this order: `step`, `micro`, `seed`, then
    one coordinate per mesh axis: `word` 0, 1, 2, 3 + axis. The words after these are numbers of the run, the bits of f64
    (engine/program/RateWords.h).
  }];
  let arguments = (ins I64Attr:$word);
  let results = (outs I64:$result);
  let assemblyFormat = "$word attr-dict";
}

#endif
