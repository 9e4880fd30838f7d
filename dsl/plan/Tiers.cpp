// Reads store rules that name a tier, and refuses those that no program can follow.
#include "dsl/plan/Tiers.h"

#include "dsl/plan/Mesh.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <cstdlib>

namespace npar::dsl {
namespace {

using program::Tier;

class TierReader {
public:
  TierReader(const std::vector<MeshAxis> &mesh, PlanText &text) : mesh(mesh), text(text), reporter(text.reporter) {}

  void read(const ast::StoreRule &source) {
    try {
      TierRule rule;
      rule.tier = *tierOf(source, mesh);
      checkAlone(source);
      rule.folder = folderOf(source, rule.tier);
      rule.share = shareOf(source);
      bool enabled = !source.condition || text.evaluator.truth(*source.condition, text.scope, "the condition of a rule");
      for (const ast::Name &what : source.what) {
        rule.what = kindOf(what, rule.tier);
        rule.location = what.location;
        if (enabled)
          add(rule, what.text);
      }
    } catch (const Stop &) {
    }
  }

  std::vector<TierRule> rules;

private:
  const std::vector<MeshAxis> &mesh;
  PlanText &text;
  Reporter &reporter;

  void checkAlone(const ast::StoreRule &source) {
    if (source.mesh.size() > 1)
      reporter.fail(Code::M13, source.mesh.back().location, "a rule names a tier or mesh axes, not both",
                    {"write two rules, such as `optimizer -> dp` and `optimizer -> host`"});
    if (source.per)
      reporter.fail(Code::M13, source.per->location,
                    "'per " + source.per->text + "' says when gradients are reduced, and a tier stores none");
  }

  std::string folderOf(const ast::StoreRule &source, Tier tier) {
    const ast::Name &name = source.mesh.front();
    if (tier == Tier::File && (!source.folder || source.folder->text.empty()))
      reporter.fail(Code::M13, name.location, "files need a folder", {"write it after the word: `" + name.text + " \"folder\"`"});
    if (tier != Tier::File && source.folder)
      reporter.fail(Code::M13, source.folder->location, "'" + name.text + "' is memory and has no folder",
                    {"remove it, or store in files: `file \"" + source.folder->text + "\"`"});
    return source.folder ? source.folder->text : "";
  }

  double shareOf(const ast::StoreRule &source) {
    double share = source.share ? std::strtod(source.share->text.c_str(), nullptr) : 1;
    if (!(share > 0 && share <= 1))
      reporter.fail(Code::M13, source.share->location, "a share of " + source.share->text + " is not above 0 and at most 1",
                    {"0.5 stores half of the bytes there; leave the rule out to store nothing there"});
    return share;
  }

  StoreKind kindOf(const ast::Name &what, Tier tier) {
    if (what.text == "optimizer")
      return StoreKind::Optimizer;
    if (what.text == "parameters")
      return StoreKind::Parameters;
    reporter.fail(Code::M13, what.location, "'" + what.text + "' cannot be stored in tier '" + program::wordOf(tier) + "'",
                  {"it is parameters or optimizer: gradients are added up on the device"});
  }

  void add(const TierRule &rule, const std::string &what) {
    auto same = std::find_if(rules.begin(), rules.end(), [&](const TierRule &other) { return other.what == rule.what; });
    auto elsewhere = std::find_if(rules.begin(), rules.end(), [&](const TierRule &other) {
      return rule.tier == Tier::File && other.tier == Tier::File && other.folder != rule.folder;
    });
    if (elsewhere != rules.end())
      reporter.error(Code::M13, rule.location, "the files of '" + what + "' are in folder \"" + rule.folder + "\"", elsewhere->location,
                     "others are in \"" + elsewhere->folder + "\"", {"name the same folder in both rules"});
    if (same != rules.end())
      reporter.error(Code::M13, rule.location, "a second rule gives '" + what + "' a tier", same->location, "the first rule is here");
    else
      rules.push_back(rule);
  }
};

} // namespace

std::optional<Tier> tierOf(const ast::StoreRule &rule, const std::vector<MeshAxis> &mesh) {
  for (const ast::Name &name : rule.mesh)
    for (Tier tier : {Tier::Host, Tier::File})
      if (name.text == program::wordOf(tier) && !findMesh(mesh, name.text))
        return tier;
  return std::nullopt;
}

std::vector<TierRule> readTiers(const ast::Plan &source, const std::vector<MeshAxis> &mesh, PlanText &text) {
  TierReader reader(mesh, text);
  for (const ast::StoreRule &rule : source.stores)
    if (tierOf(rule, mesh))
      reader.read(rule);
  return std::move(reader.rules);
}

} // namespace npar::dsl
