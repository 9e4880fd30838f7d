// The words of causes.
#include "engine/program/Cause.h"

namespace npar::program {
namespace {

std::string quoted(const std::string &text) { return "'" + text + "'"; }

/// ", split by rule 'hidden -> tp'": what follows a word and names a rule; empty without one.
std::string byRule(const std::string &word, const std::string &rule) { return rule.empty() ? "" : word + " rule " + quoted(rule); }

/// Rules by which an axis is not split are not said, that it is split always.
std::string overSplit(const CauseT &cause, const std::string &verb) {
  if (cause.axes.empty())
    return quoted(cause.operation) + " " + verb + " over a split axis";
  const CauseAxisT &first = *cause.axes.front();
  return quoted(cause.operation) + " " + verb + " over " + quoted(first.axis) +
         (first.rule.empty() ? ", which is split" : byRule(", split by", first.rule));
}

std::string sharesOf(const CauseT &cause) {
  std::string text;
  for (const auto &axis : cause.axes)
    text += (text.empty() ? " of " : ", of ") + quoted(axis->axis) + byRule(" by", axis->rule);
  return text;
}

} // namespace

std::string describe(const CauseT &cause) {
  std::string operation = quoted(cause.operation), variable = cause.variable.empty() ? "each of these" : quoted(cause.variable);
  auto axis = [&](size_t index) { return index < cause.axes.size() ? quoted(cause.axes[index]->axis) : "an axis"; };
  std::string rule = cause.axes.empty() ? "" : cause.axes.front()->rule;
  switch (cause.kind) {
  case CauseKind::None:
    return "";
  case CauseKind::SumsOverSplit:
    return overSplit(cause, "sums");
  case CauseKind::ReducesSplit:
    return overSplit(cause, "reduces");
  case CauseKind::AddsOwned:
    return operation + " adds what each rank owns";
  case CauseKind::Accumulated:
    return variable + " was accumulated from each rank's share" + sharesOf(cause) + byRule(", stored by", cause.store);
  case CauseKind::WantsSplit:
    return operation + " wants " + axis(0) + " split" + byRule(" by", rule);
  case CauseKind::WantsWhole:
    return operation + " wants " + axis(0) + " whole on every rank of " + quoted(cause.mesh_axis) +
           byRule(", whose ranks split this operation by", rule) +
           (cause.axes.size() > 1 ? ": a piece of " + axis(1) + " needs most of it" : "");
  case CauseKind::WantsOrder:
    return operation + " wants another order of splits";
  case CauseKind::StoresShare:
    return variable + " is stored" + byRule(" by", cause.store);
  case CauseKind::UpdatedInShares:
    return variable + " is used whole but updated" + byRule(" by", cause.store);
  case CauseKind::StoredInShares:
    return operation + " uses " + variable + " whole" + byRule(", stored by", cause.store);
  case CauseKind::UpdatesShare:
    return operation + " updates what is stored" + byRule(" by", cause.store);
  case CauseKind::PassesRound:
    break;
  }
  if (cause.axes.size() == 1)
    return operation + " needs entries of " + axis(0) + " from other pieces" + byRule(", split by", rule);
  return operation + " passes " + axis(0) + " round the ring of " + axis(1);
}

} // namespace npar::program
