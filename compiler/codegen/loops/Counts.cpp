// The loops of nn.queue, nn.count_below and nn.locate: a row of the kernel is one group of choices, whose counters no other row touches.
#include "compiler/codegen/loops/Counts.h"

#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/dialects/nn/ops/Counts.h"

using namespace mlir;

namespace npar::codegen {
namespace {

/// The most counters that a queue keeps on the stack: 64 KiB.
constexpr int64_t mostCounters = 16384;

Operation *countsOf(rank::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation &op = body.front();
  return isa<nn::QueueOp, nn::CountBelowOp, nn::LocateOp>(op) && llvm::hasSingleElement(body.without_terminator()) ? &op : nullptr;
}

/// Choices are [groups, choices], the result [groups, results].
struct GroupSizes {
  explicit GroupSizes(Operation *op) {
    auto operand = cast<RankedTensorType>(op->getOperand(0).getType()), result = cast<RankedTensorType>(op->getResult(0).getType());
    choices = operand.getShape().back();
    groups = operand.getNumElements() / choices;
    results = result.getShape().back();
  }
  int64_t groups, choices, results;
};

/// Returns whether the choices' axis is the last one of all operands and of the result, behind the same axes.
bool isContiguous(Operation *op, StringAttr axis, ArrayRef<StringAttr> exchanged) {
  ArrayRef<StringAttr> groups = nn::axesOf(op->getOperand(0).getType()).drop_back();
  auto fits = [&](Type type, StringAttr last) {
    return nn::axesOf(type).drop_back() == groups && nn::axesOf(type).back() == last && cast<RankedTensorType>(type).getNumElements() > 0;
  };
  return fits(op->getOperand(0).getType(), axis) && fits(op->getResult(0).getType(), exchanged[0]) &&
         (op->getNumOperands() == 1 || fits(op->getOperand(1).getType(), exchanged[1]));
}

/// Returns whether an axis of a tensor is whole on each rank, in its logical order.
bool isWhole(Operation *op, Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  return !dist::zigzagOf(op, axis) && (!layout || layout.splitsOf(layout.dimOf(axis)).empty());
}

/// Builds the loops of one kernel.
class Counting {
public:
  Counting(rank::KernelOp kernel, dist::MeshAttr mesh)
      : k(kernel), b(k.b), loc(k.loc), mesh(mesh), op(countsOf(kernel)), sizes(op), i32(b.getI32Type()) {
    in = k.buffer(numberOf(op->getOperand(0)));
    out = k.buffer(kernel.getBody().front().getNumArguments());
  }

  OwningOpRef<ModuleOp> run() {
    if (auto queue = dyn_cast<nn::QueueOp>(op))
      emitQueue(queue);
    else if (auto below = dyn_cast<nn::CountBelowOp>(op))
      emitCountBelow(below);
    else
      emitLocate();
    func::ReturnOp::create(b, loc);
    return std::move(k.module);
  }

private:
  Value number(int64_t value) { return k.constant(value); }
  Value word(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value select(Value where, Value x, Value y) { return arith::SelectOp::create(b, loc, where, x, y); }
  Value isBelow(Value x, Value bound) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, bound); }
  Value place(Value base, Value index) { return address(b, loc, base, i32, index); }
  Value load(Value base, Value index) { return LLVM::LoadOp::create(b, loc, i32, place(base, index)); }
  void store(Value value, Value base, Value index) { LLVM::StoreOp::create(b, loc, value, place(base, index)); }
  void increment(Value base, Value index, Value by) { store(add(load(base, index), by), base, index); }

  void loop(int64_t count, llvm::function_ref<void(Value)> body) {
    k.loop(number(0), number(count), 1, {}, [&](Value index, Value) {
      body(index);
      return Value();
    });
  }
  /// Runs the body for each group with the addresses of its choices and results.
  void groups(llvm::function_ref<void(Value choices, Value results)> body) {
    k.loop(k.begin(), k.end(), 1, {}, [&](Value group, Value) {
      body(place(in, arith::MulIOp::create(b, loc, group, number(sizes.choices))),
           place(out, arith::MulIOp::create(b, loc, group, number(sizes.results))));
      return Value();
    });
  }
  /// The choice as an index; `entries` in the place of every number that is no entry.
  Value entryAt(Value choices, Value index, int64_t entries) {
    Value choice = arith::ExtSIOp::create(b, loc, b.getI64Type(), load(choices, index));
    return select(isBelow(choice, number(entries)), choice, number(entries));
  }
  /// Replaces numbers by their running sum, which begins with the first of them, or with 0.
  void accumulate(Value base, int64_t count, bool inclusive) {
    k.loop(number(0), number(count), 1, word(0), [&](Value index, Value sum) {
      Value next = add(sum, load(base, index));
      store(inclusive ? next : sum, base, index);
      return next;
    });
  }

