// Types with named axes and the default loop axes of ops.
#include "compiler/dialects/nn/base/Base.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "engine/program/Elements.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

static NamedAxesAttrInterface encodingOf(Type type) {
  auto tensor = llvm::dyn_cast_or_null<RankedTensorType>(type);
  return tensor ? llvm::dyn_cast_or_null<NamedAxesAttrInterface>(tensor.getEncoding()) : nullptr;
}

bool nn::isNamedTensor(Type type) { return encodingOf(type) && llvm::cast<RankedTensorType>(type).hasStaticShape(); }

ArrayRef<StringAttr> nn::axesOf(Type type) {
  NamedAxesAttrInterface encoding = encodingOf(type);
  return encoding ? encoding.getAxisNames() : ArrayRef<StringAttr>();
}

int64_t nn::dimOf(Type type, StringAttr axis) {
  ArrayRef<StringAttr> axes = axesOf(type);
  const StringAttr *found = llvm::find(axes, axis);
  return found == axes.end() ? -1 : found - axes.begin();
}

int64_t nn::sizeOf(Type type, StringAttr axis) {
  int64_t dim = dimOf(type, axis);
  return dim < 0 ? -1 : llvm::cast<RankedTensorType>(type).getDimSize(dim);
}

bool nn::hasAxis(Type type, StringAttr axis) { return dimOf(type, axis) >= 0; }

RankedTensorType nn::withAxes(Type element, ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  return RankedTensorType::get(sizes, element, AxesAttr::get(element.getContext(), names));
}

RankedTensorType nn::withElement(Type type, Type element) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding());
}

RankedTensorType nn::withoutAxes(RankedTensorType type, ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : llvm::zip(axesOf(type), type.getShape()))
    if (!llvm::is_contained(axes, name)) {
      names.push_back(name);
      sizes.push_back(size);
    }
  return withAxes(type.getElementType(), names, sizes);
}

RankedTensorType nn::scalarOf(Type element) { return withAxes(element, {}, {}); }

StringRef nn::stringifyLoopKind(LoopKind kind) {
  switch (kind) {
  case LoopKind::Parallel:
    return "parallel";
  case LoopKind::Reduce:
    return "reduce";
  case LoopKind::Internal:
    return "internal";
  case LoopKind::Context:
    return "context";
  case LoopKind::Window:
    return "window";
  case LoopKind::Whole:
    return "whole";
  }
  llvm_unreachable("a loop kind without a word");
}

int64_t nn::bytesOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// No axis of a text has a point in its name.
static constexpr llvm::StringLiteral spreadMark = ".rows.";

StringAttr nn::spreadRows(StringAttr rows, StringAttr entries) {
  return StringAttr::get(rows.getContext(), entries.getValue() + spreadMark + rows.getValue());
}

StringAttr nn::entriesOfRows(StringAttr axis) {
  auto [entries, rows] = axis.getValue().split(spreadMark);
  return rows.empty() || rows.contains(spreadMark) || rows.ends_with(".local") ? StringAttr() : StringAttr::get(axis.getContext(), entries);
}

static void addAxes(SmallVector<LoopAxis> &axes, TypeRange types, LoopKind kind) {
  for (Type type : types)
    for (StringAttr name : axesOf(type))
      if (llvm::none_of(axes, [&](const LoopAxis &axis) { return axis.name == name; }))
        axes.push_back({name, kind});
}

SmallVector<LoopAxis> nn::defaultLoopAxes(Operation *op) {
  SmallVector<LoopAxis> axes;
  addAxes(axes, op->getResultTypes(), LoopKind::Parallel);
  addAxes(axes, op->getOperandTypes(), op->getNumResults() ? LoopKind::Reduce : LoopKind::Parallel);
  return axes;
}

SmallVector<LoopAxis> nn::withKind(SmallVector<LoopAxis> axes, StringAttr name, LoopKind kind) {
  for (LoopAxis &axis : axes)
    if (axis.name == name) {
      axis.kind = kind;
      return axes;
    }
  axes.push_back({name, kind});
  return axes;
}

SmallVector<StringAttr> nn::defaultLoopOrder(Operation *op) { return llvm::to_vector(axesOf(op->getResult(0).getType())); }

