// Walks a kernel's rows and phases: what a row reduces is known one phase later, so a row is walked once per phase.
#include "compiler/codegen/loops/Emit.h"
#include "compiler/codegen/loops/Emitter.h"
#include "compiler/codegen/loops/Narrow.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace npar::codegen {

// Phases, outputs, and which values a later phase takes from a row buffer instead of computing them again.
void Emitter::plan() {
  source.walk([&](linalg::GenericOp op) { order.push_back(op); });
  for (linalg::GenericOp op : order) {
    Generic generic;
    generic.op = op;
    for (auto [axis, kind] : llvm::zip(loopAxes(op), op.getIteratorTypesArray())) {
      int loop = nest.loopOf(axis);
      bool inside = loop >= 0 && llvm::is_contained(nest.inner, loop);
      generic.inner |= inside;
      generic.reduces |= inside && kind == utils::IteratorType::reduction;
    }
    for (Value operand : op.getDpsInputs())
      if (operand.getDefiningOp<linalg::GenericOp>())
        generic.phase = std::max(generic.phase, info(operand).phase + (info(operand).reduces ? 1 : 0));
    for (Operation &inside : *op.getBody())
      generic.expensive |= isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::PowFOp, math::CosOp, math::SinOp,
                               tensor::ExtractOp, arith::MulUIExtendedOp>(inside);
    if (generic.inner)
      phases = std::max(phases, generic.phase + 1);
    generics[op] = generic;
  }
  auto results = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, result] : llvm::enumerate(results.getOperands()))
    outputs.push_back({cast<OpResult>(result), unsigned(source.getNumArguments() + i)});

  // Walk each phase's needs; an expensive value that an earlier phase had is kept when the row fits the stack.
  int64_t row = 1, used = 0;
  for (int loop : nest.inner)
    row *= nest.loops[loop].size;
  llvm::DenseMap<Value, int> first;
  for (int phase = 0; phase < phases; ++phase) {
    llvm::DenseSet<Value> visited;
    std::function<void(Value)> need = [&](Value tensor) {
      if (!tensor.getDefiningOp<linalg::GenericOp>() || !visited.insert(tensor).second)
        return;
      Generic &generic = info(tensor);
      if (!generic.inner || (generic.reduces && generic.phase < phase))
        return;
      auto [found, inserted] = first.insert({tensor, phase});
      if (!inserted && found->second < phase && !generic.reduces && generic.expensive && !nest.vectorInRows) {
        int64_t bytes = llvm::alignTo(row * (cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8), 64);
        bool isOutput = llvm::any_of(outputs, [&](Output &output) { return output.value == tensor; });
        if (buffered.count(tensor) || isOutput || used + bytes <= options.scratchBytes) {
          if (!buffered.count(tensor) && !isOutput)
            used += bytes;
          buffered.insert({tensor, found->second});
          return;
        }
      }
      for (Value operand : generic.op.getDpsInputs())
        need(operand);
    };
    for (linalg::GenericOp op : order)
      if (generics[op].reduces && generics[op].phase == phase)
        need(op.getResult(0));
    for (Output &output : outputs)
      if (info(output.value).inner && !info(output.value).reduces && info(output.value).phase == phase)
        need(output.value);
  }
}

LogicalResult Emitter::run() {
  plan();
  Block *entry = target.addEntryBlock();
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  context = entry->getArgument(1);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto bufferPointer = [&](unsigned index) -> Value {
    Value slot = address(b, loc(), entry->getArgument(0), pointer, constantI64(b, loc(), index));
    return LLVM::LoadOp::create(b, loc(), pointer, slot, 8);
  };
  for (BlockArgument argument : source.getArguments())
    pointers[argument] = bufferPointer(argument.getArgNumber());
  for (Output &output : outputs)
    pointers[output.value] = bufferPointer(output.buffer);
  for (auto [tensor, phase] : buffered) {
    if (pointers.count(tensor))
      continue;
    int64_t row = nest.width();
    for (int loop : nest.inner)
      row *= nest.loops[loop].size;
    Type element = storageType(cast<RankedTensorType>(tensor.getType()).getElementType());
    Value size = LLVM::ConstantOp::create(b, loc(), b.getI32Type(), b.getI32IntegerAttr(row));
    buffers[tensor] = LLVM::AllocaOp::create(b, loc(), pointer, element, size, 64);
  }
  Operation *end = func::ReturnOp::create(b, loc());
  b.setInsertionPoint(end);
  // Rows that may not exist pass on the piece of the last row and the end of the piece's rows.
  SmallVector<Value> piece;
  if (nest.existing)
    piece = {constantI64(b, loc(), -1), constantI64(b, loc(), 0)};
  auto rows = scf::ForOp::create(b, loc(), entry->getArgument(2), entry->getArgument(3), constantI64(b, loc(), 1), piece);
  if (nest.existing) {
    OpBuilder body = OpBuilder::atBlockEnd(rows.getBody());
    scf::YieldOp::create(body, loc(), rows.getRegionIterArgs());
  }
  at.push_back(OpBuilder(rows));
  at.push_back(OpBuilder(rows.getBody()->getTerminator()));
  at.push_back(at[RowScope]);
  loopIndex.assign(nest.loops.size(), Value());
  emitRow(rows);
  return success();
}

