// Tries the rules in order over the loop axes of an operation, and refuses what cannot be (RULES.md#P1 to P3).
#include "compiler/passes/place/Rules.h"

#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LayerPattern.h"
#include "dsl/Suggestions.h"
#include "engine/program/Words.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace npar::place {

ArrayRef<StringAttr> Assignment::splitsOf(StringAttr axis) const {
  for (const auto &entry : splits)
    if (entry.first == axis)
      return entry.second;
  return {};
}

int Assignment::ruleOf(StringAttr meshAxis) const {
  for (auto [taken, rule] : takers)
    if (taken == meshAxis)
      return rule;
  return -1;
}

StringAttr Assignment::axisOf(StringAttr meshAxis) const {
  for (const auto &entry : splits)
    if (llvm::is_contained(entry.second, meshAxis))
      return entry.first;
  return {};
}

void Assignment::take(StringAttr axis, StringAttr meshAxis, int rule) {
  takers.emplace_back(meshAxis, rule);
  for (auto &entry : splits)
    if (entry.first == axis) {
      entry.second.push_back(meshAxis);
      return;
    }
  splits.push_back({axis, {meshAxis}});
}

/// The kind that a plan names: a gradient belongs to its operation.
static StringRef kindOf(Operation *op) {
  if (auto of = op->getAttrOfType<StringAttr>(nn::gradientOfAttribute))
    return of.getValue();
  StringRef kind = op->getName().stripDialect();
  kind.consume_back("_grad");
  return kind == "scatter_add" ? "gather" : kind;
}

/// The plan was written for training: where the loss is left out its rules may find nothing, which is no mistake of it. Nor do they find
/// the sequence where autodiff-decode has cut it.
static bool lacksOps(ModuleOp module) { return attributes::kind.is(module, program::ProgramKind::Generation); }

Rules::Rules(ModuleOp module) : mesh(dist::meshOf(module)), module(module) {
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      for (StringAttr axis : nn::axesOf(type))
        sizes[axis] = nn::sizeOf(type, axis);
  });
  auto pipeline = attributes::pipelineAxis.get(module);
  for (dist::RuleAttr rule : attributes::rules.get(module)) {
    rules.push_back({rule});
    if (sizeOf(rule.getAxis()) < 0 && lacksOps(module)) {
      rules.back().refused = true;
    } else if (sizeOf(rule.getAxis()) < 0) {
      InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P1;
      error << "no tensor of the model has the axis '" << rule.getAxis().getValue() << "'";
      error.attachNote(rule.getLoc()) << "help: remove it from the rule: the tensors that have it do not affect the result";
      rules.back().refused = failed = true;
    }
    for (StringAttr axis : rule.getMesh()) {
      if (mesh.indexOf(axis) >= 0 && axis != pipeline)
        continue;
      InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::M1;
      if (axis == pipeline)
        error << "mesh axis '" << axis.getValue() << "' is taken by the pipeline";
      else
        error << "the mesh has no axis '" << axis.getValue() << "'";
      error.attachNote(rule.getLoc()) << "help: rules may use " << freeMeshAxes();
      rules.back().refused = failed = true;
    }
  }
}

std::string Rules::freeMeshAxes() const {
  auto pipeline = attributes::pipelineAxis.get(module);
  std::string text;
  for (StringAttr axis : mesh.getNames())
    if (axis != pipeline)
      text += (text.empty() ? "'" : ", '") + axis.str() + "'";
  return text.empty() ? "no axis of this mesh" : text;
}

/// Returns whether a layer is around those that a pattern names: `h.3` around `h.*.attn`.
static bool isAround(StringRef path, StringRef pattern) {
  while (pattern.contains('.')) {
    pattern = pattern.rsplit('.').first;
    if (nn::matchedLayer(pattern, path) == path)
      return !path.empty();
  }
  return false;
}

/// Returns whether a rule applies to a loop of an operation. Rows that are spread over ranks go where the products of their experts are: a
/// rule `in op grouped` splits them in every operation, and a rule in a layer also in the layers around it.
static bool matchesRule(dist::RuleAttr rule, Operation *op, StringAttr loop) {
  bool isSpread = nn::entriesOfRows(loop) != nullptr;
  if (!rule.getOp().empty() && rule.getOp().getValue() != kindOf(op) && !(isSpread && rule.getOp() == "grouped"))
    return false;
  if (rule.getLayer().empty())
    return true;
  StringRef pattern = rule.getLayer().getValue();
  auto at = nn::getAt(op);
  return at && (nn::matchesLayer(pattern, at.getPath()) || (isSpread && isAround(at.getPath(), pattern)));
}

