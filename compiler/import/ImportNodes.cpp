// Operations of nodes: their types, attributes and operands.
#include "compiler/import/ImportNodes.h"

#include "compiler/dialects/nn/Unrounded.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/Integer.h"

using namespace mlir;
using namespace npar;
using namespace npar::compiler;
using namespace npar::nn;

NodeImporter::NodeImporter(MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources, ArrayRef<int> unrounded)
    : builder(&context), program(program), model(program.model), sources(sources), unrounded(unrounded) {
  compute = typeOf(program.plan.compute);
  for (const dsl::Axis &axis : model.axes)
    sizes[axis.name] = axis.size;
  for (const dsl::Parameter &parameter : model.parameters)
    if (parameter.untrained)
      states[parameter.path] = &parameter;
}

Location NodeImporter::location(const dsl::Location &at) {
  if (at.line == 0 || at.file >= sources.size())
    return builder.getUnknownLoc();
  return FileLineColRange::get(builder.getStringAttr(sources.name(at.file)), at.line, at.column, at.column + at.length);
}

Type NodeImporter::typeOf(program::ElementType type) { return nn::typeOf(type, builder.getContext()); }

RankedTensorType NodeImporter::typeOf(const dsl::TensorType &type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> shape;
  for (const std::string &axis : type.axes) {
    names.push_back(builder.getStringAttr(axis));
    shape.push_back(sizes.lookup(axis));
  }
  return withAxes(isInteger(type.element) ? typeOf(widened(type.element)) : compute, names, shape);
}

RankedTensorType NodeImporter::typeOf(const dsl::Parameter &parameter) {
  RankedTensorType type = typeOf(parameter.type);
  return parameter.untrained ? llvm::cast<RankedTensorType>(withElement(type, typeOf(widened(program.plan.compute)))) : type;
}

