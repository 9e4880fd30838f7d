// The plan's store rules as placing asks them: over which mesh axes parameters, gradients and optimizer state are dealt out flat
// (RULES.md#P7). Each parameter is dealt over those of them that do not split it.
#pragma once

#include "compiler/passes/place/Rules.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace npar::place {

/// Reads `dist.stores` of the module. Mesh axes of size 1 are left out everywhere.
class Stores {
public:
  Stores(mlir::ModuleOp module, const Rules &rules);

  /// Mesh axes over which a parameter of this layout is dealt out, major to minor; none: it stays as the rules of `split` leave it.
  llvm::SmallVector<mlir::StringAttr> parameters(dist::LayoutAttr layout) const { return freeOf(entries[0].axes, layout); }
  /// The mesh axes that its accumulators are dealt out over in each micro-batch; those stored `per step` are not among them.
  llvm::SmallVector<mlir::StringAttr> gradients(dist::LayoutAttr layout) const { return freeOf(entries[1].perMicro, layout); }
  llvm::SmallVector<mlir::StringAttr> optimizer(dist::LayoutAttr layout) const { return freeOf(entries[2].axes, layout); }
  /// The mesh axes of the second share of a parameter that is stored flat in this layout; nothing: it has none.
  std::optional<llvm::SmallVector<mlir::StringAttr>> secondary(dist::LayoutAttr layout) const;
  bool dealsOptimizer(mlir::StringAttr axis) const { return llvm::is_contained(entries[2].axes, axis); }

  /// Refuses unknown mesh axes. The plan's elaboration has refused the pipeline's, and gradients stored otherwise than the optimizer state.
  mlir::LogicalResult check() const;
  /// Refuses mesh axes that split every parameter, each once. The layouts are those by the rules of `split` alone.
  mlir::LogicalResult check(llvm::ArrayRef<std::pair<nn::VariableOp, dist::LayoutAttr>> parameters) const;

  /// `optimizer -> dp`, for causes. Of gradients what is stored in each micro-batch: nothing moves by a rule `per step` but by the
  /// optimizer's.
  std::string text(llvm::StringRef what) const;
  /// The rule of `what` with its line, as `attributes::causingRules` lists rules; null without one.
  mlir::Attribute named(llvm::StringRef what) const;

private:
  struct Rule {
    mlir::StringAttr axis;
    mlir::LocationAttr loc;
  };
  struct Entry {
    llvm::StringLiteral what, name; ///< word in the plan, and wording in messages
    llvm::SmallVector<mlir::StringAttr> axes, perMicro;
    llvm::SmallVector<Rule> rules; ///< one per axis, size 1 included
  };
  const Entry &entryOf(llvm::StringRef what) const;
  static llvm::SmallVector<mlir::StringAttr> freeOf(llvm::ArrayRef<mlir::StringAttr> axes, dist::LayoutAttr layout);
  /// Refuses a mesh axis that splits every parameter, such as this one.
  void refuse(const Entry &entry, mlir::StringAttr axis, nn::VariableOp parameter, dist::LayoutAttr layout) const;
  /// The line that stores over an axis; null when none does.
  static mlir::LocationAttr lineOf(const Entry &entry, mlir::StringAttr axis);
  /// Mesh axes whose rules split no axis of a parameter and that are not the pipeline's.
  std::string legalAxes(mlir::StringAttr refused) const;

  mlir::ModuleOp module;
  const Rules &rules;
  Entry entries[4] = {{"parameters", "parameters", {}, {}, {}},
                      {"gradients", "gradients", {}, {}, {}},
                      {"optimizer", "optimizer state", {}, {}, {}},
                      {"secondary", "second share of parameters", {}, {}, {}}};
};

} // namespace npar::place
