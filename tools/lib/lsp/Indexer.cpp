// Walks a syntax tree with the scopes of the language.
#include "tools/lib/lsp/TextIndex.h"

#include <algorithm>

namespace npar::lsp {

namespace ast = dsl::ast;
using ast::ExpressionKind;
using ast::StatementKind;

namespace {

class Indexer {
public:
  Indexer(const ast::File &tree, const dsl::Sources &sources, TextPointer text) : tree(tree), sources(sources) {
    index.text = std::move(text);
  }

  TextIndex run() {
    for (const ast::Import &import : tree.imports) {
      index.imports.push_back(import.path);
      refer(rangeOf(import.location), import.path, Want::Text, "");
    }
    for (const ast::Block &layer : tree.layers)
      block(layer, SymbolKind::Layer);
    for (const ast::Block &model : tree.models)
      block(model, SymbolKind::Model);
    for (const ast::Optimizer &each : tree.optimizers)
      optimizer(each);
    for (const ast::Train &each : tree.trains)
      train(each);
    for (const ast::Plan &each : tree.plans)
      plan(each);
    for (const ast::Config &each : tree.configs)
      config(each);
    for (const ast::Family &each : tree.families)
      family(each);
    for (const ast::Machine &each : tree.machines)
      open(each.name, SymbolKind::Machine, nullptr);
    for (const ast::Data &each : tree.datas)
      data(each);
    Scan scan(index.text->bytes());
    for (const Symbol &symbol : index.symbols) {
      const Declaration *whole = symbol.owner < 0 ? scan.declarationAt(symbol.at.begin) : nullptr;
      index.wholes.push_back(whole ? whole->whole : symbol.at);
    }
    std::sort(index.references.begin(), index.references.end(),
              [](const Reference &a, const Reference &b) { return a.at.begin < b.at.begin; });
    return std::move(index);
  }

private:
  using Scope = std::map<std::string, int>;

  ByteRange rangeOf(const dsl::Location &at) const {
    dsl::Span span = sources.span(at);
    return {span.begin, span.end};
  }
  ByteRange rangeOf(const ast::Name &name) const { return rangeOf(name.location); }

  int add(SymbolKind kind, const ast::Name &name, const std::string &layer = "") {
    index.symbols.push_back({kind, name.text, rangeOf(name), owner, layer, {rangeOf(name)}});
    return static_cast<int>(index.symbols.size()) - 1;
  }

  /// Begins a top-level declaration.
  void open(const ast::Name &name, SymbolKind kind, const ast::Name *of) {
    owner = -1;
    model = of ? of->text : "";
    int symbol = add(kind, name, model);
    owner = symbol;
    scopes.assign(1, {});
    if (of && !of->text.empty())
      refer(*of, Want::Model);
  }

  int declare(SymbolKind kind, const ast::Name &name, const std::string &layer = "") {
    int symbol = add(kind, name, layer);
    scopes.back()[name.text] = symbol;
    return symbol;
  }

  int lookUp(const std::string &name) const {
    for (size_t i = scopes.size(); i-- > 0;)
      if (auto found = scopes[i].find(name); found != scopes[i].end())
        return found->second;
    return -1;
  }

  void refer(ByteRange at, const std::string &name, Want want, const std::string &of, int symbol = -1) {
    index.references.push_back({at, name, symbol >= 0 ? Want::Symbol : want, symbol, of});
  }
  void refer(const ast::Name &name, Want want, const std::string &of = "") { refer(rangeOf(name), name.text, want, of); }
  /// A use of a name in scope; `want` if no name is in scope.
  void use(ByteRange at, const std::string &name, Want want = Want::Word, const std::string &of = "") {
    refer(at, name, want, of, lookUp(name));
  }
  void use(const ast::Name &name, Want want = Want::Word, const std::string &of = "") { use(rangeOf(name), name.text, want, of); }

  void parameters(const std::vector<ast::Item> &items) {
    for (const ast::Item &item : items) {
      walk(item.value);
      declare(SymbolKind::Constant, item.name);
    }
  }

