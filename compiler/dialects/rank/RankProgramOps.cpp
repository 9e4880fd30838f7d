// Verifiers and the operand syntax of rank programs.
#include "compiler/dialects/rank/Rank.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace npar::rank;

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  StringRef region;
  uint64_t offset = 0, bytes = 0;
  if (parser.parseLess() || parser.parseKeyword(&region) || parser.parseComma() || parser.parseInteger(offset) || parser.parseComma() ||
      parser.parseInteger(bytes) || parser.parseGreater())
    return {};
  return get(parser.getContext(), region, offset, bytes);
}

void PlaceAttr::print(AsmPrinter &printer) const { printer << '<' << getRegion() << ", " << getOffset() << ", " << getBytes() << '>'; }

/// `(scratch[0, 1024], static[64, 64])`
static ParseResult parsePlaces(OpAsmParser &parser, ArrayAttr &places) {
  SmallVector<Attribute> list;
  auto parsePlace = [&]() -> ParseResult {
    StringRef region;
    uint64_t offset = 0, bytes = 0;
    if (parser.parseKeyword(&region) || parser.parseLSquare() || parser.parseInteger(offset) || parser.parseComma() ||
        parser.parseInteger(bytes) || parser.parseRSquare())
      return failure();
    list.push_back(PlaceAttr::get(parser.getContext(), region, offset, bytes));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePlace))
    return failure();
  places = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printPlaces(OpAsmPrinter &printer, Operation *, ArrayAttr places) {
  printer << '(';
  llvm::interleaveComma(places.getAsRange<PlaceAttr>(), printer.getStream(), [&](PlaceAttr place) {
    printer << place.getRegion() << '[' << place.getOffset() << ", " << place.getBytes() << ']';
  });
  printer << ')';
}

#include "compiler/dialects/rank/RankEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/rank/RankAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/rank/RankOps.cpp.inc"

void npar::rank::RankDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/rank/RankAttrs.cpp.inc"
      >();
}

LogicalResult RegionOp::verify() {
  if (int64_t(getBytes()) < 0 || int64_t(getSlots()) < 1 || int64_t(getOffset()) < 0)
    return emitOpError("'") << getName() << "' needs at least one slot, and no negative size or offset";
  return success();
}

LogicalResult StepOp::verify() {
  constexpr size_t most = std::numeric_limits<uint16_t>::max(); // Step.inputs and Step.outputs of the compiled program
  if (getInputs().size() > most || getOutputs().size() > most)
    return emitOpError("has ") << getInputs().size() << " inputs and " << getOutputs().size()
                               << " outputs; a step of a compiled program has at most " << most << " of each";
  auto shape = [&](size_t inputs, size_t outputs) { return getInputs().size() == inputs && getOutputs().size() == outputs; };
  auto require = [&](std::initializer_list<StringRef> names) -> LogicalResult {
    for (StringRef name : names)
      if (!getDoes().contains(name))
        return emitOpError("of kind '") << stringifyStepKind(getKind()) << "' needs '" << name << "' in 'does'";
    return success();
  };
  auto operands = [&](bool good) -> LogicalResult {
    return good ? success()
                : emitOpError("of kind '") << stringifyStepKind(getKind()) << "' has " << getInputs().size() << " inputs and "
                                           << getOutputs().size() << " outputs";
  };
  switch (getKind()) {
  case StepKind::Kernel:
    return require({"kernel"});
  case StepKind::Matmul:
    if (failed(operands(shape(2, 1) || shape(2, 2))))
      return failure();
    return require({"type", "m", "n", "k", "batch", "a", "b", "c"});
  case StepKind::Collective:
    if (failed(operands(!getInputs().empty() && shape(getInputs().size(), getInputs().size()))))
      return failure();
    return require({"kind", "op", "axes", "event", "count", "type", "geometry"});
  case StepKind::Send:
  case StepKind::Receive:
    if (failed(operands(getKind() == StepKind::Send ? shape(1, 0) : shape(0, 1))))
      return failure();
    return require({"axis", "peer", "event", "count", "type"});
  case StepKind::Zero:
    return operands(shape(0, 1));
  case StepKind::Copy:
    return operands(shape(1, 1));
  }
  return success();
}

