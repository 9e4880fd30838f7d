// Reads the words before a place to find out what may follow, and takes names from the last good index.
#include "tools/lib/lsp/Completion.h"

#include "dsl/Nodes.h"
#include "dsl/Vocabulary.h"
#include "engine/program/Elements.h"
#include "tools/lib/lsp/Meaning.h"
#include "tools/lib/lsp/WrittenNames.h"

#include <algorithm>
#include <set>

namespace npar::lsp {
namespace {

const std::vector<std::string> modelWords = {"axis", "input", "param", "state",  "update", "log",     "repeat",
                                             "if",   "under", "loss",  "metric", "output", "require", "checkpoint"};
const std::vector<std::string> layerWords = {"axis", "param", "state", "if", "under", "require", "forward"};
const std::vector<std::string> optimizerWords = {"state", "require", "update"};
const std::vector<std::string> familyWords = {"class", "take", "must", "skip"};
const std::vector<std::string> dataWords = {"stream",   "file",       "idx",  "images",   "text",     "split",
                                            "shuffled", "sequential", "last", "pictures", "training", "evaluation"};
const std::vector<std::string> forwardWords = {"update", "log", "if", "require", "return"};

class Completer {
public:
  Completer(Workspace &workspace, const std::string &path, size_t offset, const std::vector<std::string> &schedules)
      : workspace(workspace), path(path), schedules(schedules), now(workspace.text(path)), scan(now->bytes()),
        index(workspace.index(path)) {
    const std::string &bytes = now->bytes();
    place = std::min(offset, bytes.size());
    size_t begin = place;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(bytes[begin - 1])) || bytes[begin - 1] == '_'))
      --begin;
    result.word = {begin, place};
    token = 0;
    while (token < scan.tokens().size() && scan.tokens()[token].at.end <= begin)
      ++token; // tokens before the word
    around = scan.declarationAt(begin);
    if (!around && !scan.declarations().empty() && scan.declarations().back().whole.end <= begin && isUnclosed())
      around = &scan.declarations().back();
  }

  Completions run() {
    if (inComment())
      return result;
    if (std::optional<ByteRange> string = stringAround()) {
      if (word(1) == "import") {
        result.word = {string->begin + 1, place};
        for (const char *folder : {"layers", "models", "plans", "optimizers", "machines"})
          for (const std::string &name : workspace.libraryNames(folder))
            add(name, CompletionKind::Text, "standard library, " + std::string(folder));
      } else if (word(1) == "of") {
        result.word = {string->begin + 1, place};
        for (const std::string &name : workspace.libraryNames("machines"))
          add(name, CompletionKind::Text, "machine");
      }
      return result;
    }
    open = scan.openBefore(token);
    if (word(1) == ".")
      members();
    else if (open.empty())
      topLevel();
    else if (around && around->keyword == "plan")
      inPlan();
    else if (around && (around->keyword == "model" || around->keyword == "layer"))
      inModel();
    else if (around && around->keyword == "train")
      inTrain();
    else
      inOther();
    return result;
  }

