// Writes a plan from features.
#include "tools/lib/verify/PlanDraft.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::verify {
namespace {

std::string replaced(std::string text, const std::string &word, const std::string &by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

/// The axes that tensor parallelism splits, in the usual order. The vocabulary is padded because it is seldom divisible.
std::string tensorAxes(const ModelOutline &model, bool padded, const std::string &without = "") {
  std::string text;
  for (const char *axis : {"head", "hidden", "vocab"})
    if (axis != without && std::find(model.axes.begin(), model.axes.end(), axis) != model.axes.end())
      text += (text.empty() ? "" : ", ") + std::string(axis) + (padded || std::string(axis) == "vocab" ? " pad" : "");
  return text;
}

/// One text for each of the layers that a rule applies to.
std::vector<std::string> ruleTexts(const ModelOutline &model, const std::string &text) {
  std::vector<std::string> texts;
  for (auto &[word, layers] : {std::pair("{attention}", &model.attentionLayers), std::pair("{feedforward}", &model.feedForwardLayers)})
    if (text.find(word) != std::string::npos)
      for (const std::string &layer : *layers)
        texts.push_back(replaced(text, word, layer));
  return texts.empty() ? std::vector<std::string>{text} : texts;
}

/// True if a rule of the feature splits the whole model's batch over the mesh axis.
bool splitsBatch(const PlanFeature &feature, const std::string &axis) {
  return std::any_of(feature.rules.begin(), feature.rules.end(), [&](const FeatureRule &rule) {
    return rule.text.rfind("batch -> ", 0) == 0 && rule.text.find(" in ") == std::string::npos &&
           (rule.text + ",").find(" " + axis + ",") != std::string::npos;
  });
}

/// The features and those that they bring: first those that one insists on, then those that are missing. Nothing if two share a kind.
std::optional<std::vector<const PlanFeature *>> completed(const std::vector<const PlanFeature *> &chosen, std::string &reason) {
  std::vector<const PlanFeature *> all;
  auto ofKind = [&](const std::string &kind) {
    auto found = std::find_if(all.begin(), all.end(), [&](const PlanFeature *other) { return other->kind == kind; });
    return found == all.end() ? nullptr : *found;
  };
  auto takes = [&](const PlanFeature *feature) {
    const PlanFeature *other = ofKind(feature->kind);
    if (!other)
      all.push_back(feature);
    else if (other != feature)
      reason = fmt::format("a plan has one choice of '{}': {} or {}", feature->kind, other->name, feature->name);
    return reason.empty();
  };
  for (const PlanFeature *feature : chosen)
    if (!takes(feature))
      return std::nullopt;
  for (const PlanFeature *feature : chosen)
    if (feature->insists && !takes(findFeature(feature->brings)))
      return std::nullopt;
  for (const PlanFeature *feature : chosen)
    if (const PlanFeature *more = findFeature(feature->brings); more && !ofKind(more->kind))
      all.push_back(more);
  return all;
}

/// Block counts of the parts: none in the first part, and all surplus blocks in the last but one.
std::string stagesByHand(int64_t parts, int64_t blocks) {
  std::vector<int64_t> counts(static_cast<size_t>(parts), 1);
  counts.front() = 0;
  counts[counts.size() - (parts > 2 ? 2 : 1)] += blocks - (parts - 1);
  return fmt::format("[{}]", fmt::join(counts, ", "));
}

void put(Settings &settings, const std::string &key, const std::string &value) {
  auto known = std::find_if(settings.begin(), settings.end(), [&](const auto &setting) { return setting.first == key; });
  if (known == settings.end())
    settings.emplace_back(key, value);
  else
    known->second = value;
}

} // namespace

std::optional<PlanDraft> draftPlan(const ModelOutline &model, const std::vector<const PlanFeature *> &chosen, const std::string &name,
                                   const DraftChoice &choice, std::string *reason) {
  std::string why;
  std::optional<std::vector<const PlanFeature *>> all = completed(chosen, why);
  for (const PlanFeature *feature : all ? *all : chosen)
    if (why.empty() && !applies(*feature, model))
      why = fmt::format("model '{}' has nothing for '{}'", model.name, feature->name);
  if (reason)
    *reason = why;
  if (!why.empty())
    return std::nullopt;
  PlanDraft draft;
  draft.name = name;
  std::vector<FeatureRule> rules;
  std::string lines, schedule;
  int64_t chunks = 1, micro = choice.micro, micros = choice.micros, stages = 1, dataParallel = 1;
  bool byHand = false, limitsLive = false;
  for (const PlanFeature *feature : *all) {
    draft.features.push_back(feature->name);
    for (const auto &[axis, sizes] : feature->mesh) {
      size_t place = draft.mesh.size();
      draft.mesh.emplace_back(axis, sizes[place < choice.sizes.size() ? choice.sizes[place] % sizes.size() : 0]);
      draft.world *= draft.mesh.back().second;
      if (splitsBatch(*feature, axis))
        dataParallel *= draft.mesh.back().second;
      if (!feature->schedule.empty())
        stages = draft.mesh.back().second;
    }
    byHand = byHand || feature->stagesByHand;
    if (micro % feature->microShares != 0)
      micro *= feature->microShares;
    limitsLive = limitsLive || feature->limitsLive;
    rules.insert(rules.end(), feature->rules.begin(), feature->rules.end());
    for (const std::string &line : feature->lines)
      lines += "    " + line + "\n";
    if (!feature->schedule.empty()) {
      schedule = feature->schedule, chunks = feature->chunks;
      micros = std::max(micros, feature->microsPerStage * stages);
    }
  }
  std::stable_sort(rules.begin(), rules.end(), [](const FeatureRule &a, const FeatureRule &b) { return a.place < b.place; });
  for (size_t i = 1; i < rules.size() && i <= choice.turns.size(); ++i)
    std::swap(rules[i], rules[choice.turns[i - 1] % (i + 1)]);

  std::vector<std::pair<std::string, int64_t>> mesh;
  for (size_t place : choice.order)
    if (place < draft.mesh.size())
      mesh.push_back(draft.mesh[place]);
  if (mesh.size() == draft.mesh.size())
    draft.mesh = mesh;
  std::string meshText;
  for (const auto &[axis, size] : draft.mesh)
    meshText += fmt::format("{}{} = {}", meshText.empty() ? "" : ", ", axis, size);

  int64_t blocks = std::max<int64_t>(2, stages * chunks) + choice.moreBlocks;
  std::string split;
  for (const FeatureRule &rule : rules)
    for (const std::string &text : ruleTexts(model, rule.text))
      split += "        " + text + "\n";
  if (!schedule.empty())
    split += fmt::format("        {} -> pp by {}{}{}\n", fmt::join(model.chains, ", "), schedule,
                         limitsLive ? fmt::format(" live {}", stages) : "",
                         byHand ? " stages " + stagesByHand(stages * chunks, blocks * model.blocksPerDepth) : "");
  std::string text = fmt::format("plan {} for {} {{\n", name, model.name);
  if (!meshText.empty())
    text += "    mesh " + meshText + "\n";
  text += fmt::format("    micro {}\n", micro);
  if (!split.empty())
    text += "    split {\n" + split + "    }\n";
  text += lines + "}\n";
  text = replaced(replaced(text, "{tensor}", tensorAxes(model, false)), "{padded}", tensorAxes(model, true));
  for (auto [word, axis] : {std::pair("{blocks}", "vocab"), std::pair("{unheaded}", "head"), std::pair("{headed}", "hidden")})
    text = replaced(text, word, tensorAxes(model, false, axis));
  draft.text = replaced(text, "{block}", model.block);

  draft.settings = model.settings;
  put(draft.settings, "batch", std::to_string(dataParallel * micro * micros));
  if (std::find(model.constants.begin(), model.constants.end(), "depth") != model.constants.end())
    put(draft.settings, "depth", std::to_string(blocks));
  for (const PlanFeature *feature : *all)
    for (const auto &[key, value] : feature->settings)
      put(draft.settings, key, value);
  return draft;
}

engine::Result<PlanDraft> draftNamed(const ModelOutline &model, const std::string &list, const std::string &name) {
  TRY(std::vector<const PlanFeature *> chosen, featuresNamed(list));
  std::string reason;
  if (std::optional<PlanDraft> draft = draftPlan(model, chosen, name, {}, &reason))
    return std::move(*draft);
  return engine::Status::usage("there is no plan with '" + list + "': " + reason);
}

std::string wholeText(const std::string &modelText, const PlanDraft &draft, uint32_t &firstLine) {
  std::string text = modelText;
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  text += '\n';
  firstLine = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  return text + draft.text;
}

} // namespace npar::verify