void Emitter::emitRow(scf::ForOp rows) {
  OpBuilder &b = at[RowScope];
  parts = nest.vectorInRows ? nest.parts : 1;
  Value rest = rows.getInductionVar();
  for (int i = int(nest.rows.size()) - 1; i >= 0; --i) {
    int loop = nest.rows[i];
    bool vectorised = loop == nest.vectorLoop;
    int64_t size = vectorised ? llvm::divideCeil(nest.loops[loop].size, nest.width()) : nest.loops[loop].size;
    Value index = rest;
    if (i > 0) {
      Value divisor = constantI64(b, loc(), size);
      index = arith::RemUIOp::create(b, loc(), rest, divisor);
      rest = arith::DivUIOp::create(b, loc(), rest, divisor);
    }
    if (vectorised)
      index = arith::MulIOp::create(b, loc(), index, constantI64(b, loc(), nest.width()));
    loopIndex[loop] = index;
  }
  rowMasks.assign(parts, Value());
  if (nest.vectorInRows && nest.loops[nest.vectorLoop].size % nest.width() != 0)
    for (int64_t i = 0; i < parts; ++i) {
      Value left = arith::SubIOp::create(b, loc(), constantI64(b, loc(), nest.loops[nest.vectorLoop].size - i * nest.lanes),
                                         loopIndex[nest.vectorLoop]);
      rowMasks[i] = maskBelow(b, loc(), left, nest.lanes);
    }
  if (nest.existing)
    enterExistingRow(rows);
  if (!nest.inner.empty())
    for (int phase = 0; phase < phases; ++phase)
      emitPhase(phase);
  parts = nest.vectorInRows ? nest.parts : 1;
  storeRowResults();
}

void Emitter::emitPhase(int phase) {
  currentPhase = phase;
  // Accumulators of the phase's reductions, one per result, each of `parts` vectors.
  int64_t width = nest.vectorInRows ? parts : nest.parts;
  SmallVector<SmallVector<Value>> accumulators;
  for (linalg::GenericOp op : order)
    if (generics[op].reduces && generics[op].phase == phase)
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        Lane start = neutral(op, i);
        accumulators.emplace_back(width, splat(at[RowScope], loc(), start.parts[0], nest.lanes));
      }
  walkInside(accumulators, [&] { emitPoint(phase, accumulators); });
  finishReductions(phase, accumulators);
}

// Walks the loops inside a row, and emits at each point, whose `parts` and masks are set. Accumulators are carried through the loops.
void Emitter::walkInside(SmallVectorImpl<SmallVector<Value>> &accumulators, llvm::function_ref<void()> emit) {
  auto flatten = [&] {
    SmallVector<Value> flat;
    for (auto &values : accumulators)
      flat.append(values.begin(), values.end());
    return flat;
  };
  auto unflatten = [&](ValueRange flat) {
    unsigned next = 0;
    for (auto &values : accumulators)
      for (Value &value : values)
        value = flat[next++];
  };
  auto point = [&](OpBuilder b, int64_t count) {
    at[InnerScope] = b;
    parts = count;
    known[InnerScope].clear();
    loaded[InnerScope].clear();
    emit();
  };
  // Loops from the outermost; `place` is where the next level begins.
  std::function<void(unsigned, OpBuilder)> walk = [&](unsigned depth, OpBuilder b) {
    if (depth == nest.inner.size())
      return point(b, parts);
    int loop = nest.inner[depth];
    int64_t size = nest.loops[loop].size;
    auto counted = [&](int64_t begin, int64_t stop, int64_t step, auto inside) {
      auto op =
          scf::ForOp::create(b, loc(), constantI64(b, loc(), begin), constantI64(b, loc(), stop), constantI64(b, loc(), step), flatten());
      if (depth == 0)
        at[RowScope].setInsertionPoint(op);
      loopIndex[loop] = op.getInductionVar();
      unflatten(op.getRegionIterArgs());
      OpBuilder body = OpBuilder::atBlockBegin(op.getBody());
      bool empty = op.getBody()->empty() || !op.getBody()->back().hasTrait<OpTrait::IsTerminator>();
      Operation *end = empty ? scf::YieldOp::create(body, loc(), flatten()).getOperation() : op.getBody()->getTerminator();
      inside(OpBuilder(end));
      end->setOperands(flatten());
      unflatten(op.getResults());
      b.setInsertionPointAfter(op);
      if (depth == 0)
        at[RowScope].setInsertionPointAfter(op);
    };
    if (loop != nest.vectorLoop) {
      counted(0, size, 1, [&](OpBuilder body) { walk(depth + 1, body); });
      return;
    }
    int64_t full = size / nest.width() * nest.width();
    if (full > 0) {
      innerMasks.assign(nest.parts, Value());
      counted(0, full, nest.width(), [&](OpBuilder body) { point(body, nest.parts); });
    }
    if (full < size) {
      // The masked tail: the same vectors, with lanes switched off.
      loopIndex[loop] = constantI64(b, loc(), full);
      int64_t count = llvm::divideCeil(size - full, nest.lanes);
      innerMasks.assign(count, Value());
      if ((size - full) % nest.lanes != 0)
        innerMasks[count - 1] = maskBelow(b, loc(), constantI64(b, loc(), size - full - (count - 1) * nest.lanes), nest.lanes);
      point(b, count);
      if (depth == 0)
        at[RowScope].setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
    }
  };
  walk(0, at[RowScope]);
}