  void walk(const ast::ExpressionPtr &expression) {
    if (expression)
      walk(*expression);
  }

  void walk(const ast::Expression &e) {
    if (e.kind == ExpressionKind::Name)
      use(nameRange(e), e.text);
    else if (e.kind == ExpressionKind::Suffixed)
      suffixed(e);
    else if (e.kind == ExpressionKind::Each)
      each(e);
    else
      for (const ast::ExpressionPtr &item : e.items)
        walk(item);
  }

  ByteRange nameRange(const ast::Expression &e) const {
    ByteRange at = rangeOf(e.location);
    return {at.begin, at.begin + e.text.size()};
  }

  /// `[entry for i in count]`
  void each(const ast::Expression &e) {
    for (size_t i = 1; i < e.items.size(); ++i)
      walk(e.items[i]);
    scopes.emplace_back();
    ByteRange at = rangeOf(e.location);
    index.symbols.push_back({SymbolKind::Value, e.text, at, owner, "", {}}); // its place is not in the tree
    scopes.back()[e.text] = static_cast<int>(index.symbols.size()) - 1;
    if (!e.items.empty())
      walk(e.items[0]);
    scopes.pop_back();
  }

  void suffixed(const ast::Expression &e) {
    const ast::Expression &base = *e.items[0];
    std::string layer; // whose arguments or members follow
    bool called = !e.suffixes.empty() && e.suffixes[0].kind == ast::SuffixKind::Call;
    if (base.kind == ExpressionKind::Name) {
      int symbol = lookUp(base.text);
      use(nameRange(base), base.text, called ? Want::Callee : Want::Word);
      layer = symbol < 0 ? (called ? base.text : "") : index.symbols[static_cast<size_t>(symbol)].layer;
    } else {
      walk(base);
    }
    for (const ast::Suffix &suffix : e.suffixes) {
      if (suffix.kind == ast::SuffixKind::Member)
        refer(suffix.member, Want::Member, layer);
      for (const ast::Argument &argument : suffix.arguments) {
        if (!argument.name.text.empty()) {
          if (suffix.kind == ast::SuffixKind::Select)
            use(argument.name, Want::Axis, model);
          else
            refer(argument.name, Want::Constant, layer);
        }
        walk(argument.value);
      }
    }
  }

  void block(const ast::Block &declaration, SymbolKind kind) {
    open(declaration.name, kind, nullptr);
    if (kind == SymbolKind::Model)
      model = declaration.name.text;
    parameters(declaration.parameters);
    statements(declaration.body);
  }

  void statements(const std::vector<ast::Statement> &list) {
    for (const ast::Statement &s : list)
      statement(s);
  }

  void statement(const ast::Statement &s) {
    switch (s.kind) {
    case StatementKind::Axis:
      for (const ast::Item &item : s.items) {
        walk(item.value);
        declare(SymbolKind::Axis, item.name);
      }
      return;
    case StatementKind::Input:
      walk(s.shape);
      for (const ast::Item &item : s.items)
        declare(SymbolKind::Input, item.name);
      return;
    case StatementKind::Param:
    case StatementKind::State:
      walk(s.shape), walk(s.value);
      declare(s.kind == StatementKind::Param ? SymbolKind::Parameter : SymbolKind::State, s.name);
      return;
    case StatementKind::Update:
      use(s.name), walk(s.value);
      return;
    case StatementKind::Repeat:
      walk(s.value);
      declare(SymbolKind::Repeat, s.name);
      scopes.emplace_back();
      if (s.index)
        declare(SymbolKind::Value, *s.index);
      statements(s.body);
      scopes.pop_back();
      return;
    case StatementKind::If:
      walk(s.value), statements(s.body), statements(s.otherwise);
      return;
    case StatementKind::Under:
      return statements(s.body);
    case StatementKind::Checkpoint:
      for (const ast::CheckpointRule &rule : s.rules)
        walk(rule.value);
      return;
    case StatementKind::Output:
      if (!s.value)
        return use(s.name);
      [[fallthrough]];
    case StatementKind::Loss:
    case StatementKind::Metric:
    case StatementKind::Log:
      walk(s.value), walk(s.weight), walk(s.condition);
      if (!s.name.text.empty())
        add(SymbolKind::Measure, s.name);
      return;
    case StatementKind::Require:
    case StatementKind::Return:
      return walk(s.value);
    case StatementKind::Forward:
      scopes.emplace_back();
      for (const ast::Item &item : s.items)
        declare(SymbolKind::Value, item.name);
      walk(s.value), statements(s.body);
      scopes.pop_back();
      return;
    case StatementKind::Assign:
      return assign(s);
    }
  }

