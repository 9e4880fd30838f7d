// The nn dialect: its attributes, their text, and the `at` attribute of ops.
#include "compiler/dialects/nn/Nn.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#include "compiler/dialects/nn/NnAttrInterfaces.cpp.inc"
#include "compiler/dialects/nn/NnDialect.cpp.inc"
#include "compiler/dialects/nn/NnEnums.cpp.inc"
#include "compiler/dialects/nn/NnOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/nn/NnAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/nn/NnOps.cpp.inc"

void NnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/nn/NnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/nn/NnOps.cpp.inc"
      >();
}

//===- #nn.axes ----------------------------------------------------------------------------------------------------------===//

ArrayRef<StringAttr> AxesAttr::getAxisNames() const { return getNames(); }

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names) {
  for (auto [place, name] : llvm::enumerate(names)) {
    if (name.getValue().empty())
      return emitError() << "axis " << place << " has an empty name";
    if (llvm::is_contained(names.take_front(place), name))
      return emitError() << "axis '" << name.getValue() << "' appears twice in one tensor";
  }
  return success();
}

LogicalResult AxesAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getNames().size())
    return emitError() << "tensor of rank " << shape.size() << " has " << getNames().size() << " axis names";
  for (auto [name, size] : llvm::zip(getNames(), shape))
    if (size <= 0)
      return emitError() << "axis '" << name.getValue() << "' must have a positive static size";
  return success();
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&] {
    std::string name;
    if (failed(parser.parseKeywordOrString(&name)))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseName)))
    return {};
  return parser.getChecked<AxesAttr>(parser.getContext(), names);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getNames(), printer, [&](StringAttr name) { printer.printKeywordOrString(name.getValue()); });
  printer << ">";
}

//===- #nn.init ----------------------------------------------------------------------------------------------------------===//

InitAttr InitAttr::get(MLIRContext *context, Initial initial, double deviation) {
  return get(context, initial, FloatAttr::get(Float64Type::get(context), deviation));
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  double deviation = 0;
  SMLoc at = parser.getCurrentLocation();
  if (failed(parser.parseLess()) || failed(parser.parseKeyword(&word)))
    return {};
  std::optional<Initial> initial = symbolizeInitial(word);
  if (!initial) {
    parser.emitError(at) << "unknown initial values '" << word << "'; zeros, ones, normal and constant exist";
    return {};
  }
  if ((*initial == Initial::Normal || *initial == Initial::Constant) &&
      (failed(parser.parseComma()) || failed(parser.parseFloat(deviation))))
    return {};
  if (failed(parser.parseGreater()))
    return {};
  return get(parser.getContext(), *initial, deviation);
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitial(getInitial());
  if (getInitial() == Initial::Normal || getInitial() == Initial::Constant) {
    printer << ", ";
    printer.printFloat(getDeviation().getValue());
  }
  printer << ">";
}

//===- at ----------------------------------------------------------------------------------------------------------------===//

AtAttr nn::getAt(Operation *op) { return op->getAttrOfType<AtAttr>("at"); }

void nn::setAt(Operation *op, AtAttr at) { op->setDiscardableAttr("at", at); }

void nn::setAt(Operation *op, Phase phase, StringRef path, int64_t block) { setAt(op, AtAttr::get(op->getContext(), phase, path, block)); }

//===- What is not worth keeping ------------------------------------------------------------------------------------------===//

bool nn::isCheap(Operation *op) { return isa<ScaleOp, ShiftOp, BroadcastOp, ConvertOp, RenameOp, SinusoidOp>(op); }

bool nn::isWidening(Operation *op) {
  auto convert = dyn_cast<ConvertOp>(op);
  return convert && isNarrow(convert.getX().getType()) && !isNarrow(convert.getType());
}

bool nn::isFree(Operation *op) {
  while (op && isCheap(op))
    op = op->getOperand(0).getDefiningOp();
  return op && isa<IndexOp, FillOp>(op);
}

bool nn::isFetched(Operation *op) {
  while (op && (isa<RenameOp>(op) || isWidening(op)))
    op = op->getOperand(0).getDefiningOp();
  return op && isa<ReadOp, InputOp>(op);
}
