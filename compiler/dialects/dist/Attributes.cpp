// The mesh, layout and rule attributes: text form, checks and the arithmetic of splits.
#include "compiler/dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/dist/DistAttrs.cpp.inc"

namespace npar::dist {

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/dist/DistAttrs.cpp.inc"
      >();
}

static ParseResult parseName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

static bool hasDuplicate(ArrayRef<StringAttr> names, StringAttr &duplicate) {
  llvm::SmallDenseSet<Attribute> seen;
  for (StringAttr name : names)
    if (!seen.insert(name).second) {
      duplicate = name;
      return true;
    }
  return false;
}

// --- mesh ---

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc start = parser.getCurrentLocation();
  auto entry = [&]() -> ParseResult {
    return failure(parseName(parser, names.emplace_back()) || parser.parseEqual() || parser.parseInteger(sizes.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, entry))
    return {};
  return MeshAttr::getChecked([&] { return parser.emitError(start); }, parser.getContext(), names, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip(getNames(), getSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis));
    printer << " = " << std::get<1>(axis);
  });
  printer << ">";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  StringAttr duplicate;
  if (hasDuplicate(names, duplicate))
    return emitError() << "mesh axis '" << duplicate.getValue() << "' is declared twice";
  for (auto [name, size] : llvm::zip(names, sizes))
    if (size < 1)
      return emitError() << "mesh axis '" << name.getValue() << "' has size " << size << ", not at least 1";
  return success();
}

int64_t MeshAttr::indexOf(StringAttr axis) const {
  const auto *found = llvm::find(getNames(), axis);
  return found == getNames().end() ? -1 : found - getNames().begin();
}

int64_t MeshAttr::sizeOf(StringAttr axis) const {
  int64_t index = indexOf(axis);
  return index < 0 ? -1 : getSizes()[index];
}

int64_t MeshAttr::sizeOf(ArrayRef<StringAttr> axes) const {
  int64_t product = 1;
  for (StringAttr axis : axes)
    product *= sizeOf(axis);
  return product;
}

int64_t MeshAttr::world() const { return sizeOf(getNames()); }

// --- layout ---

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names, partialAxes, flatAxes;
  std::optional<program::ReduceOp> reduction;
  SmallVector<int64_t> sizes;
  SmallVector<ArrayAttr> splits;
  SMLoc start = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  auto partial = [&]() -> ParseResult {
    StringAttr word;
    if (parseName(parser, partialAxes.emplace_back()) || parser.parseColon() || parseName(parser, word))
      return failure();
    if (!isReduction(word) || (reduction && wordOf(*reduction) != word))
      return parser.emitError(start) << "partial kinds are all 'sum' or all 'max', not '" << word.getValue() << "'";
    reduction = program::valueOf<program::ReduceOp>(word.getValue());
    return success();
  };
  auto flat = [&]() -> ParseResult { return parseName(parser, flatAxes.emplace_back()); };
  auto entry = [&]() -> ParseResult {
    StringAttr name;
    if (parseName(parser, name))
      return failure();
    if (name.getValue() == "flat" && succeeded(parser.parseOptionalEqual()))
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, flat);
    if (name.getValue() == "partial" && succeeded(parser.parseOptionalEqual()))
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, partial);
    names.push_back(name);
    SmallVector<StringAttr> split;
    auto meshAxis = [&]() -> ParseResult { return parseName(parser, split.emplace_back()); };
    if (parser.parseColon() || parser.parseInteger(sizes.emplace_back()) ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, meshAxis))
      return failure();
    splits.push_back(stringArray(context, split));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, entry))
    return {};
  return LayoutAttr::getChecked([&] { return parser.emitError(start); }, context, names, sizes, splits, partialAxes,
                                reduction.value_or(program::ReduceOp::Sum), flatAxes);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::ListSeparator comma;
  for (auto [dim, name] : llvm::enumerate(getNames())) {
    printer << StringRef(comma);
    printer.printKeywordOrString(name);
    printer << " : " << getSizes()[dim];
    if (getSplits()[dim].empty())
      continue;
    printer << " {";
    llvm::interleaveComma(splitsOf(dim), printer, [&](StringAttr axis) { printer.printKeywordOrString(axis); });
    printer << "}";
  }
  if (isFlat()) {
    printer << StringRef(comma) << "flat = {";
    llvm::interleaveComma(getFlatAxes(), printer, [&](StringAttr axis) { printer.printKeywordOrString(axis); });
    printer << "}";
  }
  if (isPartial()) {
    printer << StringRef(comma) << "partial = {";
    llvm::interleaveComma(getPartialAxes(), printer, [&](StringAttr axis) {
      printer.printKeywordOrString(axis);
      printer << " : " << wordOf(getReduction());
    });
    printer << "}";
  }
  printer << ">";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes,
                                 ArrayRef<ArrayAttr> splits, ArrayRef<StringAttr> partialAxes, program::ReduceOp,
                                 ArrayRef<StringAttr> flatAxes) {
  assert(names.size() == sizes.size() && names.size() == splits.size());
  StringAttr duplicate;
  if (hasDuplicate(names, duplicate))
    return emitError() << "axis '" << duplicate.getValue() << "' appears twice in a layout";
  for (auto [name, size] : llvm::zip(names, sizes))
    if (size < 1)
      return emitError() << "axis '" << name.getValue() << "' has size " << size << ", not at least 1";
  SmallVector<StringAttr> used(partialAxes);
  for (ArrayAttr split : splits)
    llvm::append_range(used, stringsOf(split));
  llvm::append_range(used, flatAxes);
  if (hasDuplicate(used, duplicate))
    return emitError() << "mesh axis '" << duplicate.getValue() << "' is used twice in a layout";
  return success();
}