bool nn::isContracted(Operation *op, unsigned operand, StringAttr axis) {
  if (!llvm::isa<FloatType>(getElementTypeOrSelf(op->getOperand(operand).getType())))
    return false;
  auto shardable = llvm::dyn_cast<ShardableOpInterface>(op);
  StringAttr loop = shardable ? shardable.loopOfOperand(operand, axis) : axis;
  return op->getNumResults() == 0 || llvm::none_of(axesOf(op->getResult(0).getType()), [&](StringAttr name) {
           return (shardable ? shardable.loopOfResult(0, name) : name) == loop;
         });
}

double nn::defaultFlops(Operation *op) {
  double most = 0;
  auto count = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
        most = std::max(most, static_cast<double>(tensor.getNumElements()));
  };
  count(op->getOperandTypes());
  count(op->getResultTypes());
  return most;
}

double nn::functionsOf(Operation *op) {
  auto kernel = llvm::dyn_cast<KernelOpInterface>(op);
  bool isFunction = kernel && (kernel.getEffort() == Effort::Some || kernel.getEffort() == Effort::Much);
  return isFunction ? defaultFlops(op) : 0;
}

double nn::loopVolume(Operation *op) {
  double volume = 1;
  SmallVector<StringAttr> seen;
  auto visit = [&](TypeRange types) {
    for (Type type : types)
      for (StringAttr name : axesOf(type))
        if (!llvm::is_contained(seen, name)) {
          seen.push_back(name);
          volume *= static_cast<double>(sizeOf(type, name));
        }
  };
  visit(op->getResultTypes());
  visit(op->getOperandTypes());
  return volume;
}

/// If a result lacks a loop that may be split, it is assembled from parts; the op must state how.
LogicalResult nn::verifyReduction(Operation *operation) {
  auto op = llvm::dyn_cast<ShardableOpInterface>(operation);
  if (!op || op.getReduction())
    return success();
  for (OpResult result : op->getResults()) {
    auto isWalked = [&](StringAttr loop) {
      return llvm::any_of(axesOf(result.getType()),
                          [&](StringAttr axis) { return op.loopOfResult(result.getResultNumber(), axis) == loop; });
    };
    // Elementwise ops are done here; only the others are asked for their loops.
    bool whole = llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
      return llvm::all_of(axesOf(use.get().getType()),
                          [&](StringAttr axis) { return isWalked(op.loopOfOperand(use.getOperandNumber(), axis)); });
    });
    if (whole)
      continue;
    for (const LoopAxis &loop : op.getLoopAxes())
      if ((loop.kind == LoopKind::Parallel || loop.kind == LoopKind::Reduce) && !isWalked(loop.name))
        return op->emitOpError() << "internal error: result " << result.getResultNumber() << " lacks the loop '" << loop.name.getValue()
                                 << "' and the op does not define what joins its parts";
  }
  return success();
}

LogicalResult nn::verifyAxesAgree(Operation *op) {
  struct Seen {
    StringAttr name;
    int64_t size;
    std::string where;
  };
  SmallVector<Seen> seen;
  // A loop may walk axes of different sizes if only splits agree.
  auto shardable = op->hasTrait<SplitsAgree>() ? ShardableOpInterface() : llvm::dyn_cast<ShardableOpInterface>(op);
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [number, type] : llvm::enumerate(types))
      for (auto [dim, name] : llvm::enumerate(axesOf(type))) {
        int64_t size = llvm::cast<RankedTensorType>(type).getDimSize(dim);
        std::string where = (what + " " + llvm::Twine(number)).str();
        StringAttr axis = !shardable          ? name
                          : what == "operand" ? shardable.loopOfOperand(number, name)
                                              : shardable.loopOfResult(number, name);
        Seen *before = llvm::find_if(seen, [&](const Seen &entry) { return entry.name == axis; });
        if (before == seen.end())
          seen.push_back({axis, size, where});
        else if (before->size != size)
          return op->emitOpError() << "axis '" << axis.getValue() << "' has size " << before->size << " in " << before->where << " but "
                                   << size << " in " << where;
      }
    return success();
  };
  return failure(failed(check(op->getOperandTypes(), "operand")) || failed(check(op->getResultTypes(), "result")));
}
