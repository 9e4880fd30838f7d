// The loops of nn.scatter_add: for each chunk of columns, all tokens in ascending order, so that no two workers touch one element.
#include "compiler/codegen/loops/ScatterAdd.h"

#include "compiler/codegen/loops/Narrow.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace npar::codegen {

static nn::ScatterAddOp scatterOf(rank::KernelOp kernel) {
  auto ops = kernel.getBody().getOps<nn::ScatterAddOp>();
  return ops.empty() ? nn::ScatterAddOp() : *ops.begin();
}

bool isScatterAdd(rank::KernelOp kernel) { return bool(scatterOf(kernel)); }

ScatterTable::ScatterTable(rank::KernelOp kernel, int64_t vectorLanes) : op(scatterOf(kernel)) {
  auto type = cast<RankedTensorType>(op.getType());
  element = type.getElementType();
  added = getElementTypeOrSelf(op.getDy().getType());
  rows = type.getDimSize(0);
  columns = type.getNumElements() / rows;
  tokens = cast<RankedTensorType>(op.getIdx().getType()).getNumElements();
  lanes = vectorLanes ? vectorLanes : lanesOf(element);
  parts = std::clamp<int64_t>(columns / lanes, 1, 4);
  if (auto add = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp<nn::AddOp>())
    accumulator = add.getA() == op.getResult() ? add.getB() : add.getA();
}

LogicalResult ScatterTable::check(rank::KernelOp kernel) {
  if (nn::dimOf(op.getType(), op.getAxisAttr()) != 0)
    return op.emitOpError("has a table whose first axis is not '") << op.getAxis() << "': not supported by the code generator";
  if (!accumulator && kernel.getBody().front().getTerminator()->getOperand(0) != op.getResult())
    return kernel.emitOpError("does not end with the scattered sum");
  for (Value value : {Value(op.getIdx()), Value(op.getDy()), accumulator})
    if (value && !isa<BlockArgument>(value))
      return kernel.emitOpError("computes an operand of 'nn.scatter_add'");
  return success();
}

int64_t scatterAddExtent(rank::KernelOp kernel) {
  ScatterTable table(kernel);
  return llvm::divideCeil(table.columns, table.width());
}

FailureOr<OwningOpRef<ModuleOp>> emitScatterAdd(rank::KernelOp kernel, dist::MeshAttr mesh) {
  ScatterTable table(kernel);
  if (failed(table.check(kernel)))
    return failure();
  nn::ScatterAddOp op = table.op;
  Value accumulator = table.accumulator;
  Block &block = kernel.getBody().front();
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  auto target = func::FuncOp::create(b, loc, kernel.getSymName(), b.getFunctionType({pointer, pointer, i64, i64}, {}));
  Block *entry = target.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto constant = [&](int64_t value) { return constantI64(b, loc, value); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
  auto mul = [&](Value x, int64_t y) -> Value { return arith::MulIOp::create(b, loc, x, constant(y)); };
  auto buffer = [&](unsigned index) -> Value {
    return LLVM::LoadOp::create(b, loc, pointer, address(b, loc, entry->getArgument(0), pointer, constant(index)));
  };
  Value idx = buffer(cast<BlockArgument>(op.getIdx()).getArgNumber()), dy = buffer(cast<BlockArgument>(op.getDy()).getArgNumber());
  Value start = accumulator ? buffer(cast<BlockArgument>(accumulator).getArgNumber()) : Value();
  Value out = buffer(block.getNumArguments());

  // First row of this rank's shard.
  Value shard = constant(0);
  if (dist::LayoutAttr layout = dist::layoutOf(op.getType()))
    for (StringAttr split : layout.splitsOf(0)) {
      Value word = address(b, loc, entry->getArgument(1), i64, constant(3 + mesh.indexOf(split)));
      shard = add(mul(shard, mesh.sizeOf(split)), LLVM::LoadOp::create(b, loc, i64, word));
    }
  shard = mul(shard, table.rows);

  auto loop = [&](Value begin, Value end, llvm::function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(b, loc, begin, end, constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  };
  loop(entry->getArgument(2), entry->getArgument(3), [&](Value chunk) {
    Value column = mul(chunk, table.width());
    SmallVector<Value> masks(table.parts);
    if (table.columns % table.width() != 0)
      for (int64_t p = 0; p < table.parts; ++p) {
        Value left = arith::SubIOp::create(b, loc, constant(table.columns - p * table.lanes), column);
        masks[p] = maskBelow(b, loc, left, table.lanes);
      }
    auto place = [&](Value base, Value row, int64_t p, Type element) {
      return address(b, loc, base, element, add(add(mul(row, table.columns), column), constant(p * table.lanes)));
    };
    auto initialise = [&] {
      loop(constant(0), constant(table.rows), [&](Value row) {
        for (int64_t p = 0; p < table.parts; ++p) {
          Value value = start ? loadLanes(b, loc, place(start, row, p, table.element), table.element, table.lanes, masks[p])
                              : arith::ConstantOp::create(b, loc, b.getZeroAttr(laneType(table.element, table.lanes))).getResult();
          storeLanes(b, loc, value, place(out, row, p, table.element), masks[p]);
        }
      });
    };
    if (!start) {
      initialise();
    } else {
      Value from = LLVM::PtrToIntOp::create(b, loc, i64, start), to = LLVM::PtrToIntOp::create(b, loc, i64, out);
      Value differ = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, from, to);
      auto branch = scf::IfOp::create(b, loc, differ, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      initialise();
    }
    loop(constant(0), constant(table.tokens), [&](Value token) {
      Value word = LLVM::LoadOp::create(b, loc, b.getI32Type(), address(b, loc, idx, b.getI32Type(), token));
      Value row = arith::SubIOp::create(b, loc, arith::ExtSIOp::create(b, loc, i64, word), shard);
      // One unsigned comparison tests both ends.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row, constant(table.rows));
      auto branch = scf::IfOp::create(b, loc, inside, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      for (int64_t p = 0; p < table.parts; ++p) {
        Value old = loadLanes(b, loc, place(out, row, p, table.element), table.element, table.lanes, masks[p]);
        Type stored = storageType(table.added);
        Value more = loadLanes(b, loc, place(dy, token, p, stored), stored, table.lanes, masks[p]);
        if (stored != table.added)
          more = widen(b, loc, more, table.added);
        storeLanes(b, loc, arith::AddFOp::create(b, loc, old, more), place(out, row, p, table.element), masks[p]);
      }
    });
  });
  func::ReturnOp::create(b, loc);
  return module;
}

} // namespace npar::codegen
