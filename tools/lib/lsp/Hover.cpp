// Words what text, front end and compiled program say of a word.
#include "tools/lib/lsp/Hover.h"

#include "dsl/Vocabulary.h"
#include "tools/lib/lsp/ChoiceText.h"
#include "tools/lib/lsp/Meaning.h"
#include "tools/lib/lsp/ScheduleHover.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace npar::lsp {
namespace {

constexpr size_t mostLines = 8; // of a list

std::string codeBlock(const std::string &text, const char *language = "npar") { return fmt::format("```{}\n{}\n```\n", language, text); }

/// The line of a text that holds an offset, without its indentation and comment.
std::string lineText(const TextIndex &index, size_t offset) {
  ByteRange line = index.text->line(index.text->lineOf(offset));
  std::string text = index.text->bytes().substr(line.begin, line.end - line.begin);
  Scan scan(text);
  for (const Token &token : scan.tokens())
    if (token.kind == TokenKind::Comment) {
      text.resize(token.at.begin);
      break;
    }
  size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

class Composer {
public:
  Composer(Workspace &workspace, const Facts &facts, const std::string &path, const Meaning &meaning)
      : workspace(workspace), path(path), meaning(meaning), choices(facts.choicesSeeing(path)) {
    if (meaning.symbol && choices.empty()) // what other texts do with a layer is told where only they use it
      choices = facts.choicesSeeing(meaning.symbol.path);
    auto isBroken = [](const ElaboratedPointer &one) { return !one->program; };
    if (!std::all_of(choices.begin(), choices.end(), isBroken)) // they know less of the same
      choices.erase(std::remove_if(choices.begin(), choices.end(), isBroken), choices.end());
    preferPlan();
  }

  std::string text() {
    if (meaning.symbol)
      ofSymbol(meaning.symbol);
    else if (meaning.use)
      ofWord(*meaning.use);
    ofRule();
    return std::move(result);
  }

private:
  /// Inside a plan its own choices come first, and a plan that is no choice has none.
  void preferPlan() {
    TextPointer now = workspace.text(path);
    if (!now)
      return;
    Scan scan(now->bytes());
    const Declaration *around = scan.declarationAt(meaning.at.begin);
    if (!around || around->keyword != "plan")
      return;
    inPlan = around->name;
    std::stable_partition(choices.begin(), choices.end(), [&](const ElaboratedPointer &one) { return one->choice.plan == inPlan; });
  }

  void add(const std::string &line) { result += line + "\n"; }
  void addParagraph(const std::string &text) {
    if (!text.empty())
      result += "\n" + text + "\n";
  }
  void addList(const std::vector<std::string> &lines) {
    result += "\n";
    for (size_t i = 0; i < lines.size() && i < mostLines; ++i)
      result += "- " + lines[i] + "\n";
    if (lines.size() > mostLines)
      result += fmt::format("- and {} more\n", lines.size() - mostLines);
  }

  /// " under plan `two`"; empty if all choices have the same plan.
  std::string under(const Elaborated &choice) const {
    bool several = std::any_of(choices.begin(), choices.end(), [&](const auto &one) { return one->choice.plan != choice.choice.plan; });
    return choice.choice.plan == "none" ? " without a plan" : several ? fmt::format(" under plan `{}`", choice.choice.plan) : "";
  }

  /// Choices of different plans with an elaborated program.
  std::vector<const Elaborated *> plans() const {
    std::vector<const Elaborated *> found;
    for (const ElaboratedPointer &one : choices)
      if (one->program && std::none_of(found.begin(), found.end(), [&](const Elaborated *known) {
            return known->choice.plan == one->choice.plan && known->choice.model == one->choice.model;
          }))
        found.push_back(one.get());
    if (!inPlan.empty() && !found.empty() && found.front()->choice.plan == inPlan)
      found.resize(1);
    return found;
  }

  void ofSymbol(const Place &symbol) {
    switch (symbol->kind) {
    case SymbolKind::Axis:
      return ofAxis(symbol);
    case SymbolKind::MeshAxis:
      return ofMeshAxis(symbol);
    case SymbolKind::Constant:
      return ofConstant(symbol);
    case SymbolKind::Input:
    case SymbolKind::Value:
    case SymbolKind::Measure:
      return ofValue(symbol);
    case SymbolKind::Parameter:
    case SymbolKind::State:
      return ofParameter(symbol);
    case SymbolKind::Instance:
      return ofInstance(symbol);
    case SymbolKind::Repeat:
      return ofRepeat(symbol);
    case SymbolKind::Plan:
      return ofPlan(symbol);
    case SymbolKind::Model:
      return ofModel(symbol);
    case SymbolKind::Train:
    case SymbolKind::Layer:
    case SymbolKind::Optimizer:
    case SymbolKind::Config:
    case SymbolKind::Family:
    case SymbolKind::Machine:
    case SymbolKind::Data:
      return ofDeclaration(symbol);
    }
  }

  void ofDeclaration(const Place &symbol) {
    Scan scan(symbol.index->text->bytes());
    add(codeBlock(signatureOf(symbol, scan)));
    addParagraph(commentOf(symbol, scan));
  }

  void declared(const Place &symbol, const char *word) { // the line in which it is declared
    add(codeBlock(lineText(*symbol.index, symbol->at.begin)));
    add(fmt::format("{} `{}`", word, symbol->name));
  }

  void ofAxis(const Place &symbol) {
    declared(symbol, "axis");
    std::vector<std::string> lines;
    for (const Elaborated *choice : plans()) {
      std::set<std::string> names; // of the axes that it is, in a layer perhaps several
      for (const dsl::NamedValue *value : valuesAt(*choice, symbol))
        names.insert(value->type.axes.begin(), value->type.axes.end());
      if (names.empty() && symbol->at.end > symbol->at.begin)
        names.insert(symbol->name);
      for (const dsl::Axis &axis : choice->program->model.axes)
        if (names.count(axis.name) > 0)
          lines.push_back(axisText(*choice, axis, axis.name != symbol->name) + under(*choice));
    }
    addList(lines);
  }

  void ofMeshAxis(const Place &symbol) {
    declared(symbol, "mesh axis");
    std::vector<std::string> lines;
    for (const Elaborated *choice : plans())
      for (const dsl::MeshAxis &axis : choice->program->plan.mesh)
        if (axis.name == symbol->name && isOf(*choice, symbol)) {
          lines.push_back(fmt::format("size {}{}", axis.size, under(*choice)));
          for (const std::string &use : collectivesOver(*choice, axis.name))
            lines.push_back(use);
        }
    addList(lines);
  }

  /// Tells whether a symbol of a plan belongs to the plan of a choice.
  static bool isOf(const Elaborated &choice, const Place &symbol) {
    return symbol->owner >= 0 && symbol.index->symbols[static_cast<size_t>(symbol->owner)].name == choice.choice.plan;
  }

  void ofConstant(const Place &symbol) {
    declared(symbol, "constant");
    std::set<std::string> seen;
    std::vector<std::string> lines;
    for (const ElaboratedPointer &choice : choices)
      for (const dsl::NamedValue *value : valuesAt(*choice, symbol)) {
        std::string text = value->kind == dsl::NamedValue::Kind::Constant ? fmt::format("`{}`", value->text) : axesText(*choice, *value);
        if (seen.insert(text).second)
          lines.push_back(text + (value->path.empty() ? "" : fmt::format(" in `{}`", value->path)));
      }
    addList(lines);
  }

  void ofValue(const Place &symbol) {
    add(codeBlock(lineText(*symbol.index, meaning.definition.begin)));
    add(fmt::format("{} `{}`", wordOf(symbol->kind), symbol->name));
    std::vector<std::string> lines;
    std::set<std::string> seen;
    for (const ElaboratedPointer &choice : choices)
      for (const dsl::NamedValue *value : valuesAt(*choice, symbol, meaning.definition)) {
        if (value->kind == dsl::NamedValue::Kind::Constant) {
          if (seen.insert(value->text).second)
            lines.push_back(fmt::format("`{}`", value->text));
          continue;
        }
        std::string text = fmt::format("`{}`", typeText(value->type));
        if (choice->program)
          if (std::string sizes = sizesText(*choice->program, value->type.axes); !sizes.empty())
            text += ": " + sizes;
        if (const compiler::PlacedValue *placed = placedValue(*choice, *value))
          text += fmt::format("; layout `{}`, on a rank {} per micro-batch{}", placed->layout.empty() ? "whole" : placed->layout,
                              localText(*placed), under(*choice));
        if (seen.insert(text).second)
          lines.push_back(text);
      }
    addList(lines);
  }

  void ofParameter(const Place &symbol) {
    declared(symbol, symbol->kind == SymbolKind::State ? "state" : "parameter");
    std::vector<std::pair<std::string, size_t>> texts; // equal texts are counted
    for (const ElaboratedPointer &choice : choices)
      for (const dsl::NamedValue *value : valuesAt(*choice, symbol)) {
        if (value->kind != dsl::NamedValue::Kind::Parameter)
          continue;
        std::string text = parameterText(*choice, *value);
        text += under(*choice);
        auto known = std::find_if(texts.begin(), texts.end(), [&](const auto &one) { return one.first == text; });
        if (known != texts.end())
          ++known->second;
        else
          texts.push_back({text, 1});
      }
    std::vector<std::string> lines;
    for (const auto &[text, number] : texts)
      lines.push_back(number > 1 ? fmt::format("{} × {}", number, text) : text);
    addList(lines);
  }

  void ofInstance(const Place &symbol) {
    add(codeBlock(lineText(*symbol.index, symbol->at.begin)));
    Place layer = workspace.find(symbol.path, SymbolKind::Layer, symbol->layer);
    std::set<std::string> paths;
    uint64_t elements = 0;
    for (const ElaboratedPointer &choice : choices) {
      if (!choice->program || !paths.empty())
        continue;
      for (const dsl::NamedValue *value : valuesAt(*choice, symbol))
        paths.insert(value->path);
      for (const dsl::Parameter &parameter : choice->program->model.parameters)
        if (std::any_of(paths.begin(), paths.end(), [&](const std::string &one) { return parameter.path.rfind(one + ".", 0) == 0; })) {
          uint64_t count = 1;
          for (const std::string &name : parameter.type.axes)
            for (const dsl::Axis &axis : choice->program->model.axes)
              count *= axis.name == name ? static_cast<uint64_t>(axis.size) : 1;
          elements += count;
        }
    }
    if (!paths.empty())
      add(fmt::format("layer `{}`{}, {} parameters", *paths.begin(), paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "",
                      elements));
    if (layer) {
      add("");
      ofDeclaration(layer);
    }
  }

  void ofRepeat(const Place &symbol) {
    declared(symbol, "repeat");
    std::vector<std::string> lines;
    for (const Elaborated *choice : plans())
      for (const dsl::Repeat &repeat : choice->program->model.repeats)
        if (repeat.label == symbol->name) {
          std::string text = fmt::format("{} blocks", repeat.count);
          if (const auto &pipeline = choice->program->plan.pipeline;
              pipeline && std::find(pipeline->repeats.begin(), pipeline->repeats.end(), repeat.label) != pipeline->repeats.end())
            text += fmt::format("; cut into stages over {} by line {}, schedule {}", pipeline->mesh, pipeline->location.line,
                                pipeline->schedule);
          lines.push_back(text + under(*choice));
        }
    addList(lines);
  }

  void ofPlan(const Place &symbol) {
    ofDeclaration(symbol);
    for (const Elaborated *choice : plans())
      if (choice->choice.plan == symbol->name) {
        const dsl::Plan &plan = choice->program->plan;
        int64_t ranks = 1;
        std::string mesh;
        for (const dsl::MeshAxis &axis : plan.mesh)
          ranks *= axis.size, mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis.name, axis.size);
        std::vector<std::string> lines{fmt::format("{} ranks: {}", ranks, mesh), batchText(*choice)};
        if (choice->view)
          for (const show::ClassView &part : choice->view->classes)
            lines.push_back(fmt::format("{}: arena {}, {} sent per training step", part.ranksWithin(20), bytesText(part.arenaBytes),
                                        bytesText(part.sentBytes)));
        addList(lines);
      }
  }

  void ofModel(const Place &symbol) {
    ofDeclaration(symbol);
    for (const Elaborated *choice : plans())
      if (choice->compiled && choice->choice.model == symbol->name) {
        addList({fmt::format("{} parameters", choice->compiled->root().parameters())});
        return;
      }
  }

  void ofWord(const Reference &use) {
    if (use.want == Want::Setting && (use.name == "micro" || use.name == "accumulate" || use.name == "batch")) {
      add(fmt::format("`{}`", use.name));
      std::vector<std::string> lines;
      for (const Elaborated *choice : plans())
        if (choice->choice.plan != "none")
          lines.push_back(batchText(*choice) + under(*choice));
      addList(lines);
    } else if (use.want == Want::Schedule) {
      ofSchedule(use.name);
    } else if (use.want == Want::Text) {
      if (std::string found = workspace.imported(path, use.name); !found.empty())
        if (IndexPointer text = workspace.index(found)) {
          add(fmt::format("`{}`", found));
          addParagraph(Scan(text->text->bytes()).tokens().empty() ? "" : firstComment(*text));
        }
    } else if (use.want == Want::Callee || use.want == Want::Word) {
      for (const dsl::OperationSignature &signature : dsl::operationSignatures())
        if (signature.name == use.name)
          return add(codeBlock(signature.text) + "operation");
      for (const std::string &function : dsl::constantFunctions())
        if (function == use.name)
          return add(codeBlock(function + "(...)") + "function of constants");
    }
  }

  static std::string firstComment(const TextIndex &index) {
    const std::string &bytes = index.text->bytes();
    Scan scan(bytes);
    for (const Token &token : scan.tokens())
      if (token.kind != TokenKind::Comment)
        return scan.commentAbove(token.at.begin);
    return "";
  }

  void ofSchedule(const std::string &name) {
    int stages = 4, micros = 8, chunks = 0;
    for (const Elaborated *choice : plans()) {
      const dsl::Plan &plan = choice->program->plan;
      if (!plan.pipeline || (!inPlan.empty() && choice->choice.plan != inPlan))
        continue;
      for (const dsl::MeshAxis &axis : plan.mesh)
        if (axis.name == plan.pipeline->mesh)
          stages = static_cast<int>(axis.size);
      micros = static_cast<int>(plan.microCount), chunks = plan.pipeline->chunks;
      break;
    }
    std::string drawn = drawnSchedule(name, stages, micros, chunks);
    add(drawn.empty() ? fmt::format("`{}`", name) : codeBlock(drawn, "text"));
  }

  /// Adds the collectives that a rule of the plan causes, for every word of its line.
  void ofRule() {
    TextPointer now = workspace.text(path);
    if (inPlan.empty() || !now)
      return;
    Scan scan(now->bytes());
    std::optional<size_t> token = scan.touching(meaning.at.begin);
    if (!token)
      return;
    bool inRules = false;
    for (const OpenBracket &open : scan.openBefore(*token))
      inRules |= open.head == "split" || open.head == "store";
    if (!inRules)
      return;
    uint32_t line = static_cast<uint32_t>(now->lineOf(meaning.at.begin)) + 1;
    for (const ElaboratedPointer &choice : choices)
      if (choice->view && choice->choice.plan == inPlan) {
        std::optional<uint32_t> file = fileOf(*choice, path);
        if (!file)
          continue;
        // The line in the text that was compiled.
        Text then(choice->sources->text(*file));
        size_t place = Difference(then.bytes(), now->bytes()).toOld(now->line(line - 1).begin);
        std::vector<std::string> lines = collectivesOfLine(*choice, path, static_cast<uint32_t>(then.lineOf(place)) + 1);
        addParagraph("**This line causes**, per training step and rank:");
        addList(lines.empty() ? std::vector<std::string>{"no collective"} : lines);
        return;
      }
  }

  Workspace &workspace;
  const std::string &path;
  const Meaning &meaning;
  std::vector<ElaboratedPointer> choices;
  std::string inPlan; ///< the plan around the word; may be empty
  std::string result;
};

} // namespace

std::optional<HoverText> hoverAt(Workspace &workspace, const Facts &facts, const std::string &path, size_t offset) {
  std::optional<Meaning> meaning = meaningAt(workspace, path, offset);
  if (!meaning)
    return std::nullopt;
  std::string text = Composer(workspace, facts, path, *meaning).text();
  if (text.empty())
    return std::nullopt;
  return HoverText{std::move(text), meaning->at};
}

} // namespace npar::lsp