Attribute namedRule(dist::RuleAttr rule) {
  LocationAttr at = rule.getLoc();
  if (!at || isa<UnknownLoc>(at))
    return {};
  return NameLoc::get(StringAttr::get(rule.getContext(), rule.text()), Location(at));
}

SmallVector<Attribute> namedRules(Operation *op, StringAttr axis, ArrayRef<StringAttr> meshAxes) {
  SmallVector<Attribute> found;
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return found;
  SmallVector<dist::RuleAttr> rules = attributes::rules.get(module);
  for (StringAttr meshAxis : meshAxes)
    for (dist::RuleAttr rule : rules)
      if ((rule.getAxis() == axis || rule.getAxis() == nn::entriesOfRows(axis)) && llvm::is_contained(rule.getMesh(), meshAxis) &&
          matchesRule(rule, op, axis)) {
        if (Attribute named = namedRule(rule); named && !llvm::is_contained(found, named))
          found.push_back(named);
        break;
      }
  return found;
}

/// Returns whether a loop is split by the rules of an axis: its own, or that of the entries that spread rows belong to.
static bool goesBy(StringAttr loop, StringAttr axis) { return loop == axis || nn::entriesOfRows(loop) == axis; }

static bool isNarrowed(dist::RuleAttr rule) { return !rule.getOp().empty() || !rule.getLayer().empty(); }

bool Rules::divides(Entry &entry, Operation *op, ArrayRef<StringAttr> splits) {
  dist::RuleAttr rule = entry.attribute;
  int64_t size = sizeOf(rule.getAxis()), parts = mesh.sizeOf(splits);
  if (rule.getPad() || size % parts == 0)
    return true;
  InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P8;
  error << "axis '" << rule.getAxis().getValue() << "' of size " << size << " is not divisible by mesh axis '";
  llvm::interleave(
      splits, [&](StringAttr axis) { error << axis.getValue(); }, [&] { error << " * "; });
  error << "' of size " << parts;
  error.attachNote(op->getLoc()) << "split by operation '" << op->getName().stripDialect() << "' here";
  if (rule.getAxis().getValue() == "batch") {
    error.attachNote(rule.getLoc()) << "help: these are the rows of a micro-batch: make 'micro' " << parts / std::gcd(size, parts)
                                    << " times as large" << (isNarrowed(rule) ? ", or remove the rule's 'in'" : "");
    return false;
  }
  noteMesh(error, splits.back());
  error.attachNote(rule.getLoc()) << "help: " << dsl::divisorsText(size, parts) << "; or pad it: '" << rule.getAxis().getValue()
                                  << " pad -> ...'";
  return false;
}

void Rules::refuseWhole(Entry &entry, Operation *op, StringAttr meshAxis) {
  if (llvm::none_of(entry.whole, [&](const auto &known) { return kindOf(known.first) == kindOf(op); }))
    entry.whole.emplace_back(op, meshAxis);
}

/// Reports all kinds of operations at once, so that the advice is the whole of what must change.
void Rules::reportWhole(const Entry &entry) const {
  dist::RuleAttr rule = entry.attribute;
  InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P1;
  error << "axis '" << rule.getAxis().getValue() << "' cannot be split: " << (entry.whole.size() == 1 ? "operation '" : "operations '");
  for (auto [index, each] : llvm::enumerate(entry.whole))
    error << (index == 0 ? "" : index + 1 == entry.whole.size() ? " and '" : ", '") << kindOf(each.first) << "'";
  error << (entry.whole.size() == 1 ? " needs it whole" : " need it whole");
  for (const auto &each : entry.whole)
    error.attachNote(each.first->getLoc()) << "operation '" << kindOf(each.first) << "' is here";
  for (const auto &[op, meshAxis] : entry.whole)
    error.attachNote(rule.getLoc()) << "help: precede it with a rule that uses '" << meshAxis.getValue() << "' in '" << kindOf(op)
                                    << "' for another axis, or an exemption: '" << rule.getAxis().getValue() << " -> none in op "
                                    << kindOf(op) << "'";
}