LogicalResult FragmentOp::verify() {
  int64_t number = 0;
  for (Operation &op : getBody().front()) {
    auto step = dyn_cast<StepOp>(op);
    if (!step)
      return op.emitOpError("does not belong into a fragment, only 'rank.step' does");
    for (int32_t earlier : step.getAfter())
      if (earlier < 0 || earlier >= number)
        return step.emitOpError("number ") << number << " waits for step " << earlier << ", which is not earlier";
    ++number;
  }
  return success();
}

LogicalResult CommunicateOp::verify() {
  if (getOrder().size() % 2)
    return emitOpError("holds ") << getOrder().size() << " numbers, needs pairs of task and step";
  return success();
}

LogicalResult ProgramOp::verify() {
  llvm::StringMap<uint64_t> regions;
  llvm::StringMap<int64_t> fragments; // name -> number of steps
  SmallVector<int64_t> tasks;         // number of steps
  for (Operation &op : getBody().front()) {
    if (auto region = dyn_cast<RegionOp>(op)) {
      if (!regions.try_emplace(region.getName(), region.getBytes()).second)
        return region.emitOpError("defines region '") << region.getName() << "' a second time";
    } else if (auto fragment = dyn_cast<FragmentOp>(op)) {
      Block &body = fragment.getBody().front();
      if (!fragments.try_emplace(fragment.getName(), std::distance(body.begin(), body.end())).second)
        return fragment.emitOpError("defines fragment '") << fragment.getName() << "' a second time";
      for (StepOp step : body.getOps<StepOp>())
        for (ArrayAttr places : {step.getInputs(), step.getOutputs()})
          for (PlaceAttr place : places.getAsRange<PlaceAttr>()) {
            auto found = regions.find(place.getRegion());
            if (found == regions.end())
              return step.emitOpError("uses unknown region '") << place.getRegion() << "'";
            if (place.getOffset() > found->second || place.getBytes() > found->second - place.getOffset())
              return step.emitOpError("uses bytes ") << place.getOffset() << " to " << place.getOffset() + place.getBytes()
                                                     << " of region '" << place.getRegion() << "' of " << found->second << " bytes";
          }
    } else if (auto task = dyn_cast<TaskOp>(op)) {
      auto found = fragments.find(task.getFragment());
      if (found == fragments.end())
        return task.emitOpError("runs unknown fragment '") << task.getFragment() << "'";
      if (task.getBases().size() != regions.size())
        return task.emitOpError("has ") << task.getBases().size() << " bases for " << regions.size() << " regions";
      tasks.push_back(found->second);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      auto exists = [&](int64_t task, int64_t step) {
        return task >= 0 && task < int64_t(tasks.size()) && step >= 0 && step < tasks[task];
      };
      if (!exists(wait.getTask(), wait.getStep()) || !exists(wait.getOnTask(), wait.getOnStep()) || wait.getOnTask() >= wait.getTask())
        return wait.emitOpError("must name two existing steps, the second of an earlier task");
    } else if (auto communicate = dyn_cast<CommunicateOp>(op)) {
      ArrayRef<int32_t> order = communicate.getOrder();
      for (size_t i = 0; i + 1 < order.size(); i += 2)
        if (order[i] < 0 || order[i] >= int64_t(tasks.size()) || order[i + 1] < 0 || order[i + 1] >= tasks[order[i]])
          return communicate.emitOpError("names step ") << order[i + 1] << " of task " << order[i] << ", which does not exist";
    } else if (!isa<VariableOp, InputOp, OutputOp>(op)) {
      return op.emitOpError("does not belong into a rank program");
    }
  }
  return success();
}
