// Machines to attributes and back, figure by figure.
#include "compiler/dialects/dist/ModuleMachine.h"

#include "dsl/machine/ReadMachine.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace npar::dist {

static constexpr StringRef machineAttribute = "npar.machine";

void setMachine(ModuleOp module, const dsl::Machine &machine) {
  Builder builder(module.getContext());
  dsl::Machine copy = machine;
  SmallVector<NamedAttribute> entries{builder.getNamedAttr("name", builder.getStringAttr(machine.name))};
  for (const dsl::Figure &figure : dsl::figuresOf(copy))
    entries.push_back(builder.getNamedAttr(figure.path(), builder.getF64FloatAttr(*figure.value)));
  module->setAttr(machineAttribute, builder.getDictionaryAttr(entries));
}

dsl::Machine machineOf(Operation *op) {
  dsl::Machine machine = dsl::referenceMachine();
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto entries = module ? module->getAttrOfType<DictionaryAttr>(machineAttribute) : nullptr;
  if (!entries)
    return machine;
  if (auto name = entries.getAs<StringAttr>("name"))
    machine.name = name.str();
  for (const dsl::Figure &figure : dsl::figuresOf(machine))
    if (auto value = entries.getAs<FloatAttr>(figure.path()))
      *figure.value = value.getValueAsDouble();
  return machine;
}

} // namespace npar::dist