/// Returns whether a rule may split the sequence of an attention: it must state how keys are exchanged, and that way must be possible here.
bool Rules::splitsContext(Entry &entry, Operation *op, StringAttr meshAxis, const Assignment &assignment) {
  dist::RuleAttr rule = entry.attribute;
  StringRef axis = rule.getAxis().getValue(), mesh = meshAxis.getValue(), kind = kindOf(op), by = rule.getBy();
  if (by.empty()) {
    InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P5;
    error << "axis '" << axis << "' cannot be split: operation '" << kind << "' needs it whole";
    error.attachNote(op->getLoc()) << "operation '" << kind << "' is here";
    error.attachNote(rule.getLoc()) << "help: choose how its keys are exchanged: '" << axis << " -> " << mesh
                                    << " by ring' or 'by gather'; or put a "
                                    << "rule before it that takes '" << mesh << "' in '" << kind
                                    << "' for another axis (its heads: Ulysses)";
    return false;
  }
  if (ArrayRef<StringAttr> before = assignment.splitsOf(rule.getAxis());
      !before.empty() && rules[assignment.ruleOf(before.front())].attribute != rule) {
    InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P5;
    error << "axis '" << axis << "' of operation '" << kind << "' is split by two rules";
    error.attachNote(rules[assignment.ruleOf(before.front())].attribute.getLoc()) << "the other one is here";
    error.attachNote(rule.getLoc()) << "help: give one rule both mesh axes: '" << axis << " -> " << before.front().getValue() << ", "
                                    << mesh << " by ...'";
    return false;
  }
  entry.context = true;
  if (by == "gather")
    return true;
  int64_t size = sizeOf(rule.getAxis()), members = this->mesh.sizeOf(rule.getMesh());
  if (rule.getPad() && size % members != 0) {
    InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P5;
    error << "a ring of " << members << " ranks over axis '" << axis << "' of size " << size
          << " cannot be padded: its pieces replace each other";
    error.attachNote(rule.getLoc()) << "help: use 'by gather', or a size that " << members << " divides";
    return false;
  }
  if (by != "ring_zigzag")
    return true;
  if (auto causal = op->getAttrOfType<BoolAttr>("causal"); !causal || !causal.getValue()) {
    InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P5;
    error << "zigzag order balances causal attention, but operation '" << kind << "' has no causal mask";
    error.attachNote(op->getLoc()) << "operation '" << kind << "' is here";
    error.attachNote(rule.getLoc()) << "help: without a mask the ring is balanced in any order: use 'by ring'";
    return false;
  }
  if (size % (2 * members) != 0) {
    InFlightDiagnostic error = emitError(rule.getLoc()) << dsl::Code::P5;
    error << "axis '" << axis << "' of size " << size << " is not divisible by " << 2 * members << ": zigzag order gives each of "
          << members << " ranks two chunks";
    error.attachNote(rule.getLoc()) << "help: use 'by ring', or a size that " << 2 * members << " divides";
    return false;
  }
  return true;
}

Assignment Rules::assign(Operation *op, ArrayRef<StringAttr> reserved, StringAttr only) {
  Assignment assignment;
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return assignment;
  SmallVector<nn::LoopAxis> axes = shardable.getLoopAxes();
  for (const nn::LoopAxis &axis : axes)
    if (axis.kind == nn::LoopKind::Internal)
      assignment.internal.push_back(axis.name);
  // Ops that are read or computed at each use follow their users; an accumulator follows the value that it takes.
  bool counts = !nn::isFree(op) && !isa<nn::ReadOp, nn::AccumulateOp>(op);
  SmallVector<StringAttr> busy(reserved);
  llvm::SmallDenseMap<StringAttr, int> exempt; // axis to the number of the rule that exempts it
  for (auto [index, entry] : llvm::enumerate(rules)) {
    StringAttr named = entry.attribute.getAxis();
    // an op may have both the entries and their rows
    const auto *loop = llvm::find_if(axes, [&](const nn::LoopAxis &candidate) {
      return goesBy(candidate.name, named) && matchesRule(entry.attribute, op, candidate.name);
    });
    if (entry.refused || loop == axes.end() || (only && loop->name != only))
      continue;
    StringAttr axis = loop->name;
    if (auto found = exempt.find(axis); found != exempt.end()) {
      rules[found->second].exempts = true;
      if (entry.exemptedBy < 0 || loop->kind == nn::LoopKind::Context)
        entry.exemptedBy = found->second;
      continue;
    }
    if (entry.attribute.getMesh().empty()) {
      exempt[axis] = static_cast<int>(index);
      entry.used = true;
      if (ArrayRef<StringAttr> before = assignment.splitsOf(axis); !before.empty())
        entry.lateFor = assignment.ruleOf(before.front());
      continue;
    }
    for (StringAttr meshAxis : entry.attribute.getMesh()) {
      if (mesh.sizeOf(meshAxis) == 1) {
        entry.used = true;
        continue;
      }
      if (llvm::is_contained(busy, meshAxis)) {
        entry.blocked = true;
        continue;
      }
      if (loop->kind == nn::LoopKind::Whole || loop->kind == nn::LoopKind::Window) {
        refuseWhole(entry, op, meshAxis);
        entry.used = true;
        break;
      }
      if (loop->kind == nn::LoopKind::Context && !splitsContext(entry, op, meshAxis, assignment)) {
        entry.refused = failed = true;
        break;
      }
      SmallVector<StringAttr> splits(assignment.splitsOf(axis));
      splits.push_back(meshAxis);
      if (!divides(entry, op, splits)) {
        entry.refused = failed = true;
        break;
      }
      entry.used |= counts;
      entry.context |= nn::entriesOfRows(axis) != nullptr;
      busy.push_back(meshAxis);
      assignment.take(axis, meshAxis, index);
    }
  }
  // Round a ring the keys of another sequence are dealt out as the queries are.
  auto dealOut = [&](auto ring) {
    if (ring && ring.getRing() && ring.getKeysAttr())
      for (StringAttr meshAxis : SmallVector<StringAttr>(assignment.splitsOf(ring.getSeqAttr())))
        assignment.take(ring.getKeyAttr(), meshAxis, assignment.ruleOf(meshAxis));
  };
  dealOut(dyn_cast<nn::AttentionOp>(op));
  dealOut(dyn_cast<nn::AttentionGradOp>(op));
  return assignment;
}