  /// The last counter is that of choices that are no entries.
  void emitQueue(nn::QueueOp queue) {
    int64_t entries = queue.getEntries();
    Value counters = LLVM::AllocaOp::create(b, loc, k.pointer, i32, word(entries + 1), 64);
    groups([&](Value choices, Value results) {
      loop(entries + 1, [&](Value entry) { store(word(0), counters, entry); });
      if (queue.getSorted()) {
        loop(sizes.choices, [&](Value index) { increment(counters, entryAt(choices, index, entries), word(1)); });
        accumulate(counters, entries, /*inclusive=*/false);
      }
      loop(sizes.choices, [&](Value index) {
        Value entry = entryAt(choices, index, entries), count = load(counters, entry);
        store(add(count, word(1)), counters, entry);
        store(select(isBelow(entry, number(entries)), count, word(0)), results, index);
      });
    });
  }

  /// Each choice counts at the first result of this rank's piece that is above it; results are then running sums.
  void emitCountBelow(nn::CountBelowOp below) {
    Value offset = shardOffset();
    Value shift = arith::SubIOp::create(b, loc, number(below.getInclusive() ? 0 : 1), offset);
    groups([&](Value choices, Value results) {
      loop(sizes.results, [&](Value entry) { store(word(0), results, entry); });
      loop(sizes.choices, [&](Value index) {
        Value choice = entryAt(choices, index, below.getEntries());
        Value first = arith::MaxSIOp::create(b, loc, add(choice, shift), number(0));
        Value counts = isBelow(choice, number(below.getEntries()));
        counts = arith::AndIOp::create(b, loc, counts, isBelow(first, number(sizes.results)));
        increment(results, arith::MinSIOp::create(b, loc, first, number(sizes.results - 1)), arith::ExtUIOp::create(b, loc, i32, counts));
      });
      accumulate(results, sizes.results, /*inclusive=*/true);
    });
  }

  /// The first entry of this rank's piece of the result.
  Value shardOffset() {
    Type type = op->getResult(0).getType();
    dist::LayoutAttr layout = dist::layoutOf(type);
    Value member = k.member(mesh, layout ? layout.splitsOf(nn::axesOf(type).size() - 1) : ArrayRef<StringAttr>());
    return arith::MulIOp::create(b, loc, member, number(sizes.results));
  }

  void emitLocate() {
    groups([&](Value choices, Value results) {
      loop(sizes.results, [&](Value index) { store(word(-1), results, index); });
      loop(sizes.choices, [&](Value index) {
        Value wanted = arith::ExtSIOp::create(b, loc, b.getI64Type(), load(choices, index));
        auto branch = scf::IfOp::create(b, loc, isBelow(wanted, number(sizes.results)), false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        store(arith::TruncIOp::create(b, loc, i32, index), results, wanted);
      });
    });
  }

  KernelFunction k;
  OpBuilder &b;
  Location loc;
  dist::MeshAttr mesh;
  Operation *op;
  GroupSizes sizes;
  Type i32;
  Value in, out;
};

} // namespace

bool isCounts(rank::KernelOp kernel) {
  Operation *op = countsOf(kernel);
  if (auto queue = dyn_cast_or_null<nn::QueueOp>(op))
    return queue.getEntries() < mostCounters && isContiguous(op, queue.getAxisAttr(), {queue.getAxisAttr(), queue.getOtherAttr()}) &&
           isWhole(op, queue.getType(), queue.getAxisAttr()) && isWhole(op, queue.getOthers().getType(), queue.getOtherAttr());
  if (auto below = dyn_cast_or_null<nn::CountBelowOp>(op))
    return isContiguous(op, below.getAxisAttr(), {below.getToAttr()}) && !dist::zigzagOf(op, below.getToAttr()) &&
           isWhole(op, below.getChoice().getType(), below.getAxisAttr());
  if (auto locate = dyn_cast_or_null<nn::LocateOp>(op))
    return isContiguous(op, locate.getAxisAttr(), {locate.getAlongAttr()}) && isWhole(op, locate.getX().getType(), locate.getAxisAttr()) &&
           isWhole(op, locate.getType(), locate.getAlongAttr());
  return false;
}

int64_t countsExtent(rank::KernelOp kernel) { return GroupSizes(countsOf(kernel)).groups; }

FailureOr<OwningOpRef<ModuleOp>> emitCounts(rank::KernelOp kernel, dist::MeshAttr mesh) { return Counting(kernel, mesh).run(); }

} // namespace npar::codegen