private:
  /// The word `back` tokens before the place; empty beyond the text.
  std::string word(size_t back) const { return token >= back ? std::string(scan.textOf(token - back)) : ""; }

  bool isUnclosed() const {
    int depth = 0;
    for (size_t i = scan.before(scan.declarations().back().whole.begin + 1); i < scan.tokens().size(); ++i)
      depth += scan.textOf(i) == "{" ? 1 : scan.textOf(i) == "}" ? -1 : 0;
    return depth > 0;
  }

  bool inComment() const {
    for (const Token &one : scan.tokens())
      if (one.kind == TokenKind::Comment && one.at.begin < place && place <= one.at.end)
        return true;
    return false;
  }

  std::optional<ByteRange> stringAround() {
    for (size_t i = 0; i < scan.tokens().size(); ++i)
      if (const Token &one = scan.tokens()[i];
          one.kind == TokenKind::String && one.at.begin < place &&
          (place < one.at.end || (place == one.at.end && (one.at.end - one.at.begin == 1 || now->bytes()[one.at.end - 1] != '"')))) {
        token = i; // what counts is before the text
        return one.at;
      }
    return std::nullopt;
  }

  void add(const std::string &label, CompletionKind kind, const std::string &detail = "", const std::string &documentation = "",
           const std::string &import = "") {
    if (!label.empty() && seen.insert(label).second)
      result.items.push_back({label, kind, detail, documentation, import});
  }
  void addWords(const std::vector<std::string> &words) {
    for (const std::string &one : words)
      add(one, CompletionKind::Keyword);
  }

  int declaration() const {
    if (around && index)
      for (size_t i = 0; i < index->symbols.size(); ++i)
        if (index->symbols[i].owner < 0 && index->symbols[i].name == around->name && wordOf(index->symbols[i].kind) == around->keyword)
          return static_cast<int>(i);
    return -1;
  }

  static CompletionKind kindOf(SymbolKind kind) {
    return kind == SymbolKind::Axis       ? CompletionKind::Axis
           : kind == SymbolKind::MeshAxis ? CompletionKind::MeshAxis
           : kind == SymbolKind::Constant ? CompletionKind::Constant
                                          : CompletionKind::Value;
  }

  void addSymbols(const TextIndex &text, int owner, const std::set<SymbolKind> &kinds) {
    for (const Symbol &symbol : text.symbols)
      if (symbol.owner == owner && (kinds.empty() || kinds.count(symbol.kind) > 0))
        add(symbol.name, kindOf(symbol.kind), symbol.layer.empty() ? wordOf(symbol.kind) : symbol.layer);
  }

  /// Adds the names in scope of the declaration around the place, from the last good index and from the text before the place.
  void addOwn(const std::set<SymbolKind> &kinds) {
    if (int own = declaration(); own >= 0)
      addSymbols(*index, own, kinds);
    if (around)
      for (const WrittenName &one : writtenNames(now->bytes(), scan, *around, result.word.begin))
        if (kinds.empty() || kinds.count(one.kind) > 0)
          add(one.name, kindOf(one.kind), wordOf(one.kind));
  }

  void topLevel() {
    if (word(1) == "for" && token >= 3)
      return addModels();
    if (around && around->keyword != "config" && word(1) == around->keyword)
      return; // a new name
    addWords(declarationKeywords());
    if (around)
      add("for", CompletionKind::Keyword);
  }

  void addModels() {
    for (const auto &[seenPath, text] : workspace.reach(path))
      for (const Symbol &symbol : text->symbols)
        if (symbol.kind == SymbolKind::Model)
          add(symbol.name, CompletionKind::Model, "model");
  }

  void addLayers() {
    for (const auto &[seenPath, text] : workspace.reach(path)) {
      Scan whole(text->text->bytes());
      for (size_t i = 0; i < text->symbols.size(); ++i)
        if (text->symbols[i].kind == SymbolKind::Layer) {
          Place layer{seenPath, text, static_cast<int>(i)};
          add(layer->name, CompletionKind::Layer, signatureOf(layer, whole), commentOf(layer, whole));
        }
    }
    for (const auto &[name, text] : workspace.importableLayers())
      add(name, CompletionKind::Layer, "import \"" + text + '"', "", text);
  }

  void addOperations() {
    for (const dsl::OperationSignature &signature : dsl::operationSignatures())
      add(signature.name, CompletionKind::Operation, signature.text);
    for (const std::string &name : dsl::constantFunctions())
      add(name, CompletionKind::Function, "function of constants");
  }

  void members() {
    if (Place layer = workspace.find(path, SymbolKind::Layer, layerOf(word(2))))
      addSymbols(*layer.index, layer.symbol, {SymbolKind::Parameter, SymbolKind::State, SymbolKind::Instance, SymbolKind::Constant});
  }

  /// The layer whose call has this name, by the last good index, or as it is written before the place: `name = Layer(`. Empty: none.
  std::string layerOf(const std::string &name) const {
    const int own = declaration(), symbol = own >= 0 ? index->findIn(own, name) : -1;
    if (symbol >= 0)
      return index->symbols[static_cast<size_t>(symbol)].layer;
    for (size_t i = token; i-- > 3;)
      if (scan.textOf(i) == "(" && scan.textOf(i - 2) == "=") {
        const bool hasPath = i > 5 && scan.textOf(i - 4) == "as"; // `name as "path" = Layer(`
        if (scan.textOf(hasPath ? i - 5 : i - 3) == name)
          return std::string(scan.textOf(i - 1));
      }
    return "";
  }

  /// True if the place begins a statement or an item.
  bool beginsStatement() const {
    std::string before = word(1);
    if (before == "{" || before == "}" || token == 0)
      return true;
    const std::string &bytes = now->bytes();
    size_t end = scan.tokens()[token - 1].at.end;
    bool newLine = bytes.find_first_of("\r\n", end) < result.word.begin;
    return newLine && before != "," && before != "=" && before != "->" && before != "+" && before != "-" && before != "*" &&
           before != "/" && open.back().bracket == '{';
  }

  void addNamedArguments() {
    if (open.empty() || open.back().bracket != '(')
      return;
    const std::string &callee = open.back().owner;
    for (SymbolKind kind : {SymbolKind::Layer, SymbolKind::Optimizer})
      if (Place layer = workspace.find(path, kind, callee))
        for (const Symbol &symbol : layer.index->symbols)
          if (symbol.owner == layer.symbol && symbol.kind == SymbolKind::Constant)
            add(symbol.name, CompletionKind::Constant, "argument of " + callee);
    for (const dsl::OperationSignature &signature : dsl::operationSignatures())
      if (signature.name == callee)
        for (const std::string &argument : signature.arguments)
          add(argument, CompletionKind::Constant, "argument of " + callee);
  }

  void inModel() {
    bool inForward = false;
    for (const OpenBracket &one : open)
      inForward |= one.head == "forward";
    if (open.size() == 1 && open.back().bracket == '(' && open.back().owner == around->name)
      return addOwn({SymbolKind::Constant}); // the constants of the declaration itself
    if (open.back().bracket == '{' && open.back().head == "checkpoint" && beginsStatement())
      return addWords({"rename", "ignore", "keep", "same", "fresh"});
    std::string first = firstOfStatement();
    if (open.back().bracket == '[' || word(2) == "over" || word(2) == "along" || word(2) == "keys" || word(1) == "axis" || first == "axis")
      addOwn({SymbolKind::Axis});
    if (word(1) == ":" && first == "input")
      return addTypes();
    if (open.back().bracket == '[' && (first == "param" || first == "input" || first == "state"))
      return;
    if (beginsStatement())
      addWords(inForward ? forwardWords : around->keyword == "model" ? modelWords : layerWords);
    addNamedArguments();
    addOwn({});
    addWords({"true", "false", "none"});
    addLayers();
    addOperations();
  }

  /// The first word of the line that the place is in.
  std::string firstOfStatement() const {
    ByteRange line = now->line(now->lineOf(result.word.begin));
    for (const Token &one : scan.tokens())
      if (one.at.begin >= line.begin)
        return one.at.begin < result.word.begin ? std::string(scan.textOf(one)) : "";
    return "";
  }

  void inTrain() {
    if (word(1) == "optimizer" || (open.back().bracket == '{' && word(1) == "optimizer"))
      for (const std::string &name : workspace.libraryNames("optimizers"))
        add(name, CompletionKind::Optimizer, optimizerSignature(name));
    else if (open.back().bracket == '(')
      addNamedArguments();
    else if (beginsStatement())
      addWords(dsl::trainWords());
    addOwn({});
    if (open.back().bracket == '(')
      for (const char *name : {"constant", "cosine", "linear"})
        add(name, CompletionKind::Function, "learning rate");
  }

  /// Completes in an optimizer, a configuration, a family, a data block or a machine.
  void inOther() {
    const std::string keyword = around ? around->keyword : "";
    if (open.back().bracket == '{' && beginsStatement())
      addWords(keyword == "optimizer" ? optimizerWords
               : keyword == "family"  ? familyWords
               : keyword == "data"    ? dataWords
                                      : std::vector<std::string>());
    if (keyword == "config" || keyword == "family" || keyword == "data")
      if (Place model = workspace.find(path, SymbolKind::Model, around->of))
        addSymbols(*model.index, model.symbol, {keyword == "data" ? SymbolKind::Input : SymbolKind::Constant});
    names();
  }

  std::string optimizerSignature(const std::string &name) {
    Place found = workspace.find(path, SymbolKind::Optimizer, name);
    return found ? signatureOf(found, Scan(found.index->text->bytes())) : "";
  }

  void inPlan() {
    const OpenBracket &inner = open.back();
    if (inner.bracket != '{' || inner.head.empty())
      return names();
    std::string first = inner.head;
    if (first == "split" || first == "store")
      return inRules(first == "store");
    if (word(1) == "compute" || word(1) == "reduce" || (word(1) == "in" && firstOfStatement() == "keep"))
      return addTypes();
    if (word(1) == "recompute")
      return addWords({"none", "attention", "block", "every", "op"});
    if (beginsStatement())
      return addWords(dsl::planWords());
    if (firstOfStatement() == "mesh" || firstOfStatement() == "place")
      addOwn({SymbolKind::Constant, SymbolKind::MeshAxis});
    else
      names();
  }

  void addTypes() {
    for (const program::ElementRow &row : program::elementRows)
      add(row.word, CompletionKind::Type, "element type");
  }

  void inRules(bool store) {
    size_t line = now->line(now->lineOf(result.word.begin)).begin;
    bool right = false;
    for (size_t i = token; i-- > 0 && scan.tokens()[i].at.begin >= line;)
      right |= scan.textOf(i) == "->";
    std::string before = word(1);
    if (before == "by") {
      for (const std::string &name : schedules)
        add(name, CompletionKind::Schedule, "schedule");
      for (const char *way : {"gather", "ring", "all_to_all"})
        add(way, CompletionKind::Schedule, "way");
      return addOwn({SymbolKind::Constant});
    }
    if (before == "op" && word(2) == "in") {
      for (const dsl::NodeKind &kind : dsl::nodeKinds())
        add(kind.name, CompletionKind::Operation, "operation");
      return;
    }
    if (before == "in")
      return addWords({"op", "layer"});
    if (before == "if" || before == "and" || before == "or" || before == "not")
      return addOwn({SymbolKind::Constant});
    if (!right) {
      if (store)
        return addWords({"parameters", "gradients", "optimizer", "secondary"});
      return addModelAxes();
    }
    if (before == "->" || before == ",") {
      addOwn({SymbolKind::MeshAxis});
      if (!store)
        add("none", CompletionKind::Keyword);
      return;
    }
    addWords(store ? std::vector<std::string>{"per", "if"} : std::vector<std::string>{"by", "in", "if", "live", "stages"});
  }

  /// Axes and repeats that rules may name: of the plan's model, or of all models and layers in reach.
  void addModelAxes() {
    const std::set<SymbolKind> kinds = {SymbolKind::Axis, SymbolKind::Repeat};
    if (Place model = around->of.empty() ? Place() : workspace.find(path, SymbolKind::Model, around->of)) {
      addSymbols(*model.index, model.symbol, kinds);
    } else {
      for (const auto &[seenPath, text] : workspace.reach(path))
        for (size_t i = 0; i < text->symbols.size(); ++i)
          if (text->symbols[i].kind == SymbolKind::Model)
            addSymbols(*text, static_cast<int>(i), kinds);
    }
    add("batch", CompletionKind::Axis, "the samples of a step");
    add("blocks", CompletionKind::Axis, "all repeated blocks");
    add("pad", CompletionKind::Keyword);
  }

  void names() {
    addNamedArguments();
    addOwn({});
    for (const std::string &name : dsl::constantFunctions())
      add(name, CompletionKind::Function, "function of constants");
  }

  Workspace &workspace;
  const std::string &path;
  const std::vector<std::string> &schedules;
  TextPointer now;
  Scan scan;
  IndexPointer index;
  size_t place = 0, token = 0; ///< token: the first one that is not before the word
  const Declaration *around = nullptr;
  std::vector<OpenBracket> open;
  std::set<std::string> seen;
  Completions result;
};

} // namespace

Completions completionsAt(Workspace &workspace, const std::string &path, size_t offset, const std::vector<std::string> &schedules) {
  return workspace.text(path) ? Completer(workspace, path, offset, schedules).run() : Completions{{offset, offset}, {}};
}

} // namespace npar::lsp