void Rules::noteMesh(InFlightDiagnostic &error, StringAttr meshAxis) const {
  SmallVector<LocationAttr> lines = attributes::meshLines.get(module);
  int64_t index = mesh.indexOf(meshAxis);
  if (index >= 0 && index < static_cast<int64_t>(lines.size()) && !isa<UnknownLoc>(lines[index]))
    error.attachNote(Location(lines[index])) << "mesh declared here";
}

bool Rules::noteExemption(InFlightDiagnostic &error, const Entry &entry) const {
  if (entry.exemptedBy < 0)
    return false;
  dist::RuleAttr by = rules[entry.exemptedBy].attribute;
  error.attachNote(by.getLoc()) << "exempted here by '" << by.text() << "'";
  return true;
}

LogicalResult Rules::check() {
  for (Entry &entry : rules) {
    if (!entry.whole.empty()) {
      failed = true;
      reportWhole(entry);
    }
    if (!entry.refused && entry.used && !entry.context && !entry.attribute.getBy().empty() && mesh.sizeOf(entry.attribute.getMesh()) > 1) {
      failed = true;
      InFlightDiagnostic error = emitError(entry.attribute.getLoc()) << dsl::Code::P5;
      error << "the rule '" << entry.attribute.text() << "' splits neither the keys of attention nor rows of experts";
      if (noteExemption(error, entry))
        error.attachNote(entry.attribute.getLoc()) << "help: remove 'by', or narrow the exemption so that it leaves attention out";
      else
        error.attachNote(entry.attribute.getLoc()) << "help: an earlier rule uses the mesh axis there, or none remains: remove 'by'";
    }
    if (entry.used && entry.lateFor >= 0 && !entry.exempts) {
      failed = true;
      InFlightDiagnostic error = emitError(entry.attribute.getLoc()) << dsl::Code::P3;
      error << "the rule '" << entry.attribute.text() << "' follows a broader rule and exempts nothing";
      error.attachNote(rules[entry.lateFor].attribute.getLoc())
          << "'" << rules[entry.lateFor].attribute.text() << "' has split the axis there";
      error.attachNote(entry.attribute.getLoc()) << "help: move it up";
    }
    if (entry.used || entry.refused || lacksOps(module))
      continue;
    failed = true;
    InFlightDiagnostic error = emitError(entry.attribute.getLoc()) << dsl::Code::P2;
    error << "no operation uses the rule '" << entry.attribute.text() << "'";
    bool exempted = noteExemption(error, entry);
    if (entry.blocked)
      error.attachNote(entry.attribute.getLoc())
          << "help: earlier rules use the mesh axis everywhere it could apply; move it up or remove it";
    else if (exempted)
      error.attachNote(entry.attribute.getLoc()) << "help: remove one of the two, or narrow the exemption with 'in'";
    else
      error.attachNote(entry.attribute.getLoc())
          << "help: no operation with the axis '" << entry.attribute.getAxis().getValue() << "' matches; remove the rule"
          << (isNarrowed(entry.attribute) ? " or widen its 'in'" : "");
  }
  return success(!failed);
}

SmallVector<StringAttr> Rules::batchAxes() const {
  SmallVector<StringAttr> axes;
  for (const Entry &entry : rules)
    if (entry.attribute.getAxis().getValue() == "batch")
      for (StringAttr axis : entry.attribute.getMesh())
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
  return axes;
}

} // namespace npar::place