ArrayRef<StringAttr> LayoutAttr::getAxisNames() const {
  return isFlat() ? ArrayRef<StringAttr>(cast<DistDialect>(getDialect()).flatName) : getNames();
}

int64_t LayoutAttr::dimOf(StringAttr axis) const {
  const auto *found = llvm::find(getNames(), axis);
  return found == getNames().end() ? -1 : found - getNames().begin();
}

SmallVector<StringAttr> LayoutAttr::splitsOf(int64_t dim) const { return stringsOf(getSplits()[dim]); }

bool LayoutAttr::splitsOver(StringAttr meshAxis) const {
  return llvm::is_contained(getFlatAxes(), meshAxis) ||
         llvm::any_of(getSplits(), [&](ArrayAttr split) { return llvm::is_contained(split, meshAxis); });
}

SmallVector<int64_t> LayoutAttr::localShape(MeshAttr mesh) const {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(getSizes()))
    shape.push_back(llvm::divideCeil(size, mesh.sizeOf(splitsOf(dim))));
  if (!isFlat())
    return shape;
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  int64_t blocks = llvm::divideCeil(elements, flatBlock);
  return {static_cast<int64_t>(llvm::divideCeil(blocks, mesh.sizeOf(getFlatAxes()))) * flatBlock};
}

bool LayoutAttr::isPadded(int64_t dim, MeshAttr mesh) const { return getSizes()[dim] % mesh.sizeOf(splitsOf(dim)) != 0; }

LayoutAttr LayoutAttr::withSplits(int64_t dim, ArrayRef<StringAttr> meshAxes) const {
  SmallVector<ArrayAttr> splits(getSplits());
  splits[dim] = stringArray(getContext(), meshAxes);
  return LayoutAttr::get(getContext(), getNames(), getSizes(), splits, getPartialAxes(), getReduction(), getFlatAxes());
}

LayoutAttr LayoutAttr::withoutPartial() const {
  return LayoutAttr::get(getContext(), getNames(), getSizes(), getSplits(), ArrayRef<StringAttr>(), getReduction(), getFlatAxes());
}

LayoutAttr LayoutAttr::withFlat(ArrayRef<StringAttr> meshAxes) const {
  return LayoutAttr::get(getContext(), getNames(), getSizes(), getSplits(), getPartialAxes(), getReduction(), meshAxes);
}

// --- cause ---

LogicalResult CauseAttr::verify(function_ref<InFlightDiagnostic()> emitError, program::CauseKind, StringAttr, StringAttr, ArrayAttr axes,
                                ArrayAttr rules, StringAttr, StringAttr) {
  if ((axes ? axes.size() : 0) != (rules ? rules.size() : 0))
    return emitError() << "C1: a cause has " << (axes ? axes.size() : 0) << " axes and " << (rules ? rules.size() : 0) << " rules";
  for (ArrayAttr list : {axes, rules})
    for (Attribute text : list ? list.getValue() : ArrayRef<Attribute>())
      if (!isa<StringAttr>(text))
        return emitError() << "C1: axes and rules of a cause are texts, not " << text;
  return success();
}

// --- rule ---

Attribute RuleAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  StringAttr axis, op = StringAttr::get(context, ""), layer = op, by = op;
  SmallVector<StringAttr> mesh;
  bool pad = false;
  LocationAttr loc = UnknownLoc::get(context);
  auto meshAxis = [&]() -> ParseResult { return parser.parseAttribute(mesh.emplace_back()); };
  auto entry = [&]() -> ParseResult {
    StringRef key;
    if (failed(parser.parseOptionalKeyword(&key, {"axis", "mesh", "pad", "op", "layer", "by"})))
      return parser.parseAttribute(loc);
    pad |= key == "pad";
    if (key == "pad")
      return success();
    if (parser.parseEqual())
      return failure();
    if (key == "mesh")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, meshAxis);
    StringAttr &value = key == "axis" ? axis : key == "op" ? op : key == "by" ? by : layer;
    return parser.parseAttribute(value);
  };
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, entry))
    return {};
  if (!axis) {
    parser.emitError(start, "a rule needs an axis");
    return {};
  }
  return RuleAttr::get(context, axis, pad, mesh, op, layer, by, loc);
}

void RuleAttr::print(AsmPrinter &printer) const {
  printer << "<axis = " << getAxis() << ", mesh = [";
  llvm::interleaveComma(getMesh(), printer, [&](StringAttr axis) { printer << axis; });
  printer << "]" << (getPad() ? ", pad" : "");
  if (!getOp().empty())
    printer << ", op = " << getOp();
  if (!getLayer().empty())
    printer << ", layer = " << getLayer();
  if (!getBy().empty())
    printer << ", by = " << getBy();
  if (!isa<UnknownLoc>(getLoc()))
    printer << ", " << getLoc();
  printer << ">";
}

std::string RuleAttr::text() const {
  std::string text = (getAxis().getValue() + (getPad() ? " pad -> " : " -> ")).str();
  if (getMesh().empty())
    text += "none";
  for (auto [i, axis] : llvm::enumerate(getMesh()))
    text += (i ? ", " : "") + axis.str();
  if (!getBy().empty())
    text += getBy() == "ring_zigzag" ? " by ring(zigzag)" : " by " + getBy().str();
  if (!getOp().empty())
    text += " in op " + getOp().str();
  if (!getLayer().empty())
    text += " in layer \"" + getLayer().str() + "\"";
  return text;
}

} // namespace npar::dist
