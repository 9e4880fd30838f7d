// Causes as attributes, and back.
#include "compiler/dialects/dist/Cause.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace npar::dist {

CauseAttr attributeOf(MLIRContext *context, const program::CauseT &cause) {
  Builder builder(context);
  auto text = [&](const std::string &value) { return value.empty() ? StringAttr() : builder.getStringAttr(value); };
  SmallVector<StringRef> axes, rules;
  for (const auto &axis : cause.axes) {
    axes.push_back(axis->axis);
    rules.push_back(axis->rule);
  }
  auto list = [&](ArrayRef<StringRef> values) { return values.empty() ? ArrayAttr() : builder.getStrArrayAttr(values); };
  return CauseAttr::get(context, cause.kind, text(cause.operation), text(cause.variable), list(axes), list(rules), text(cause.mesh_axis),
                        text(cause.store));
}

std::unique_ptr<program::CauseT> causeOf(CauseAttr attribute) {
  if (!attribute)
    return nullptr;
  auto text = [](StringAttr value) { return value ? value.str() : std::string(); };
  auto cause = std::make_unique<program::CauseT>();
  cause->kind = attribute.getKind();
  cause->operation = text(attribute.getOperation());
  cause->variable = text(attribute.getVariable());
  if (ArrayAttr axes = attribute.getAxes())
    for (auto [axis, rule] : llvm::zip(axes.getAsRange<StringAttr>(), attribute.getRules().getAsRange<StringAttr>())) {
      cause->axes.push_back(std::make_unique<program::CauseAxisT>());
      cause->axes.back()->axis = axis.str();
      cause->axes.back()->rule = rule.str();
    }
  cause->mesh_axis = text(attribute.getMeshAxis());
  cause->store = text(attribute.getStore());
  return cause;
}

} // namespace npar::dist
