// The code generator's pass.
#ifndef NPAR_CODEGEN_PASSES
#define NPAR_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def ExportOutlineKernels : Pass<"export-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "turns the arithmetic of fragments into library products, attention and launches of fused kernels";
  let description = [{
    In each `pipe.fragment` and `func.func`: `nn.accumulate` becomes read, add, write; `nn.einsum`, but for float64, becomes `rank.matmul`, and
    blocked `nn.attention` and `nn.ring_attention` become `rank.attention`, on strides (through `nn.select` and `nn.rename`, which move nothing). An
    `nn.einsum` over `nn.windows` of any type walks the windows where x is stored. Other prims are fused greedily into `rank.kernel`s, structurally
    equal ones shared. Communication keeps its order, and so do reads and writes of a variable.
    ```mlir
    %h = nn.einsum %x, %w : ...                    %h = rank.matmul %x, %w {m = 256 : i64, ...} : ...
    %s = nn.add %h, %bias : ...                ->  %y = rank.launch @add_gelu(%h, %bias) : ...
    %y = nn.gelu %s : ...
    ```
    Left besides: nn.read, nn.write, nn.input, nn.rename (an alias), dist collectives, pipe ops.
  }];
  let dependentDialects = ["::npar::rank::RankDialect"];
}

def CodegenShowKernels : Pass<"codegen-show-kernels", "::mlir::ModuleOp"> {
  let summary = "adds each kernel's code to the module, for people and tests";
  let description = [{
    Beside `rank.kernel @gelu_0` appears `func.func @gelu_0.linalg` (what is computed: linalg.generics with scalar bodies, loops named by
    `axes`), `func.func @gelu_0.loops` (how: rows, phases, vectors with masks, the kernel's C signature) or `func.func @gelu_0.threads` (how on a
    GPU: what one thread does). `stage=ptx` leaves the module alone and prints the text that a program for sm_90 holds.
  }];
  let options = [Option<"stage", "stage", "std::string", [{"loops"}], "linalg, loops, threads or ptx">];
}

#endif
