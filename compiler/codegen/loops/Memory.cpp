// Loads and stores at the current point of the loops: scalars, contiguous vectors, or strided lanes.
#include "compiler/codegen/loops/Emitter.h"
#include "compiler/codegen/loops/Narrow.h"

using namespace mlir;

namespace npar::codegen {

Value Emitter::maskOf(unsigned part) { return nest.vectorInRows ? rowMasks[part] : innerMasks[part]; }

int Emitter::scopeOf(ArrayRef<int64_t> strides) {
  int scope = CallScope;
  for (auto [loop, stride] : llvm::enumerate(strides))
    if (stride != 0)
      scope = std::max<int>(scope, llvm::is_contained(nest.inner, int(loop)) ? InnerScope : RowScope);
  return scope;
}

std::pair<Value, int64_t> Emitter::offset(ArrayRef<int64_t> strides, int scope) {
  OpBuilder &b = at[scope];
  Value total;
  for (auto [loop, stride] : llvm::enumerate(strides)) {
    if (stride == 0)
      continue;
    Value term = loopIndex[loop];
    if (stride != 1)
      term = arith::MulIOp::create(b, loc(), term, constantI64(b, loc(), stride));
    total = total ? arith::AddIOp::create(b, loc(), total, term).getResult() : term;
  }
  if (!total)
    total = constantI64(b, loc(), 0);
  return {total, nest.vectorLoop < 0 ? 0 : strides[nest.vectorLoop]};
}

Lane Emitter::load(Value pointer, Type element, ArrayRef<int64_t> strides, int64_t shift) {
  element = storageType(element);
  Lane lane;
  lane.scope = scopeOf(strides);
  OpBuilder &b = at[lane.scope];
  auto [first, stride] = offset(strides, lane.scope);
  if (shift != 0)
    first = arith::AddIOp::create(b, loc(), first, constantI64(b, loc(), shift));
  if (stride == 0) {
    lane.parts.push_back(LLVM::LoadOp::create(b, loc(), element, address(b, loc(), pointer, element, first)));
    return lane;
  }
  lane.uniform = false;
  for (int64_t p = 0; p < parts; ++p) {
    Value start = arith::AddIOp::create(b, loc(), first, constantI64(b, loc(), p * nest.lanes * stride));
    if (stride == 1) {
      lane.parts.push_back(loadLanes(b, loc(), address(b, loc(), pointer, element, start), element, nest.lanes, maskOf(p)));
      continue;
    }
    Value numbers = iota(b, loc(), constantI64(b, loc(), 0), nest.lanes);
    Value offsets = arith::MulIOp::create(b, loc(), numbers, splat(b, loc(), constantI64(b, loc(), stride), nest.lanes));
    lane.parts.push_back(gatherLanes(b, loc(), address(b, loc(), pointer, element, start), element, offsets, maskOf(p)));
  }
  return lane;
}

void Emitter::store(const Lane &lane, const Output &output) {
  auto type = cast<RankedTensorType>(output.value.getType());
  SmallVector<StringAttr> axes = resultAxes(info(output.value).op, output.value.getResultNumber());
  store(lane, pointers[output.value], type.getElementType(), nest.strides(type, axes));
}

void Emitter::store(const Lane &lane, Value pointer, Type element, ArrayRef<int64_t> strides) {
  element = storageType(element);
  OpBuilder &b = at[InnerScope];
  auto [first, stride] = offset(strides, InnerScope);
  if (stride == 0) {
    LLVM::StoreOp::create(b, loc(), lane.parts[0], address(b, loc(), pointer, element, first));
    return;
  }
  for (int64_t p = 0; p < parts; ++p) {
    Value start = arith::AddIOp::create(b, loc(), first, constantI64(b, loc(), p * nest.lanes * stride));
    Value target = address(b, loc(), pointer, element, start);
    if (stride == 1) {
      storeLanes(b, loc(), part(lane, p), target, maskOf(p));
      continue;
    }
    Value numbers = iota(b, loc(), constantI64(b, loc(), 0), nest.lanes);
    Value offsets = arith::MulIOp::create(b, loc(), numbers, splat(b, loc(), constantI64(b, loc(), stride), nest.lanes));
    scatterLanes(b, loc(), part(lane, p), target, offsets, maskOf(p));
  }
}

SmallVector<int64_t> Emitter::rowBufferStrides() {
  SmallVector<int64_t> strides(nest.loops.size(), 0);
  int64_t stride = 1;
  for (int loop : llvm::reverse(nest.inner)) {
    strides[loop] = stride;
    stride *= nest.loops[loop].size;
  }
  return strides;
}

// table[i, j, ...]: contiguous when the last index runs along the lanes. Lanes outside the last dimension are zero.
Lane Emitter::extract(Value tensor, ArrayRef<Lane> indices) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = storageType(type.getElementType());
  Lane lane;
  bool scalars = true, contiguous = !indices.empty() && bool(indices.back().base);
  for (auto [i, index] : llvm::enumerate(indices)) {
    lane.scope = std::max(lane.scope, index.scope);
    scalars &= index.uniform;
    contiguous &= index.uniform || i + 1 == indices.size();
  }
  OpBuilder &b = at[lane.scope];
  // A cast is the same memory under another shape (Lowering::flattened).
  if (auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>())
    tensor = cast.getOperand(0);
  Value pointer = pointers[tensor];
  auto scalarOffset = [&](ArrayRef<Lane> used) {
    Value total = constantI64(b, loc(), 0);
    for (auto [i, index] : llvm::enumerate(used)) {
      total = arith::MulIOp::create(b, loc(), total, constantI64(b, loc(), type.getDimSize(i)));
      total = arith::AddIOp::create(b, loc(), total, index.base ? index.base : index.parts[0]);
    }
    return total;
  };
  if (scalars) {
    lane.parts.push_back(LLVM::LoadOp::create(b, loc(), element, address(b, loc(), pointer, element, scalarOffset(indices))));
    return lane;
  }
  lane.uniform = false;
  if (contiguous) {
    Value first = scalarOffset(indices), base = indices.back().base;
    int64_t size = type.getShape().back();
    bool whole = base == loopIndex[nest.vectorLoop] && size == nest.loops[nest.vectorLoop].size;
    for (int64_t p = 0; p < parts; ++p) {
      Value start = arith::AddIOp::create(b, loc(), first, constantI64(b, loc(), p * nest.lanes));
      Value mask = maskOf(p);
      if (!whole) {
        Value left = arith::SubIOp::create(b, loc(), constantI64(b, loc(), size - p * nest.lanes), base);
        Value bound = maskBelow(b, loc(), left, nest.lanes);
        mask = mask ? arith::AndIOp::create(b, loc(), mask, bound).getResult() : bound;
      }
      lane.parts.push_back(loadLanes(b, loc(), address(b, loc(), pointer, element, start), element, nest.lanes, mask));
    }
    return lane;
  }
  for (int64_t p = 0; p < parts; ++p) {
    Value total = part(indices.front(), p);
    for (auto [i, index] : llvm::enumerate(indices.drop_front())) {
      Value size = splat(b, loc(), constantI64(b, loc(), type.getDimSize(i + 1)), nest.lanes);
      total = arith::MulIOp::create(b, loc(), total, size);
      total = arith::AddIOp::create(b, loc(), total, part(index, p));
    }
    lane.parts.push_back(gatherLanes(b, loc(), pointer, element, total, maskOf(p)));
  }
  return lane;
}

} // namespace npar::codegen
