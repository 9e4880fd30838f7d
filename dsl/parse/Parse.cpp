// Text to syntax tree through the generated parser.
#include "dsl/parse/Parse.h"

#include "dsl/parse/DataBuilder.h"
#include "dsl/parse/PlanBuilder.h"
#include "dsl/parse/StatementBuilder.h"
#include "dsl/parse/SyntaxErrors.h"
#include "dsl/parse/TrainBuilder.h"

#include "NparLexer.h"

#include <functional>

namespace npar::dsl {
namespace {

using grammar::NparLexer;
using Grammar = grammar::NparParser;

/// Builds whole files.
class FileBuilder : public StatementBuilder {
public:
  FileBuilder(uint32_t file, Diagnostics &diagnostics)
      : StatementBuilder(file, diagnostics), plans(file, diagnostics), datas(file, diagnostics), trains(file, diagnostics) {}

  ast::File build(Grammar::FileContext *context) {
    ast::File result;
    result.index = file;
    for (auto *d : context->declaration()) {
      if (auto *import = d->importDeclaration())
        result.imports.push_back({unquote(import->STRING()), at(import->STRING())});
      else if (auto *layer = d->layerDeclaration())
        result.layers.push_back({name(layer->name()), parameters(layer->parameters()), body(layer->body())});
      else if (auto *model = d->modelDeclaration())
        result.models.push_back({name(model->name()), parameters(model->parameters()), body(model->body())});
      else if (auto *train = d->trainDeclaration())
        result.trains.push_back(trains.train(train));
      else if (auto *optimizer = d->optimizerDeclaration())
        result.optimizers.push_back(trains.optimizer(optimizer));
      else if (auto *p = d->planDeclaration())
        result.plans.push_back(plans.plan(p));
      else if (auto *c = d->configDeclaration())
        result.configs.push_back({textName(c->STRING()), name(c->name()), parameters(c->parameters())});
      else if (auto *f = d->familyDeclaration())
        result.families.push_back(family(f));
      else if (auto *m = d->machineDeclaration())
        result.machines.push_back(machine(m));
      else if (auto *data = d->dataDeclaration())
        result.datas.push_back(datas.data(data));
    }
    return result;
  }

private:
  ast::Family family(Grammar::FamilyDeclarationContext *context) {
    ast::Family result{textName(context->STRING()), name(context->name()), {}};
    for (auto *r : context->familyRule()) {
      ast::FamilyRule rule{name(r->name()), {}, parameters(r->parameters()), nullptr, nullptr};
      for (auto *key : r->STRING())
        rule.keys.push_back(textName(key));
      auto values = r->expression();
      bool isElseAlone = r->ELSE() && values.size() == 1;
      if (!values.empty())
        (isElseAlone ? rule.otherwise : rule.value) = expression(values[0]);
      if (values.size() > 1)
        rule.otherwise = expression(values[1]);
      result.rules.push_back(std::move(rule));
    }
    return result;
  }

  ast::Machine machine(Grammar::MachineDeclarationContext *context) {
    ast::Machine result{name(context->name()), {}, {}};
    for (auto *k : context->hostKind()) {
      std::optional<ast::Name> of = k->STRING() ? std::optional(textName(k->STRING())) : std::nullopt;
      result.kinds.push_back({name(k->name()), name(k->figureUnit()), signedNumber(k->NUMBER(), k->children[1]), of});
    }
    for (auto *g : context->figureGroup()) {
      auto names = g->name();
      result.groups.push_back({name(names[0]), names.size() > 1 ? std::optional(name(names[1])) : std::nullopt, {}});
      for (auto *f : g->figure())
        result.groups.back().figures.push_back(figure(f));
    }
    return result;
  }

  ast::Quantity figure(Grammar::FigureContext *context) {
    auto names = context->name();
    ast::Quantity result = quantity(name(names[0]), context->WORD());
    if (context->WORD()) {
      if (names.size() > 1)
        result.unit.text += "/" + name(names[1]).text;
    } else {
      result.unit = name(context->figureUnit());
      result.value = signedNumber(context->NUMBER(), context->children[1]);
    }
    return result;
  }

  /// A number, behind a sign where that is not `first`.
  ast::ExpressionPtr signedNumber(antlr4::tree::TerminalNode *digits, const antlr4::tree::ParseTree *first) {
    auto value = std::make_unique<ast::Expression>();
    value->text = digits->getText();
    value->location = at(digits);
    number(*value);
    if (digits != first)
      value->integer *= -1, value->number *= -1, value->text.insert(0, 1, '-');
    return value;
  }

  PlanBuilder plans;
  DataBuilder datas;
  TrainBuilder trains;
};

/// Reports characters that belong to no token. Returns false when there are some.
bool checkTokens(uint32_t file, antlr4::CommonTokenStream &tokens, Diagnostics &diagnostics) {
  size_t errors = 0;
  for (antlr4::Token *t : tokens.getTokens()) {
    if (t->getType() == NparLexer::OPEN_STRING)
      diagnostics.error(Code::L2, placeOf(file, t), "a text without its closing quote '\"'");
    else if (t->getType() == NparLexer::UNKNOWN)
      explainPower(diagnostics.error(Code::L2, placeOf(file, t), "unexpected character '" + t->getText() + "'"), t->getText());
    else
      continue;
    if (++errors == mostSyntaxErrors)
      break;
  }
  return errors == 0;
}

/// Runs `parse` on the source's text from `offset`; it gets parser and builder and is called only for clean tokens.
bool withParser(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics,
                const std::function<void(Grammar &, FileBuilder &)> &parse) {
  if (!checkText(file, sources, diagnostics))
    return false;
  size_t before = diagnostics.errorCount();
  antlr4::ANTLRInputStream input(std::string(offset, ' ') + sources.text(file).substr(offset));
  NparLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  tokens.fill();
  if (!checkTokens(file, tokens, diagnostics))
    return false;
  Grammar parser(&tokens);
  parser.removeErrorListeners();
  SyntaxErrors listener(file, offset > 0 ? "setting" : "file", diagnostics);
  parser.addErrorListener(&listener);
  FileBuilder builder(file, diagnostics);
  parse(parser, builder);
  return diagnostics.errorCount() == before;
}

} // namespace

std::unique_ptr<ast::File> parseFile(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  auto result = std::make_unique<ast::File>();
  bool good = withParser(file, 0, sources, diagnostics, [&](Grammar &parser, FileBuilder &builder) {
    auto *tree = parser.file();
    if (parser.getNumberOfSyntaxErrors() == 0)
      *result = builder.build(tree);
  });
  return good ? std::move(result) : nullptr;
}

ast::ExpressionPtr parseExpression(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics) {
  ast::ExpressionPtr result;
  bool good = withParser(file, offset, sources, diagnostics, [&](Grammar &parser, FileBuilder &builder) {
    auto *tree = parser.expressionOnly();
    if (parser.getNumberOfSyntaxErrors() == 0)
      result = builder.expression(tree->expression());
  });
  return good ? std::move(result) : nullptr;
}

} // namespace npar::dsl
