// The plan's rules as placing asks them: which mesh axes split which loop axes of one operation (RULES.md#P1 to P3).
#pragma once

#include "compiler/dialects/dist/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace npar::place {

/// The mesh axes that split the loop axes of one operation.
class Assignment {
public:
  /// Mesh axes of a loop axis, major to minor; empty when it is not split.
  llvm::ArrayRef<mlir::StringAttr> splitsOf(mlir::StringAttr axis) const;
  /// The rule that took a mesh axis; -1 when none did.
  int ruleOf(mlir::StringAttr meshAxis) const;
  /// The loop axis that a mesh axis splits; null when none.
  mlir::StringAttr axisOf(mlir::StringAttr meshAxis) const;
  void take(mlir::StringAttr axis, mlir::StringAttr meshAxis, int rule);
  /// Axes whose reduction the operation finishes itself: results that lack them are complete.
  llvm::SmallVector<mlir::StringAttr> internal;

private:
  std::vector<std::pair<mlir::StringAttr, llvm::SmallVector<mlir::StringAttr, 2>>> splits;
  std::vector<std::pair<mlir::StringAttr, int>> takers;
};

/// Reads mesh and rules from the module; collects errors at the rules' locations.
class Rules {
public:
  explicit Rules(mlir::ModuleOp module);

  /// The assignment of an operation; `reserved` mesh axes are not free (its operands are partial over them).
  /// `only`, if given, is the one axis that may be split.
  Assignment assign(mlir::Operation *op, llvm::ArrayRef<mlir::StringAttr> reserved = {}, mlir::StringAttr only = {});

  bool hasFailed() const { return failed; }

  /// Reports unknown axes, refused splits and unused rules; call once after every operation was assigned.
  mlir::LogicalResult check();

  const dist::MeshAttr mesh;
  const dist::RuleAttr &rule(int index) const { return rules[index].attribute; }
  /// Global size of an axis, -1 when no tensor has it.
  int64_t sizeOf(mlir::StringAttr axis) const { return sizes.count(axis) ? sizes.lookup(axis) : -1; }
  /// `'dp', 'tp'`: the mesh axes that rules may use, for a help.
  std::string freeMeshAxes() const;
  /// Mesh axes that some rule gives to `batch`.
  llvm::SmallVector<mlir::StringAttr> batchAxes() const;

private:
  struct Entry {
    dist::RuleAttr attribute;
    bool used = false, refused = false, blocked = false;
    /// An operation of each kind that needs the axis whole, and the mesh axis that would have split it there.
    llvm::SmallVector<std::pair<mlir::Operation *, mlir::StringAttr>, 1> whole = {};
    bool context = false; ///< it split the sequence of some attention, or rows that are sent to experts
    bool exempts = false; ///< a rule `-> none` kept a later rule from some operation
    int lateFor = -1;     ///< of a rule `-> none`: the rule that had split the axis in some operation before; -1 when none had
    int exemptedBy = -1;  ///< the rule `-> none` that kept it from some operation, an attention rather than another; -1 when none did
  };
  bool divides(Entry &entry, mlir::Operation *op, llvm::ArrayRef<mlir::StringAttr> splits);
  void refuseWhole(Entry &entry, mlir::Operation *op, mlir::StringAttr meshAxis);
  void reportWhole(const Entry &entry) const;
  bool splitsContext(Entry &entry, mlir::Operation *op, mlir::StringAttr meshAxis, const Assignment &assignment);
  /// Attaches a note with the declaration of a mesh axis, if `dist.mesh_lines` has its line.
  void noteMesh(mlir::InFlightDiagnostic &error, mlir::StringAttr meshAxis) const;
  /// Notes the exemption that kept a rule from an operation; false when there was none.
  bool noteExemption(mlir::InFlightDiagnostic &error, const Entry &entry) const;

  mlir::ModuleOp module;
  std::vector<Entry> rules;
  llvm::DenseMap<mlir::StringAttr, int64_t> sizes;
  bool failed = false;
};

/// A rule with its line, as `attributes::causingRules` lists them; null for a rule without a line.
mlir::Attribute namedRule(dist::RuleAttr rule);
/// The rules of the module that give `meshAxes` to `axis` in `op`, each once.
llvm::SmallVector<mlir::Attribute> namedRules(mlir::Operation *op, mlir::StringAttr axis, llvm::ArrayRef<mlir::StringAttr> meshAxes);

} // namespace npar::place