  void assign(const ast::Statement &s) {
    walk(s.value);
    if (int old = lookUp(s.name.text); old >= 0 && index.symbols[static_cast<size_t>(old)].kind == SymbolKind::Value) {
      index.symbols[static_cast<size_t>(old)].definitions.push_back(rangeOf(s.name));
      return;
    }
    const ast::Expression &value = *s.value;
    bool called = value.kind == ExpressionKind::Suffixed && value.items[0]->kind == ExpressionKind::Name && value.suffixes.size() == 1 &&
                  value.suffixes[0].kind == ast::SuffixKind::Call;
    const std::string callee = called ? value.items[0]->text : "";
    bool isLayer = called && lookUp(callee) < 0 && std::isupper(static_cast<unsigned char>(callee[0])) != 0;
    declare(isLayer ? SymbolKind::Instance : SymbolKind::Value, s.name, isLayer ? callee : "");
  }

  void optimizer(const ast::Optimizer &declaration) {
    open(declaration.name, SymbolKind::Optimizer, nullptr);
    parameters(declaration.parameters);
    for (const ast::OptimizerState &state : declaration.states) {
      walk(state.shape), walk(state.initial);
      for (const ast::Name &name : state.names)
        declare(SymbolKind::State, name);
    }
    for (const ast::Requirement &requirement : declaration.requirements)
      walk(requirement.condition);
    for (const ast::OptimizerUpdate &update : declaration.updates) {
      scopes.emplace_back();
      for (const ast::Name &name : update.values)
        declare(SymbolKind::Value, name);
      for (const ast::Item &line : update.lines) {
        walk(line.value);
        if (int old = lookUp(line.name.text); old >= 0)
          index.symbols[static_cast<size_t>(old)].definitions.push_back(rangeOf(line.name));
        else
          declare(SymbolKind::Value, line.name);
      }
      scopes.pop_back();
    }
  }

  /// `AdamW(lr = ...)`: the callee is an optimizer.
  void optimizerCall(const ast::ExpressionPtr &value) {
    if (!value || value->kind != ExpressionKind::Suffixed || value->items[0]->kind != ExpressionKind::Name)
      return walk(value);
    const std::string &name = value->items[0]->text;
    refer(nameRange(*value->items[0]), name, Want::Optimizer, "");
    for (const ast::Suffix &suffix : value->suffixes)
      for (const ast::Argument &argument : suffix.arguments) {
        if (!argument.name.text.empty())
          refer(argument.name, Want::Constant, name);
        walk(argument.value);
      }
  }

  void train(const ast::Train &declaration) {
    open(declaration.name, SymbolKind::Train, &declaration.model);
    parameters(declaration.parameters);
    for (const ast::Setting &setting : declaration.settings) {
      refer(setting.name, Want::Setting, "train");
      if (setting.name.text == "optimizer")
        optimizerCall(setting.value);
      else
        walk(setting.value);
    }
    for (const ast::ParameterRule &rule : declaration.rules) {
      walk(rule.condition);
      for (const ast::GroupChange &change : rule.changes) {
        if (change.name.text == "optimizer")
          optimizerCall(change.value);
        else
          walk(change.value);
      }
    }
  }