// All values first, then all stores: a result may share storage with an operand that this point reads.
void Emitter::emitPoint(int phase, SmallVectorImpl<SmallVector<Value>> &accumulators) {
  unsigned next = 0;
  for (linalg::GenericOp op : order) {
    if (!generics[op].reduces || generics[op].phase != phase)
      continue;
    SmallVector<Lane> current;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      Lane lane;
      lane.uniform = false;
      lane.scope = InnerScope;
      lane.parts.assign(accumulators[next + i].begin(), accumulators[next + i].begin() + parts);
      current.push_back(lane);
    }
    SmallVector<Lane> updated = body(op, current);
    for (unsigned i = 0; i < op.getNumResults(); ++i, ++next)
      for (int64_t p = 0; p < parts; ++p) {
        Value combined = part(updated[i], p);
        if (Value mask = nest.vectorInRows ? Value() : maskOf(p))
          combined = arith::SelectOp::create(at[InnerScope], loc(), mask, combined, accumulators[next][p]);
        accumulators[next][p] = combined;
      }
  }
  SmallVector<std::pair<Output, Lane>> stores;
  for (Output &output : outputs)
    if (info(output.value).inner && !info(output.value).reduces && info(output.value).phase == phase)
      stores.emplace_back(output, value(output.value, {}));
  for (auto [tensor, filled] : buffered)
    if (filled == phase && buffers.count(tensor))
      store(value(tensor, {}), buffers[tensor], cast<RankedTensorType>(tensor.getType()).getElementType(), rowBufferStrides());
  for (auto &[output, lane] : stores)
    store(lane, output);
}

// Parts in ascending order, then the lane tree.
void Emitter::finishReductions(int phase, ArrayRef<SmallVector<Value>> accumulators) {
  unsigned next = 0;
  OpBuilder &b = at[RowScope];
  for (linalg::GenericOp op : order) {
    if (!generics[op].reduces || generics[op].phase != phase)
      continue;
    for (unsigned i = 0; i < op.getNumResults(); ++i, ++next) {
      Lane lane;
      lane.scope = RowScope;
      if (nest.vectorInRows) {
        lane.uniform = false;
        lane.parts.assign(accumulators[next].begin(), accumulators[next].end());
      } else {
        Operation *yield = op.getBody()->getTerminator();
        Operation *combiner = yield->getOperand(i).getDefiningOp();
        auto combine = [&](Value left, Value right) -> Value {
          if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
            return arith::MaximumFOp::create(b, loc(), left, right);
          if (isa<arith::MaxSIOp>(combiner))
            return arith::MaxSIOp::create(b, loc(), left, right);
          if (isa<arith::AddIOp>(combiner))
            return arith::AddIOp::create(b, loc(), left, right);
          return arith::AddFOp::create(b, loc(), left, right);
        };
        Value all = accumulators[next][0];
        for (Value value : llvm::drop_begin(accumulators[next]))
          all = combine(all, value);
        lane.parts.push_back(laneTree(b, loc(), all, combine));
      }
      known[RowScope][op.getResult(i)] = lane;
    }
  }
}

void Emitter::storeRowResults() {
  at[InnerScope] = at[RowScope];
  currentPhase = phases;
  SmallVector<std::pair<Output, Lane>> stores;
  for (Output &output : outputs)
    if (!info(output.value).inner || info(output.value).reduces)
      stores.emplace_back(output, value(output.value, {}));
  for (auto &[output, lane] : stores)
    store(lane, output);
}

FailureOr<OwningOpRef<ModuleOp>> emitLoops(func::FuncOp generics, StringRef name, const LoopOptions &options) {
  FailureOr<Nest> nest = planNest(generics, options);
  if (failed(nest))
    return failure();
  Location loc = generics.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  auto target = func::FuncOp::create(b, loc, name, b.getFunctionType({pointer, pointer, i64, i64}, {}));
  if (failed(Emitter(generics, target, *nest, options).run()))
    return failure();
  return module;
}

FailureOr<int64_t> kernelExtent(func::FuncOp generics, const LoopOptions &options) {
  FailureOr<Nest> nest = planNest(generics, options);
  if (failed(nest))
    return failure();
  return nest->extent;
}

} // namespace npar::codegen
