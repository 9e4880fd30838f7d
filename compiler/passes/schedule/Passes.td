// The passes of phase schedule, in their order.
#ifndef NPAR_COMPILER_PASSES_SCHEDULE_PASSES_TD
#define NPAR_COMPILER_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleStages : Pass<"schedule-stages", "::mlir::ModuleOp"> {
  let summary = "gives every op of @count, @start and @micro its part of the model, and says on which stages the parts are";
  let description = [{
    The part follows from the op's place in the chain of repeated blocks (`at`). The schedule says how many parts there are and which
    stage has which. Blocks are cut into contiguous parts so that the most expensive stage is cheapest, forward and backward together;
    what comes before the chain counts with the first part, what comes after with the last. Module attributes `pipe.axis` and `dist.mesh`
    say how many stages there are (without `pipe.axis` one), `pipe.schedule`, `pipe.chunks` and `pipe.schedule_text` which schedule,
    `pipe.live` how many micro-batches a stage may hold at once.
    Where the plan counts the blocks of each part itself, `pipe.counts` has these counts, and nothing is balanced.
    Backward ops that nothing before them in the chain waits for are marked: a schedule may run them later, as W.

    ```mlir
    %y = nn.relu %x {at = #nn.at<F, "h.1", 1>} : ...
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "h.0", 0>} : ...
    // becomes, with 2 stages and 2 blocks
    %y = nn.relu %x {at = #nn.at<F, "h.1", 1>, pipe.place = 1 : i64} : ...
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64, pipe.weight} : ...
    pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, forward = array<f64: ...>, ...}
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::pipe::PipeDialect"];
}

def ScheduleRecompute : Pass<"schedule-recompute", "::mlir::ModuleOp"> {
  let summary = "chooses for each nn.checkpoint between the value that the forward has and the one that the backward repeats";
  let description = [{
    A recomputed segment of several blocks (`recompute every k`) may be cut by the parts of the model. The backward of a part begins with
    what the part has received: a value of another part is kept, one of the same part is repeated. Copies that nothing needs then go.

    ```mlir
    %x = nn.add %a, %b {at = #nn.at<F, "h.2", 2>, pipe.place = 0} : ...
    %x2 = nn.add %a2, %b2 {at = #nn.at<B, "h.2", 2>, pipe.place = 0} : ...
    %c = nn.checkpoint %x or %x2 {at = #nn.at<B, "h.3", 3>, pipe.place = 1} : ...
    // uses of %c become uses of %x; were the op of part 0, of %x2
    ```
  }];
}

def ScheduleRepeat : Pass<"schedule-repeat", "::mlir::ModuleOp"> {
  let summary = "makes values again in the backward that elementwise ops make of what is kept anyway";
  let description = [{
    A forward value that the backward of its part needs is not kept when elementwise ops of its block make it of values that are kept for
    the backward too, or that are nobody's to keep (parameters, inputs). Its copy stands before the first op that needs it, with all ops
    that lead to it: GELU's result is made again of GELU's operand, a layer norm's of its operand, mean and deviation. Same ops, same
    order, hence the same bits; in the kernel of the gradient that reads the same operands it costs one store. A value that another
    block's repeated values lead to is kept, so that no chain is walked twice. The copy is part of B, where the schedule has W too: what
    is kept from B to W is no more than without this pass. Of a value all of whose `nn.select`s are needed the value is kept, and the parts are
    views of it. `inspect saved` counts before it, as the papers do.

    ```mlir
    %h = nn.gelu %x {at = #nn.at<F, "h.0", 0>} : (X) -> X
    %dx = nn.gelu_grad %x, %dh {at = #nn.at<B, "h.0", 0>} : (X, X) -> X
    %dw = nn.einsum %dy, %h {at = #nn.at<B, "h.0", 0>} : (Y, X) -> T
    // becomes
    %h = nn.gelu %x {at = #nn.at<F, "h.0", 0>} : (X) -> X
    %dx = nn.gelu_grad %x, %dh {at = #nn.at<B, "h.0", 0>} : (X, X) -> X
    %h2 = nn.gelu %x {at = #nn.at<B, "h.0", 0>} : (X) -> X
    %dw = nn.einsum %dy, %h2 {at = #nn.at<B, "h.0", 0>} : (Y, X) -> T
    ```
  }];
}

def ScheduleTasks : Pass<"schedule-tasks", "::mlir::ModuleOp"> {
  let summary = "orders the tasks of every stage by the plan's schedule";
  let description = [{
    A task is a fragment's name, which schedule-fragments makes, and a micro-batch. Where the schedule splits some backwards of a part
    and not others, those others are B and W, one after the other. `+B3:1` runs at the same time as the task before it.

    ```mlir
    pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
    // adds
    pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]
    pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1", "U1"]
    ```

    A part that @count has ops for counts in all micro-batches first; then its stage sums up (@start).

    ```mlir
    pipe.order stage(1) ["C1:0", "C1:1", "S1", "F1:0", "B1:0", "F1:1", "B1:1", "U1"]
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::pipe::PipeDialect"];
}

def ScheduleServers : Pass<"schedule-servers", "::mlir::ModuleOp"> {
  let summary = "gives each rank along the batch's axis a stage of its own, where the first holds the optimizer (`central`)";
  let description = [{
    The ranks along the axis of `dist.servers` are alike until here. Afterwards each is a stage whose part is a copy of @micro with its own
    samples. The losses and their gradients of all ranks are the last part of the chain, on the first stage: the others send it the values
    that the losses need, and their targets. Without `dist.servers` nothing happens.

    ```mlir
    pipe.program {micro_count = 1 : i64, schedule = "1f1b", stages = 1 : i64}
    %x = nn.input "x" {pipe.place = 0} : X
    %y = nn.mul %x, %w {pipe.place = 0} : (X, W) -> Y
    %l = nn.sum %y {pipe.place = 0} : (Y) -> L
    nn.accumulate @"#out.loss.sum", %l {pipe.place = 0} : L
    // becomes, with `dist.servers = {axis = "dp"}` and dp = 2
    pipe.program {axis = "dp", micro_count = 1 : i64, placement = array<i64: 0, 1, 0>, schedule = "1f1b", stages = 2 : i64}
    %x0 = nn.input "x" {pipe.place = 0} : X
    %y0 = nn.mul %x0, %w {pipe.place = 0} : (X, W) -> Y
    %x1 = nn.input "x" {pipe.place = 1} : X
    %y1 = nn.mul %x1, %w {pipe.place = 1} : (X, W) -> Y
    %l0 = nn.sum %y0 {pipe.place = 2} : (Y) -> L
    %l1 = nn.sum %y1 {pipe.place = 2} : (Y) -> L
    %l = nn.combine %l0, %l1 {pipe.place = 2} : (L, L) -> L
    nn.accumulate @"#out.loss.sum", %l {pipe.place = 2} : L
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::pipe::PipeDialect"];
}

def ScheduleFragments : Pass<"schedule-fragments", "::mlir::ModuleOp"> {
  let summary = "outlines @micro into forward and backward fragments per part, @update into update fragments per stage, and the prologue";
  let description = [{
    The backward of a part is one fragment, B, or where the orders have W tasks of the part two: B, and W with the ops marked
    `pipe.weight`. Values that another stage needs are sent to it, straight from the stage that defines them; values that a later fragment
    of the same stage needs (the backward, W, a neighbouring part) are stashed. Ops without operands (and renames) are repeated in every
    fragment that uses them. A transfer joins two fragments of the same phase, and both its ends are placed in one walk over the program:
    the fragments of a phase have their transfers and collectives in one common order, so no two stages wait for each other.

    ```mlir
    func.func @micro() {
      %x = nn.relu %a {pipe.place = 0} : T            // forward
      %y = nn.relu %x {pipe.place = 1} : T
      ...
    }
    // becomes
    pipe.fragment @F0 stage(0) phase(F) {
      %x = nn.relu %a : T
      pipe.send %x to(1) event(0) : T
    }
    pipe.fragment @F1 stage(1) phase(F) {
      %x = pipe.recv from(0) event(0) : T
      %y = nn.relu %x : T
    }
    ```

    The prologue's @count becomes a fragment C of each part that it has ops for, @start a fragment S of the part's stage; nothing is sent.

    Variables get `stages = [...]`, where they are stored: a parameter where it is read, its optimizer state with it, an accumulator
    where it is accumulated. Each stage updates what it stores. The uses of a tied parameter are reduced where they are and exchanged;
    then every stage that stores the parameter combines them in the same order. `nn.square_sums` is cut by stage: a stage sums the
    gradients of the parameters whose lowest stage it is.
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::pipe::PipeDialect"];
}

def ScheduleBuckets : Pass<"schedule-buckets", "::mlir::ModuleOp"> {
  let summary = "gathers the reductions of gradients into buckets that overlap the last backward";
  let description = [{
    Module attribute `dist.bucket` is the size of a bucket in bytes; without it nothing happens. In each update the reductions of
    accumulators go to the front, in the order in which the last backward of the stage completes the accumulators; as many as fit the size
    (at least one, and no more than `members`, for a step of a compiled program counts its operands in 16 bits), of one kind, operator,
    element type and group, are a bucket: one collective, launched as soon as the last of its gradients is there. Reductions of its
    results over further mesh axes are a bucket again. What is added in which order does not change (RULES.md#N5).

    ```mlir
    %a = nn.read @a.grad.0 : A
    %b = dist.all_reduce %a {axes = ["dp"], op = "sum"} : A -> A
    // becomes
    %b = dist.all_reduce %a {axes = ["dp"], op = "sum", pipe.bucket = 0 : i64} : A -> A
    ```
  }];
  let options = [Option<"members", "members", "uint64_t", "65535", "most members of a bucket">];
}

def VerifyPipe : Pass<"verify-pipe", "::mlir::ModuleOp"> {
  let summary = "checks the scheduled program as a whole";
  let description = [{
    RULES.md#V1: there is one pipe.program, F and B of each part once, C and W at most once, on the stage that has the part, and of each
    stage U once, S at most once. V2: an event has one send and one recv of equal type, in fragments of the same phase, which name each
    other's stage. V3: what a fragment unstashes another fragment of its stage has stashed once with that type, and the reverse. V4: every stage
    has one order with each C, F, B and W task of its fragments for each micro-batch once, its S task, and last its U task. V5: the tasks
    of micro-batches can run to the end in their orders, each after those that it takes values from. V6: the tasks of a fragment that
    accumulates ascend in micro-batches. V7: C tasks come first, then S. V8: two tasks that overlap are a forward and a backward of two
    micro-batches.
  }];
}

#endif
