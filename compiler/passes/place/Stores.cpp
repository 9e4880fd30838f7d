// Reads store rules, and refuses those that make no sense at their lines.
#include "compiler/passes/place/Stores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace npar::place {

Stores::Stores(ModuleOp module, const Rules &rules) : module(module), rules(rules) {
  auto stores = module->getAttrOfType<ArrayAttr>("dist.stores");
  if (!stores)
    return;
  for (DictionaryAttr store : stores.getAsRange<DictionaryAttr>()) {
    auto loc = store.getAs<LocationAttr>("loc");
    for (Entry &entry : entries) {
      if (store.getAs<StringAttr>("what").getValue() != entry.what)
        continue;
      for (StringAttr axis : dist::stringsOf(store.getAs<ArrayAttr>("mesh"))) {
        entry.rules.push_back({axis, loc ? loc : LocationAttr(UnknownLoc::get(module.getContext()))});
        if (rules.mesh.sizeOf(axis) <= 1)
          continue;
        entry.axes.push_back(axis);
        if (!store.contains("per_step"))
          entry.perMicro.push_back(axis);
      }
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
    good &= succeeded(check(entry));
  return success(good);
}

LogicalResult Stores::check(const Entry &entry) const {
  auto pipeline = module->getAttrOfType<StringAttr>("pipe.axis");
  bool good = true;
  llvm::SmallDenseSet<StringAttr> seen;
  for (const Rule &rule : entry.rules) {
    StringRef axis = rule.axis.getValue();
    InFlightDiagnostic error;
    if (rules.mesh.indexOf(rule.axis) < 0) {
      error = emitError(rule.loc) << "the mesh has no axis '" << axis << "'";
    } else if (rule.axis == pipeline) {
      error = emitError(rule.loc) << "mesh axis '" << axis << "' is taken by the pipeline, whose stages store different parameters anyway";
      error.attachNote(rule.loc) << "help: store over mesh axes along which ranks hold equal copies";
    } else if (!seen.insert(rule.axis).second) {
      error = emitError(rule.loc) << "the " << entry.name << " " << (entry.what == "optimizer" ? "is" : "are") << " stored over '" << axis
                                  << "' twice";
      error.attachNote(lineOf(entry, rule.axis)) << "first here";
    } else if (const Entry &optimizer = entries[2]; !lineOf(optimizer, rule.axis)) {
      error = emitError(rule.loc) << "the " << entry.name << " are stored over '" << axis << "', the optimizer state is not";
      error.attachNote(rule.loc) << "help: each rank then updates only what it stores: write '"
                                 << (entry.what == "parameters" ? "parameters, gradients, optimizer" : "gradients, optimizer") << " -> "
                                 << axis << "'";
    } else {
      continue;
    }
    good = false;
  }
  return success(good);
}

std::string Stores::legalAxes(StringAttr refused) const {
  llvm::SmallDenseSet<StringAttr> taken;
  taken.insert(refused);
  taken.insert(module->getAttrOfType<StringAttr>("pipe.axis"));
  auto array = module->getAttrOfType<ArrayAttr>("dist.rules");
  for (dist::RuleAttr rule : array ? array.getAsRange<dist::RuleAttr>() : ArrayAttr::get(module.getContext(), {}).getAsRange<dist::RuleAttr>()) {
    bool ofParameters = llvm::any_of(module.getOps<nn::VariableOp>(), [&](nn::VariableOp variable) {
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

LogicalResult Stores::check(nn::VariableOp parameter, dist::LayoutAttr layout) const {
  for (const Entry &entry : entries)
    for (StringAttr axis : entry.axes)
      for (auto [dim, name] : llvm::enumerate(layout.getNames())) {
        if (!llvm::is_contained(layout.splitsOf(dim), axis))
          continue;
        LocationAttr line = lineOf(entry, axis);
        InFlightDiagnostic error = emitError(line)
                                   << "the " << entry.name << " cannot be stored over '" << axis.getValue() << "', which splits axis '"
                                   << name.getValue() << "' of parameter '" << parameter.getSymName() << "' already";
        if (auto array = module->getAttrOfType<ArrayAttr>("dist.rules"))
          for (dist::RuleAttr rule : array.getAsRange<dist::RuleAttr>())
            if (rule.getAxis() == name && llvm::is_contained(rule.getMesh(), axis)) {
              error.attachNote(rule.getLoc()) << "by rule '" << rule.text() << "'";
              break;
            }
        std::string legal = legalAxes(axis);
        if (legal.empty())
          error.attachNote(line) << "help: remove it: no mesh axis holds equal copies of every parameter";
        else
          error.attachNote(line) << "help: mesh axes that hold equal copies of every parameter: " << legal;
        return failure();
      }
  return success();
}

std::string Stores::text(StringRef what, ArrayRef<StringAttr> axes) {
  std::string text = "rule '" + what.str() + " -> ";
  for (auto [i, axis] : llvm::enumerate(axes))
    text += (i ? ", " : "") + axis.str();
  return text + "'";
}

} // namespace npar::place
