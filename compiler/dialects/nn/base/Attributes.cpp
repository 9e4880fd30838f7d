// The attributes of the nn dialect and their text, the `at` attribute of ops, and what need not be kept.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/base/Base.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#include "compiler/dialects/nn/base/NnAttrInterfaces.cpp.inc"
#include "compiler/dialects/nn/base/NnDialect.cpp.inc"
#include "compiler/dialects/nn/base/NnOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/nn/base/NnAttrs.cpp.inc"

void NnDialect::addAllAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/nn/base/NnAttrs.cpp.inc"
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

InitAttr InitAttr::get(MLIRContext *context, InitKind initial, double deviation) {
  return get(context, initial, FloatAttr::get(Float64Type::get(context), deviation));
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  double deviation = 0;
  if (failed(parser.parseLess()))
    return {};
  FailureOr<InitKind> initial = compiler::parseWord<InitKind>(parser);
  if (failed(initial))
    return {};
  if (program::hasNumber(*initial) && (failed(parser.parseComma()) || failed(parser.parseFloat(deviation))))
    return {};
  if (failed(parser.parseGreater()))
    return {};
  return get(parser.getContext(), *initial, deviation);
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << wordOf(getInitial());
  if (program::hasNumber(getInitial())) {
    printer << ", ";
    printer.printFloat(getDeviation().getValue());
  }
  printer << ">";
}

//===- at ----------------------------------------------------------------------------------------------------------------===//

LogicalResult AtAttr::verify(function_ref<InFlightDiagnostic()> emitError, Phase phase, StringRef, int64_t) {
  return phase == Phase::Weight ? emitError() << "C1: an op cannot be of phase W, which only fragments have" : success();
}

AtAttr nn::getAt(Operation *op) { return attributes::at.get(op); }

void nn::setAt(Operation *op, AtAttr at) { attributes::at.set(op, at); }

void nn::setAt(Operation *op, Phase phase, StringRef path, int64_t block) { setAt(op, AtAttr::get(op->getContext(), phase, path, block)); }

//===- What is not worth keeping ------------------------------------------------------------------------------------------===//

static Origin originOf(Operation *op) {
  auto asked = llvm::dyn_cast<OriginOpInterface>(op);
  return asked ? asked.getOrigin() : Origin::Computed;
}

bool nn::isOperandItself(Operation *op) { return originOf(op) == Origin::Operand; }

bool nn::isFree(Operation *op) {
  auto isMadeAgain = [](Operation *each) {
    auto asked = llvm::dyn_cast<OriginOpInterface>(each);
    return asked && asked.isMadeAgain();
  };
  SmallVector<Operation *> todo{op};
  for (llvm::SmallPtrSet<Operation *, 8> seen; !todo.empty();) {
    Operation *each = todo.pop_back_val();
    if (!each)
      return false;
    if (originOf(each) == Origin::Nothing || !seen.insert(each).second)
      continue;
    if (!isMadeAgain(each))
      return false;
    for (Value operand : each->getOperands())
      todo.push_back(operand.getDefiningOp());
  }
  return true;
}

bool nn::isExpanded(Operation *op) { return op->hasTrait<Composite>() && !op->hasAttr(blockedAttribute); }

bool nn::isFetched(Operation *op) {
  while (op && isOperandItself(op))
    op = op->getOperand(0).getDefiningOp();
  return op && originOf(op) == Origin::Memory;
}