  void plan(const ast::Plan &declaration) {
    open(declaration.name, SymbolKind::Plan, &declaration.model);
    parameters(declaration.parameters);
    for (const ast::Item &item : declaration.mesh) {
      walk(item.value);
      declare(SymbolKind::MeshAxis, item.name);
    }
    for (const ast::Place &place : declaration.places)
      for (const std::vector<ast::Name> *names : {&place.order, &place.inside})
        for (const ast::Name &name : *names)
          use(name);
    for (const ast::Rule &rule : declaration.rules)
      placing(rule);
    for (const ast::Setting &setting : declaration.settings) {
      refer(setting.name, Want::Setting, "plan");
      walk(setting.value);
    }
    for (const ast::StoreRule &rule : declaration.stores) {
      for (const ast::Name &name : rule.what)
        refer(name, Want::Setting, "store");
      for (const ast::Name &name : rule.mesh)
        use(name);
      walk(rule.condition);
    }
    for (const ast::Recompute &recompute : declaration.recomputes)
      walk(recompute.value);
    for (const ast::Precision &precision : declaration.precisions)
      walk(precision.value);
    for (const ast::Keep &keep : declaration.keeps)
      walk(keep.type);
    for (const std::vector<ast::Quantity> *list : {&declaration.buckets, &declaration.limits})
      for (const ast::Quantity &quantity : *list)
        walk(quantity.value);
    for (const ast::Setting &buffer : declaration.expertBuffers)
      walk(buffer.value);
    for (const ast::Requirement &requirement : declaration.requirements)
      walk(requirement.condition);
  }

  void placing(const ast::Rule &rule) {
    for (const ast::RuleAxis &axis : rule.axes)
      refer(axis.name, Want::Axis, model);
    for (const ast::Name &name : rule.mesh)
      use(name);
    if (rule.schedule && !rule.scheduleIsText)
      use(*rule.schedule, Want::Schedule);
    walk(rule.chunks), walk(rule.live), walk(rule.stages), walk(rule.condition);
  }

  void config(const ast::Config &declaration) {
    open(declaration.name, SymbolKind::Config, &declaration.model);
    for (const ast::Item &item : declaration.values) {
      refer(item.name, Want::Constant, declaration.model.text);
      walk(item.value);
    }
  }

  void family(const ast::Family &declaration) {
    open(declaration.name, SymbolKind::Family, &declaration.model);
    // Names in the lines are constants of the model.
    auto constants = [&](const ast::ExpressionPtr &expression) {
      size_t first = index.references.size();
      walk(expression);
      for (size_t i = first; i < index.references.size(); ++i)
        if (index.references[i].want == Want::Word)
          index.references[i].want = Want::Constant, index.references[i].of = declaration.model.text;
    };
    for (const ast::FamilyRule &rule : declaration.rules) {
      constants(rule.value), constants(rule.otherwise);
      for (const ast::Item &item : rule.values) {
        refer(item.name, Want::Constant, declaration.model.text);
        constants(item.value);
      }
    }
  }

  void data(const ast::Data &declaration) {
    open(declaration.name, SymbolKind::Data, &declaration.model);
    parameters(declaration.parameters);
    for (const ast::DataSource &source : declaration.sources)
      for (const ast::DataFeed &feed : source.feeds) {
        refer(feed.input, Want::Input, declaration.model.text);
        walk(feed.value);
        if (feed.below && feed.below->kind == ExpressionKind::Name)
          use(nameRange(*feed.below), feed.below->text, Want::Axis, declaration.model.text);
        else
          walk(feed.below);
      }
    for (const ast::DataSplit &split : declaration.splits) {
      for (const ast::ExpressionPtr &share : split.shares)
        walk(share);
      walk(split.seed);
    }
    for (const ast::DataOrder &order : declaration.orders)
      walk(order.seed);
    for (const ast::DataSteps &steps : declaration.steps)
      for (const ast::ExpressionPtr &step : steps.steps)
        walk(step);
  }

  const ast::File &tree;
  const dsl::Sources &sources;
  TextIndex index;
  int owner = -1;    ///< symbol of the declaration that is walked
  std::string model; ///< the model that it is, or is for
  std::vector<Scope> scopes;
};

} // namespace

TextIndex indexOf(const ast::File &tree, const dsl::Sources &sources, TextPointer text) {
  return Indexer(tree, sources, std::move(text)).run();
}

} // namespace npar::lsp
