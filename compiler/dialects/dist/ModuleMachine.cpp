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
  if (machine.kind == dsl::MachineKind::Device)
    entries.push_back(builder.getNamedAttr("devices", builder.getUnitAttr()));
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
  if (entries.get("devices")) {
    machine = dsl::Machine();
    machine.kind = dsl::MachineKind::Device;
    machine.cores = 1;
  }
  if (auto name = entries.getAs<StringAttr>("name"))
    machine.name = name.str();
  for (const dsl::Figure &figure : dsl::figuresOf(machine))
    if (auto value = entries.getAs<FloatAttr>(figure.path()))
      *figure.value = value.getValueAsDouble();
  if (machine.kind == dsl::MachineKind::Device)
    machine.near = machine.far;
  return machine;
}

cost::GroupSpan spanOf(const dsl::Machine &machine, MeshAttr mesh, ArrayRef<StringAttr> axes) {
  std::vector<int64_t> sizes(mesh.getSizes().begin(), mesh.getSizes().end());
  std::vector<size_t> places;
  for (StringAttr axis : axes)
    if (int64_t place = mesh.indexOf(axis); place >= 0)
      places.push_back(static_cast<size_t>(place));
  return cost::spanAlong(machine, sizes, places);
}

} // namespace npar::dist
