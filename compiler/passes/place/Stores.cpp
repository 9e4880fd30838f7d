// Reads store rules, and refuses those that make no sense at their lines.
#include "compiler/passes/place/Stores.h"
#include "compiler/Coded.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace npar::place {

Stores::Stores(ModuleOp module, const Rules &rules) : module(module), rules(rules) {
  for (const attributes::StoreClause &store : attributes::getStores(module))
    for (Entry &entry : entries) {
      if (store.what != entry.what)
        continue;
      for (StringAttr axis : store.mesh) {
        entry.rules.push_back({axis, store.loc ? store.loc : LocationAttr(UnknownLoc::get(module.getContext()))});
        if (rules.mesh.sizeOf(axis) <= 1)
          continue;
        entry.axes.push_back(axis);
        if (!store.perStep)
          entry.perMicro.push_back(axis);
      }
    }
}

LocationAttr Stores::lineOf(const Entry &entry, StringAttr axis) {
  const auto *found = llvm::find_if(entry.rules, [&](const Rule &rule) { return rule.axis == axis; });
  return found == entry.rules.end() ? LocationAttr() : found->loc;
}

LogicalResult Stores::check() const {
  bool good = true;
  for (const Entry &entry : entries)
    for (const Rule &rule : entry.rules)
      if (rules.mesh.indexOf(rule.axis) < 0) {
        InFlightDiagnostic error = emitError(rule.loc) << dsl::Code::M1;
        error << "the mesh has no axis '" << rule.axis.getValue() << "'";
        error.attachNote(rule.loc) << "help: rules may use " << rules.freeMeshAxes();
        good = false;
      }
  return success(good);
}

std::string Stores::legalAxes(StringAttr refused) const {
  llvm::SmallDenseSet<StringAttr> taken;
  taken.insert(refused);
  taken.insert(attributes::pipelineAxis.get(module));
  ModuleOp program = module;
  for (dist::RuleAttr rule : attributes::rules.get(module)) {
    bool ofParameters = llvm::any_of(program.getOps<nn::VariableOp>(), [&](nn::VariableOp variable) {
      return variable.isKind(nn::VariableKind::Parameter) && nn::hasAxis(variable.getType(), rule.getAxis());
    });
    if (ofParameters)
      taken.insert(rule.getMesh().begin(), rule.getMesh().end());
  }
  SmallVector<std::string> legal;
  for (auto [axis, size] : llvm::zip(rules.mesh.getNames(), rules.mesh.getSizes()))
    if (size > 1 && !taken.contains(axis))
      legal.push_back(("'" + axis.getValue() + "'").str());
  return llvm::join(legal, ", ");
}

SmallVector<StringAttr> Stores::freeOf(ArrayRef<StringAttr> axes, dist::LayoutAttr layout) {
  return llvm::to_vector(llvm::make_filter_range(axes, [&](StringAttr axis) { return !layout.splitsOver(axis); }));
}

std::optional<SmallVector<StringAttr>> Stores::secondary(dist::LayoutAttr layout) const {
  SmallVector<StringAttr> axes;
  for (StringAttr axis : layout.getFlatAxes())
    if (llvm::is_contained(entries[3].axes, axis))
      axes.push_back(axis);
  if (entries[3].rules.empty() || axes.size() == layout.getFlatAxes().size())
    return std::nullopt;
  return axes;
}

LogicalResult Stores::check(ArrayRef<std::pair<nn::VariableOp, dist::LayoutAttr>> parameters) const {
  bool good = true;
  for (const Entry &entry : entries)
    for (StringAttr axis : entry.axes)
      if (!parameters.empty() && llvm::all_of(parameters, [&](auto &each) { return each.second.splitsOver(axis); })) {
        refuse(entry, axis, parameters.front().first, parameters.front().second);
        good = false;
      }
  return success(good);
}

void Stores::refuse(const Entry &entry, StringAttr axis, nn::VariableOp parameter, dist::LayoutAttr layout) const {
  LocationAttr line = lineOf(entry, axis);
  size_t dim = 0;
  while (!llvm::is_contained(layout.splitsOf(dim), axis))
    ++dim;
  StringAttr name = layout.getNames()[dim];
  InFlightDiagnostic error = emitError(line) << dsl::Code::P7 << "the " << entry.name << " cannot be stored over '" << axis.getValue()
                                             << "', which splits every parameter already, such as axis '" << name.getValue() << "' of '"
                                             << nn::pathOf(parameter) << "'";
  for (dist::RuleAttr rule : attributes::rules.get(module))
    if (rule.getAxis() == name && llvm::is_contained(rule.getMesh(), axis)) {
      error.attachNote(rule.getLoc()) << "by rule '" << rule.text() << "'";
      break;
    }
  std::string legal = legalAxes(axis);
  if (legal.empty())
    error.attachNote(line) << "help: remove it: no mesh axis holds equal copies of every parameter";
  else
    error.attachNote(line) << "help: mesh axes that hold equal copies of every parameter: " << legal;
}

const Stores::Entry &Stores::entryOf(StringRef what) const {
  return *llvm::find_if(entries, [&](const Entry &entry) { return entry.what == what; });
}

std::string Stores::text(StringRef what) const {
  std::string text = (what + " -> ").str();
  for (auto [place, axis] : llvm::enumerate(entryOf(what).perMicro))
    text += (place ? ", " : "") + axis.str();
  return text;
}

Attribute Stores::named(StringRef what) const {
  const Entry &entry = entryOf(what);
  LocationAttr line = entry.perMicro.empty() ? LocationAttr() : lineOf(entry, entry.perMicro.front());
  if (!line || isa<UnknownLoc>(line))
    return {};
  return NameLoc::get(StringAttr::get(line.getContext(), text(what)), Location(line));
}

} // namespace npar::place
