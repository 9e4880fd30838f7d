// Machines to attributes and back, figure by figure.
#include "compiler/dialects/dist/ModuleMachine.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "dsl/machine/ReadMachine.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace npar::dist {

static DictionaryAttr attributeOf(const dsl::Machine &machine, Builder &builder) {
  dsl::Machine copy = machine;
  SmallVector<NamedAttribute> entries{builder.getNamedAttr("name", builder.getStringAttr(machine.name))};
  if (machine.kind == dsl::MachineKind::Device)
    entries.push_back(builder.getNamedAttr("devices", builder.getUnitAttr()));
  for (const dsl::Figure &figure : dsl::figuresOf(copy))
    entries.push_back(builder.getNamedAttr(figure.path(), builder.getF64FloatAttr(*figure.value)));
  SmallVector<Attribute> kinds;
  for (const dsl::HostKind &kind : machine.kinds)
    kinds.push_back(builder.getDictionaryAttr({builder.getNamedAttr("hosts", builder.getI64IntegerAttr(kind.hosts)),
                                               builder.getNamedAttr("machine", attributeOf(kind.machine, builder))}));
  if (!kinds.empty())
    entries.push_back(builder.getNamedAttr("kinds", builder.getArrayAttr(kinds)));
  return builder.getDictionaryAttr(entries);
}

void setMachine(ModuleOp module, const dsl::Machine &machine) {
  Builder builder(module.getContext());
  attributes::machine.set(module, attributeOf(machine, builder));
}

static dsl::Machine machineIn(DictionaryAttr entries) {
  dsl::Machine machine = dsl::referenceMachine();
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
  if (auto kinds = entries.getAs<ArrayAttr>("kinds"))
    for (auto kind : kinds.getAsRange<DictionaryAttr>())
      if (auto hosts = kind.getAs<IntegerAttr>("hosts"))
        if (auto of = kind.getAs<DictionaryAttr>("machine"))
          machine.kinds.push_back({"", hosts.getInt(), machineIn(of)});
  return machine;
}

dsl::Machine machineOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto entries = module ? attributes::machine.get(module) : nullptr;
  return entries ? machineIn(entries) : dsl::referenceMachine();
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