void NodeImporter::beginFunction(ModuleOp module, StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, location(model.location), name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value NodeImporter::fill(Location loc, RankedTensorType type, double value, const dsl::Node &at, Phase phase) {
  return place(FillOp::create(builder, loc, type, builder.getF64FloatAttr(value)), at, phase);
}

/// Converts an attribute; returns null if the value does not have this kind.
Attribute NodeImporter::attributeOf(dsl::AttributeKind kind, const dsl::Attribute &value) {
  switch (kind) {
  case dsl::AttributeKind::Truth:
    if (const bool *truth = std::get_if<bool>(&value))
      return builder.getBoolAttr(*truth);
    break;
  case dsl::AttributeKind::Integer:
    if (const int64_t *whole = std::get_if<int64_t>(&value))
      return builder.getI64IntegerAttr(*whole);
    break;
  case dsl::AttributeKind::Number:
    if (const double *real = std::get_if<double>(&value))
      return builder.getF64FloatAttr(*real);
    break;
  case dsl::AttributeKind::Numbers:
    if (const std::vector<double> *list = std::get_if<std::vector<double>>(&value))
      return builder.getDenseF64ArrayAttr(*list);
    break;
  case dsl::AttributeKind::Text:
    if (const std::string *text = std::get_if<std::string>(&value))
      return builder.getStringAttr(*text);
    break;
  case dsl::AttributeKind::Integers:
    if (const std::vector<int64_t> *list = std::get_if<std::vector<int64_t>>(&value))
      return builder.getDenseI64ArrayAttr(*list);
    break;
  case dsl::AttributeKind::Texts:
    if (const std::vector<std::string> *list = std::get_if<std::vector<std::string>>(&value))
      return builder.getStrArrayAttr(SmallVector<StringRef>(list->begin(), list->end()));
    break;
  }
  return {};
}

/// The attributes as the language's table of nodes has them; nothing, with an error reported, where they are others.
std::optional<NamedAttrList> NodeImporter::attributesOf(const dsl::Node &node, const dsl::NodeKind &kind) {
  NamedAttrList result;
  size_t found = 0;
  for (const dsl::NodeAttribute &attribute : kind.attributes) {
    auto given = node.attributes.find(attribute.name);
    if (given == node.attributes.end() && attribute.optional)
      continue;
    Attribute value = given == node.attributes.end() ? Attribute() : attributeOf(attribute.kind, given->second);
    if (!value) {
      emitError(location(node.location)) << "internal error: operation '" << node.op << "' needs its attribute '" << attribute.name << "'";
      return std::nullopt;
    }
    result.append(attribute.name, value);
    ++found;
  }
  if (node.attributes.count(dsl::unroundedNode) != 0) {
    if (isNarrow(compute))
      result.append(unroundedAttribute, builder.getUnitAttr());
    ++found;
  }
  if (found == node.attributes.size())
    return result;
  emitError(location(node.location)) << "internal error: operation '" << node.op << "' has attributes that no table lists";
  return std::nullopt;
}

const int64_t *NodeImporter::ignoredTarget(const dsl::Node &loss) {
  auto found = loss.attributes.find("ignore");
  return found == loss.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
}

std::string NodeImporter::text(const dsl::Node &node, const std::string &name) {
  auto found = node.attributes.find(name);
  const std::string *value = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return value ? *value : "";
}

LogicalResult NodeImporter::addNodes(const std::vector<bool> &needed, llvm::function_ref<At(const dsl::Node &)> where) {
  for (auto [index, node] : llvm::enumerate(model.nodes)) {
    if (!needed[index] || values[index])
      continue;
    if (node.op == dsl::countingNode) {
      if (!(values[index] = counting(node, where)))
        return failure();
      continue;
    }
    At at = where(node);
    if (node.op == "parameter") {
      values[index] = read(node, at);
      continue;
    }
    Operation *op = createOp(node, at);
    if (!op)
      return failure();
    if (llvm::binary_search(unrounded, static_cast<int>(index)))
      op->setAttr(unroundedAttribute, builder.getUnitAttr());
    values[index] = op->getResult(0);
  }
  return success();
}

bool NodeImporter::fills() const {
  return !model.losses.empty() && llvm::all_of(model.losses, [&](const dsl::Loss &loss) { return ignoredTarget(model.nodes[loss.node]); });
}

Value NodeImporter::countingSamples(const dsl::Node &at) {
  if (!fills())
    return {};
  Type i32 = builder.getI32Type();
  RankedTensorType samples = typeOf(dsl::TensorType{program::ElementType::I32, {"batch"}});
  Value any;
  for (const dsl::Loss &loss : model.losses) {
    const dsl::Node &entropy = model.nodes[loss.node];
    Location loc = location(at.location);
    Value targets = values[entropy.operands[1]];
    Value other = fill(loc, scalarOf(i32), static_cast<double>(*ignoredTarget(entropy)), at);
    Value counts = place(CompareOp::create(builder, loc, targets.getType(), targets, other, "not_equal"), at);
    counts = place(MaxOp::create(builder, loc, samples, counts), at);
    any = any ? place(IntegerOp::create(builder, loc, samples, any, counts, "or"), at).getResult() : counts;
  }
  return any;
}

Value NodeImporter::counting(const dsl::Node &node, llvm::function_ref<At(const dsl::Node &)> where) {
  if (!fills())
    return fill(location(node.location), typeOf(node.type), 1, node);
  for (const dsl::Loss &loss : model.losses) {
    int targets = model.nodes[loss.node].operands[1]; // an input, which may be declared further down
    Operation *input = values[targets] ? nullptr : createOp(model.nodes[targets], where(model.nodes[targets]));
    if (!values[targets] && !input)
      return {};
    if (input)
      values[targets] = input->getResult(0);
  }
  return countingSamples(node);
}

/// The element type of the values in a batch for an input of this type: floating-point values are f32 regardless of the compute type.
Type NodeImporter::valuesOf(program::ElementType type) { return typeOf(isInteger(type) ? type : program::ElementType::F32); }

Value NodeImporter::read(const dsl::Node &node, At at) {
  const std::string path = text(node, "name");
  Type type = typeOf(node.type);
  auto state = states.find(path);
  Type stored = state == states.end() ? type : Type(typeOf(*state->second));
  Operation *read = ReadOp::create(builder, location(node.location), stored, path);
  setAt(read, at.phase, at.path, at.block);
  if (stored == type)
    return read->getResult(0);
  read = ConvertOp::create(builder, location(node.location), type, read->getResult(0));
  setAt(read, at.phase, at.path, at.block);
  return read->getResult(0);
}

/// Null, with an error reported, where the language's table of nodes or the dialect has no such op.
Operation *NodeImporter::createOp(const dsl::Node &node, At at) {
  OperationState state(location(node.location), "nn." + node.op);
  const dsl::NodeKind *kind = dsl::findNodeKind(node.op);
  auto *language = state.name.isRegistered() ? state.name.getInterface<LanguageOpInterface>() : nullptr;
  if (!kind || !language) {
    emitError(state.location) << "internal error: unknown operation '" << node.op << "'";
    return nullptr;
  }
  std::optional<NamedAttrList> attributes = attributesOf(node, *kind);
  if (!attributes)
    return nullptr;
  state.attributes = *attributes;
  for (int operand : node.operands)
    state.addOperands(values[operand]);
  RankedTensorType type = typeOf(node.type);
  state.addTypes(type);
  state.addTypes(language->getFurtherTypes(type, attributes->getDictionary(builder.getContext())));
  if (Type values = node.op == "input" ? valuesOf(node.type.element) : Type(); values && values != type.getElementType())
    state.addAttribute("values", TypeAttr::get(values));
  Operation *op = builder.create(state);
  setAt(op, at.phase, at.path, at.block);
  return op;
}
