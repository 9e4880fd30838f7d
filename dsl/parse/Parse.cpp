// Text to syntax tree through the generated parser.
#include "dsl/parse/Parse.h"

#include "dsl/parse/DataBuilder.h"
#include "dsl/parse/PlanBuilder.h"
#include "dsl/parse/StatementBuilder.h"
#include "dsl/parse/SyntaxErrors.h"
#include "dsl/parse/TextTokens.h"
#include "dsl/parse/TrainBuilder.h"

#include "NparLexer.h"

#include <functional>
#include <set>

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

/// Runs `parse` on the source's text from `offset`; it gets parser, builder and tokens, and is called only for clean tokens.
bool withParser(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics,
                const std::function<void(Grammar &, FileBuilder &, antlr4::CommonTokenStream &)> &parse) {
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
  parse(parser, builder, tokens);
  return diagnostics.errorCount() == before;
}

using Part = TextToken::Part;

/// The rules whose first tokens begin an item of a block.
bool isItem(size_t rule) {
  static const std::set<size_t> rules = {
      Grammar::RuleDeclaration, Grammar::RuleTrainItem,      Grammar::RuleGroupChange, Grammar::RuleOptimizerItem, Grammar::RuleFamilyRule,
      Grammar::RuleHostKind,    Grammar::RuleFigureGroup,    Grammar::RuleFigure,      Grammar::RuleDataItem,      Grammar::RuleStatement,
      Grammar::RulePlanItem,    Grammar::RuleCheckpointRule, Grammar::RulePlacingRule, Grammar::RuleStoreRule};
  return rules.count(rule) != 0;
}

/// The part of a sign or a bracket that is a child of `parent`.
Part partOf(const std::string &text, antlr4::ParserRuleContext *parent) {
  size_t rule = parent->getRuleIndex();
  auto isOneOf = [&](std::initializer_list<size_t> rules) { return std::find(rules.begin(), rules.end(), rule) != rules.end(); };
  if (text == "." || (text == "/" && isOneOf({Grammar::RuleFigureUnit, Grammar::RuleFigure})))
    return Part::Joint;
  if (text == "-" && isOneOf({Grammar::RuleUnary, Grammar::RuleHostKind, Grammar::RuleFigure}))
    return Part::Sign;
  bool isOpen = text == "(" || text == "[";
  if (isOpen && isOneOf({Grammar::RuleSuffix, Grammar::RuleParameters, Grammar::RuleForwardStatement, Grammar::RuleUpdateItem,
                         Grammar::RuleSchedule, Grammar::RuleRepeatStatement}))
    return Part::Glued;
  auto *around = dynamic_cast<antlr4::ParserRuleContext *>(parent->parent);
  if (isOpen && rule == Grammar::RuleList && around && around->getRuleIndex() == Grammar::RuleInputStatement)
    return Part::Glued; // `f32[batch]`
  return Part::Plain;
}

/// Sets the parts of the tokens below a context.
void setParts(antlr4::ParserRuleContext *context, std::vector<Part> &parts) {
  bool ofUpdate = false; // within the braces of an optimizer's `update`, which holds assignments
  for (antlr4::tree::ParseTree *child : context->children) {
    if (auto *inner = dynamic_cast<antlr4::ParserRuleContext *>(child)) {
      setParts(inner, parts);
      if (isItem(inner->getRuleIndex()) || (ofUpdate && inner->getRuleIndex() == Grammar::RuleName))
        parts[inner->start->getTokenIndex()] = Part::Item;
    } else if (auto *leaf = dynamic_cast<antlr4::tree::TerminalNode *>(child)) {
      antlr4::Token *token = leaf->getSymbol();
      ofUpdate |= token->getText() == "{" && context->getRuleIndex() == Grammar::RuleUpdateItem;
      parts[token->getTokenIndex()] = partOf(token->getText(), context);
    }
  }
}

} // namespace

std::optional<std::vector<TextToken>> readTokens(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  std::vector<TextToken> result;
  bool good = withParser(file, 0, sources, diagnostics, [&](Grammar &parser, FileBuilder &builder, antlr4::CommonTokenStream &tokens) {
    auto *tree = parser.file();
    if (parser.getNumberOfSyntaxErrors() != 0)
      return;
    builder.build(tree); // finds the errors of syntax that the grammar does not
    std::vector<Part> parts(tokens.size(), Part::Plain);
    setParts(tree, parts);
    for (antlr4::Token *token : tokens.getTokens())
      if (token->getType() != antlr4::Token::EOF)
        result.push_back({token->getText(), token->getLine(), token->getCharPositionInLine(),
                          token->getType() == NparLexer::COMMENT ? Part::Comment : parts[token->getTokenIndex()]});
  });
  return good ? std::optional(std::move(result)) : std::nullopt;
}

std::unique_ptr<ast::File> parseFile(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  auto result = std::make_unique<ast::File>();
  bool good = withParser(file, 0, sources, diagnostics, [&](Grammar &parser, FileBuilder &builder, antlr4::CommonTokenStream &) {
    auto *tree = parser.file();
    if (parser.getNumberOfSyntaxErrors() == 0)
      *result = builder.build(tree);
  });
  return good ? std::move(result) : nullptr;
}

ast::ExpressionPtr parseExpression(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics) {
  ast::ExpressionPtr result;
  bool good = withParser(file, offset, sources, diagnostics, [&](Grammar &parser, FileBuilder &builder, antlr4::CommonTokenStream &) {
    auto *tree = parser.expressionOnly();
    if (parser.getNumberOfSyntaxErrors() == 0)
      result = builder.expression(tree->expression());
  });
  return good ? std::move(result) : nullptr;
}

} // namespace npar::dsl
