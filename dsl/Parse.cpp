// Text to syntax tree through the generated parser: the only file that sees ANTLR, its contexts and its exceptions.
#include "dsl/Parse.h"
#include "dsl/SyntaxMessage.h"
#include "dsl/elaborate/Reporter.h"

#include "NparLexer.h"
#include "NparParser.h"

#include <charconv>
#include <functional>

namespace npar::dsl {
namespace {

using grammar::NparLexer;
using Grammar = grammar::NparParser;
using Context = antlr4::ParserRuleContext;
using Terminal = antlr4::tree::TerminalNode;

constexpr size_t mostErrors = 10; // of syntax in one file; what follows is mostly noise

Location place(uint32_t file, antlr4::Token *token) {
  bool end = token->getType() == antlr4::Token::EOF;
  size_t length = end ? 1 : token->getStopIndex() - token->getStartIndex() + 1;
  return {file, static_cast<uint32_t>(token->getLine()), static_cast<uint32_t>(token->getCharPositionInLine() + 1),
          static_cast<uint32_t>(length)};
}

/// Walks the parser's contexts; runs only when there was no syntax error, so every part is there.
class Builder {
public:
  Builder(uint32_t file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

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
      else if (auto *train = d->trainDeclaration()) {
        result.trains.push_back({name(train->name(0)), name(train->name(1)), parameters(train->parameters()), {}});
        for (auto *s : train->setting())
          result.trains.back().settings.push_back({name(s->name()), expression(s->expression())});
      } else if (auto *p = d->planDeclaration())
        result.plans.push_back(plan(p));
      else if (auto *c = d->configDeclaration())
        result.configs.push_back({{unquote(c->STRING()), at(c->STRING())}, name(c->name()), parameters(c->parameters())});
    }
    return result;
  }

  ast::ExpressionPtr expression(Context *context) {
    // One child only: nothing of its own, go down without recursion.
    while (context->children.size() == 1 && context->getRuleIndex() != Grammar::RulePrimary)
      context = static_cast<Context *>(context->children[0]);
    auto result = std::make_unique<ast::Expression>();
    result->location = at(context);
    switch (context->getRuleIndex()) {
    case Grammar::RuleNegation:
    case Grammar::RuleUnary: {
      // Of many signs only one or two matter, so that `- - - ... x` stays shallow.
      result->kind = context->getRuleIndex() == Grammar::RuleUnary ? ast::ExpressionKind::Negate : ast::ExpressionKind::Not;
      result->items.push_back(expression(static_cast<Context *>(context->children.back())));
      if ((context->children.size() - 1) % 2 == 0) {
        auto outer = std::make_unique<ast::Expression>();
        outer->kind = result->kind;
        outer->location = result->location;
        outer->items.push_back(std::move(result));
        return outer;
      }
      return result;
    }
    case Grammar::RuleSuffixed:
      result->kind = ast::ExpressionKind::Suffixed;
      result->items.push_back(expression(static_cast<Context *>(context->children[0])));
      for (size_t i = 1; i < context->children.size(); ++i)
        result->suffixes.push_back(suffix(static_cast<Grammar::SuffixContext *>(context->children[i])));
      return result;
    case Grammar::RulePrimary:
      return primary(static_cast<Grammar::PrimaryContext *>(context), std::move(result));
    case Grammar::RuleList:
      result->kind = ast::ExpressionKind::List;
      for (auto *item : static_cast<Grammar::ListContext *>(context)->expression())
        result->items.push_back(expression(item));
      return result;
    default: // a chain: operand, operator, operand ...
      result->kind = ast::ExpressionKind::Chain;
      for (size_t i = 0; i < context->children.size(); ++i) {
        if (i % 2 == 0) {
          result->items.push_back(expression(static_cast<Context *>(context->children[i])));
        } else {
          auto *op = static_cast<Terminal *>(context->children[i]);
          result->operators.push_back(operatorOf(op->getText()));
          result->places.push_back(at(op));
        }
      }
      return result;
    }
  }

private:
  Location at(Terminal *node) { return place(file, node->getSymbol()); }

  /// From the first token to the last, or to the end of the first when they stand on different lines.
  Location at(Context *context) {
    antlr4::Token *first = context->getStart(), *last = context->getStop();
    Location result = place(file, first);
    if (last && last->getLine() == first->getLine() && last->getStopIndex() > first->getStartIndex())
      result.length = static_cast<uint32_t>(last->getStopIndex() - first->getStartIndex() + 1);
    return result;
  }

  static std::string unquote(Terminal *node) {
    std::string text = node->getText();
    return text.substr(1, text.size() - 2);
  }

  ast::Name name(Context *context) { return {context->getText(), at(context)}; }
  ast::Name textName(Terminal *text) { return {unquote(text), at(text)}; }
  std::optional<ast::Name> optionalName(Terminal *word) {
    return word ? std::optional(ast::Name{word->getText(), at(word)}) : std::nullopt;
  }

  static ast::Operator operatorOf(const std::string &text) {
    using ast::Operator;
    for (int i = 0; i <= static_cast<int>(Operator::Modulo); ++i)
      if (text == ast::spelling(static_cast<Operator>(i)))
        return static_cast<Operator>(i);
    return Operator::Add;
  }

  ast::Suffix suffix(Grammar::SuffixContext *context) {
    ast::Suffix result;
    result.location = at(context);
    if (auto *member = context->name()) {
      result.kind = ast::SuffixKind::Member;
      result.member = name(member);
      return result;
    }
    result.kind = context->getStart()->getText() == "(" ? ast::SuffixKind::Call : ast::SuffixKind::Select;
    for (auto *argument : context->argument()) {
      auto parts = argument->expression();
      ast::Argument a;
      if (parts.size() == 2) {
        ast::ExpressionPtr left = expression(parts[0]);
        if (left->kind != ast::ExpressionKind::Name)
          diagnostics.error(left->location, "expected the name of an argument before '='");
        a.name = {left->text, left->location};
      }
      a.value = expression(parts.back());
      result.arguments.push_back(std::move(a));
    }
    return result;
  }

  ast::ExpressionPtr primary(Grammar::PrimaryContext *context, ast::ExpressionPtr result) {
    using ast::ExpressionKind;
    result->text = context->getStart()->getText();
    if (context->NUMBER())
      number(*result);
    else if (auto *text = context->STRING()) {
      result->kind = ExpressionKind::Text;
      result->text = unquote(text);
    } else if (context->TRUE() || context->FALSE()) {
      result->kind = ExpressionKind::Boolean;
      result->boolean = context->TRUE() != nullptr;
    } else if (context->name()) {
      result->kind = ExpressionKind::Name;
    } else if (auto *list = context->list()) {
      return expression(list);
    } else {
      auto items = context->expression();
      if (items.size() == 1)
        return expression(items[0]);
      result->kind = ExpressionKind::Tuple;
      for (auto *item : items)
        result->items.push_back(expression(item));
    }
    return result;
  }

  void number(ast::Expression &e) {
    const char *begin = e.text.data(), *end = begin + e.text.size();
    bool integer = e.text.find_first_of(".eE") == std::string::npos;
    e.kind = integer ? ast::ExpressionKind::Integer : ast::ExpressionKind::Number;
    auto parsed = integer ? std::from_chars(begin, end, e.integer) : std::from_chars(begin, end, e.number);
    if (parsed.ec != std::errc())
      diagnostics.error(e.location, "number '" + e.text.substr(0, 40) + "' is out of range" +
                                        (integer ? ", integers end at 9223372036854775807" : ", numbers end at 1.8e308"));
  }

  std::vector<ast::Item> parameters(Grammar::ParametersContext *context) {
    std::vector<ast::Item> result;
    if (context)
      for (auto *p : context->parameter())
        result.push_back({name(p->name()), p->expression() ? expression(p->expression()) : nullptr});
    return result;
  }

  std::vector<ast::Item> axes(const std::vector<Grammar::AxisItemContext *> &contexts) {
    std::vector<ast::Item> result;
    for (auto *item : contexts)
      result.push_back({name(item->name()), item->expression() ? expression(item->expression()) : nullptr});
    return result;
  }

  std::vector<ast::Statement> body(Grammar::BodyContext *context) {
    std::vector<ast::Statement> result;
    for (auto *s : context->statement())
      result.push_back(statement(static_cast<Context *>(s->children[0])));
    return result;
  }

  ast::Statement statement(Context *context) {
    using ast::StatementKind;
    ast::Statement s;
    s.location = at(context);
    switch (context->getRuleIndex()) {
    case Grammar::RuleAxisStatement:
      s.kind = StatementKind::Axis;
      s.items = axes(static_cast<Grammar::AxisStatementContext *>(context)->axisItem());
      break;
    case Grammar::RuleInputStatement: {
      auto *c = static_cast<Grammar::InputStatementContext *>(context);
      s.kind = StatementKind::Input;
      auto names = c->name();
      for (size_t i = 0; i + 1 < names.size(); ++i)
        s.items.push_back({name(names[i]), nullptr});
      s.name = name(names.back());
      s.shape = expression(c->list());
      break;
    }
    case Grammar::RuleParamStatement: {
      auto *c = static_cast<Grammar::ParamStatementContext *>(context);
      s.kind = StatementKind::Param;
      s.name = name(c->name());
      s.path = path(c->path());
      s.shape = expression(c->list());
      s.value = expression(c->expression());
      break;
    }
    case Grammar::RuleRepeatStatement: {
      auto *c = static_cast<Grammar::RepeatStatementContext *>(context);
      s.kind = StatementKind::Repeat;
      s.name = name(c->name());
      s.path = path(c->path());
      s.value = expression(c->expression());
      s.body = body(c->body());
      break;
    }
    case Grammar::RuleCheckpointStatement:
      s.kind = StatementKind::Checkpoint;
      for (auto *rule : static_cast<Grammar::CheckpointStatementContext *>(context)->checkpointRule())
        s.rules.push_back(checkpointRule(rule));
      break;
    case Grammar::RuleUnderStatement: {
      auto *c = static_cast<Grammar::UnderStatementContext *>(context);
      s.kind = StatementKind::Under;
      s.message = unquote(c->STRING());
      s.body = body(c->body());
      break;
    }
    case Grammar::RuleRequireStatement: {
      auto *c = static_cast<Grammar::RequireStatementContext *>(context);
      s.kind = StatementKind::Require;
      s.value = expression(c->expression());
      s.message = unquote(c->STRING());
      break;
    }
    case Grammar::RuleForwardStatement: {
      auto *c = static_cast<Grammar::ForwardStatementContext *>(context);
      s.kind = StatementKind::Forward;
      for (auto *n : c->name())
        s.items.push_back({name(n), nullptr});
      if (c->body())
        s.body = body(c->body());
      else
        s.value = expression(c->expression());
      break;
    }
    case Grammar::RuleAssignment: {
      auto *c = static_cast<Grammar::AssignmentContext *>(context);
      s.kind = StatementKind::Assign;
      s.name = name(c->name());
      s.path = path(c->path());
      s.value = expression(c->expression());
      break;
    }
    default: // loss and return
      s.kind = context->getRuleIndex() == Grammar::RuleLossStatement ? StatementKind::Loss : StatementKind::Return;
      s.value = expression(static_cast<Context *>(context->children[1]));
    }
    return s;
  }

  std::optional<ast::Name> path(Grammar::PathContext *context) {
    return context ? std::optional(textName(context->STRING())) : std::nullopt;
  }

  ast::CheckpointRule checkpointRule(Grammar::CheckpointRuleContext *context) {
    ast::CheckpointRule rule{name(context->name()), textName(context->STRING(0)), std::nullopt, nullptr};
    if (context->STRING().size() > 1)
      rule.target = textName(context->STRING(1));
    if (context->expression())
      rule.value = expression(context->expression());
    return rule;
  }

  ast::Plan plan(Grammar::PlanDeclarationContext *context) {
    ast::Plan result;
    result.name = name(context->name(0));
    result.model = name(context->name(1));
    result.parameters = parameters(context->parameters());
    for (auto *item : context->planItem())
      planItem(item, result);
    return result;
  }

  void planItem(Grammar::PlanItemContext *item, ast::Plan &plan) {
    if (auto *mesh = item->meshItem()) {
      for (ast::Item &axis : axes(mesh->axisItem()))
        plan.mesh.push_back(std::move(axis));
    } else if (auto *split = item->splitItem()) {
      for (auto *r : split->placingRule())
        plan.rules.push_back(rule(r));
    } else if (auto *store = item->storeItem()) {
      for (auto *r : store->storeRule())
        plan.stores.push_back(storeRule(r));
    } else if (auto *recompute = item->recomputeItem()) {
      plan.recomputes.push_back(
          {at(recompute), recompute->EVERY() != nullptr, recompute->OP() != nullptr, expression(recompute->expression())});
    } else if (auto *compute = item->computeItem()) {
      plan.settings.push_back({{compute->COMPUTE()->getText(), at(compute->COMPUTE())}, expression(compute->expression())});
      for (auto *p : compute->precision())
        plan.precisions.push_back({name(p->name()), expression(p->expression()), optionalName(p->HIERARCHICAL())});
    } else if (auto *keep = item->keepItem()) {
      plan.keeps.push_back({{}, expression(keep->expression())});
      for (auto *k : keep->kept())
        plan.keeps.back().what.push_back({k->STRING() != nullptr, k->STRING() ? textName(k->STRING()) : name(k)});
    } else if (auto *bucket = item->bucketItem()) {
      plan.buckets.push_back(quantity({bucket->BUCKET()->getText(), at(bucket->BUCKET())}, bucket->WORD()));
      if (!bucket->WORD())
        plan.buckets.back().unit = name(bucket->name()), plan.buckets.back().value = expression(bucket->unary());
    } else if (auto *condition = item->requireStatement()) {
      plan.requirements.push_back({expression(condition->expression()), unquote(condition->STRING())});
    } else if (auto *limits = item->limitItem()) {
      for (auto *l : limits->limit()) {
        auto names = l->name();
        plan.limits.push_back(quantity(name(names[0]), l->WORD()));
        if (l->WORD())
          continue;
        plan.limits.back().unit = names.size() > 1 ? name(names[1]) : ast::Name{"%", at(static_cast<Terminal *>(l->children.back()))};
        plan.limits.back().value = expression(l->unary());
      }
    } else {
      plan.settings.push_back({name(item->setting()->name()), expression(item->setting()->expression())});
    }
  }

  /// Of a number and a unit in one word, such as 25MB.
  ast::Quantity quantity(ast::Name what, Terminal *word) {
    ast::Quantity result;
    result.what = std::move(what);
    if (!word)
      return result;
    std::string text = word->getText();
    auto digits = static_cast<uint32_t>(text.find_first_not_of("0123456789"));
    result.value = std::make_unique<ast::Expression>();
    result.value->text = text.substr(0, digits);
    Location number = at(word), unit = at(word);
    number.length = digits, unit.column += digits, unit.length -= digits;
    result.value->location = number;
    this->number(*result.value);
    result.unit = {text.substr(digits), unit};
    return result;
  }

  ast::StoreRule storeRule(Grammar::StoreRuleContext *context) {
    ast::StoreRule result;
    result.location = at(context);
    // The names before `->`, behind it, and behind `per`, in the order of the text.
    std::vector<ast::Name> *list = &result.what;
    for (auto *child : context->children) {
      if (auto *token = dynamic_cast<Terminal *>(child)) {
        if (token->getText() == "->")
          list = &result.mesh;
        if (token->getSymbol()->getType() == Grammar::PER)
          list = nullptr;
      } else if (auto *n = dynamic_cast<Grammar::NameContext *>(child)) {
        if (list)
          list->push_back(name(n));
        else
          result.per = name(n);
      }
    }
    if (context->expression())
      result.condition = expression(context->expression());
    return result;
  }

  ast::Rule rule(Grammar::PlacingRuleContext *context) {
    ast::Rule result;
    result.location = at(context);
    for (auto *axis : context->ruleAxis()) {
      auto names = axis->name();
      result.axes.push_back({name(names[0]), names.size() > 1 ? name(names[1]) : ast::Name{}});
    }
    for (auto *n : context->name())
      result.mesh.push_back(name(n));
    if (auto *s = context->schedule()) {
      result.scheduleIsName = s->name() != nullptr;
      result.scheduleIsText = s->STRING() != nullptr;
      result.schedule = s->STRING() ? textName(s->STRING()) : s->WORD() ? ast::Name{s->WORD()->getText(), at(s->WORD())} : name(s->name());
      if (s->expression())
        result.chunks = expression(s->expression());
    }
    if (context->list())
      result.stages = expression(context->list());
    for (auto *n : context->narrowing())
      result.narrowings.push_back({n->LAYER() != nullptr, n->LAYER() ? textName(n->STRING()) : name(n->name())});
    if (context->expression())
      result.condition = expression(context->expression());
    return result;
  }

  uint32_t file;
  Diagnostics &diagnostics;
};

/// One error per line, at our bar; a bracket left open is pointed at.
class ErrorListener : public antlr4::BaseErrorListener {
public:
  ErrorListener(uint32_t file, std::string whole, Diagnostics &diagnostics)
      : file(file), whole(std::move(whole)), diagnostics(diagnostics) {}

  void syntaxError(antlr4::Recognizer *recognizer, antlr4::Token *token, size_t line, size_t, const std::string &,
                   std::exception_ptr) override {
    if (!token || line == lastLine || count == mostErrors)
      return;
    lastLine = line;
    ++count;
    auto *parser = static_cast<antlr4::Parser *>(recognizer);
    std::set<std::string> expected;
    for (ssize_t type : parser->getExpectedTokens().toList()) {
      std::string literal = parser->getVocabulary().getLiteralName(type);
      expected.insert(literal.empty() ? type == -1 ? "<EOF>" : parser->getVocabulary().getSymbolicName(type) : literal);
    }
    bool end = token->getType() == antlr4::Token::EOF;
    Diagnostic &error = diagnostics.error(place(file, token), describeSyntaxError(expected, end ? "" : token->getText(), whole));
    size_t index = token->getTokenIndex();
    std::string before = index > 0 ? parser->getTokenStream()->get(index - 1)->getText() : "";
    std::string after = end ? "" : parser->getTokenStream()->get(index + 1)->getText();
    if (isReservedWord(before) && (token->getText() == "=" || before == "repeat" || before == "param"))
      explainReserved(error, before, token->getText());
    else if (after == "=")
      explainReserved(error, "", token->getText());
    std::vector<std::string> words;
    for (const std::string &literal : expected)
      if (std::string word = literal.substr(literal[0] == '\'', literal.size() - 2 * (literal[0] == '\'')); isReservedWord(word))
        words.push_back(word);
    if (std::string word = nearest(token->getText(), words); !word.empty() && !isReservedWord(token->getText()))
      error.help(error.location, "did you mean '" + word + "'?");
    if (antlr4::Token *open = end ? openBracket(static_cast<antlr4::CommonTokenStream *>(parser->getTokenStream())) : nullptr)
      error.note(place(file, open), "this '" + open->getText() + "' is not closed");
  }

private:
  /// Where a name is expected and a reserved word stands: `repeat layer[2]`, `param input: [...]`, `model = Linear(...)`.
  static void explainReserved(Diagnostic &error, const std::string &before, const std::string &found) {
    const std::string &word = isReservedWord(found) ? found : before;
    if (!isReservedWord(word) || word == "repeat" || word == "param")
      return;
    std::string form = before == "repeat" ? "`repeat blocks[...] as " : before == "param" ? "`param weight as " : "`part as ";
    error.help(error.location, "'" + word + "' is a reserved word and cannot be a name; paths may have it: " + form + '"' + word + "\"" +
                                   (before == "repeat"  ? "`"
                                    : before == "param" ? ": ...`"
                                                        : " = ...`"));
  }
  static antlr4::Token *openBracket(antlr4::CommonTokenStream *tokens) {
    std::vector<antlr4::Token *> open;
    for (antlr4::Token *t : tokens->getTokens()) {
      std::string text = t->getText();
      if (text == "(" || text == "[" || text == "{")
        open.push_back(t);
      else if ((text == ")" || text == "]" || text == "}") && !open.empty())
        open.pop_back();
    }
    return open.empty() ? nullptr : open.back();
  }

  uint32_t file;
  std::string whole;
  Diagnostics &diagnostics;
  size_t lastLine = 0, count = 0;
};

/// Reports characters that belong to no token. Returns false when there are some.
bool checkTokens(uint32_t file, antlr4::CommonTokenStream &tokens, Diagnostics &diagnostics) {
  size_t errors = 0;
  for (antlr4::Token *t : tokens.getTokens()) {
    if (t->getType() == NparLexer::OPEN_STRING)
      diagnostics.error(place(file, t), "a text without its closing quote '\"'");
    else if (t->getType() == NparLexer::UNKNOWN)
      diagnostics.error(place(file, t), "unexpected character '" + t->getText() + "'");
    else
      continue;
    if (++errors == mostErrors)
      break;
  }
  return errors == 0;
}

/// Runs `parse` on the source's text from `offset`; it gets parser and builder and is called only for clean tokens.
bool withParser(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics,
                const std::function<void(Grammar &, Builder &)> &parse) {
  if (!checkText(file, sources, diagnostics))
    return false;
  size_t before = diagnostics.errorCount();
  try {
    antlr4::ANTLRInputStream input(std::string(offset, ' ') + sources.text(file).substr(offset));
    NparLexer lexer(&input);
    lexer.removeErrorListeners();
    antlr4::CommonTokenStream tokens(&lexer);
    tokens.fill();
    if (!checkTokens(file, tokens, diagnostics))
      return false;
    Grammar parser(&tokens);
    parser.removeErrorListeners();
    ErrorListener listener(file, offset > 0 ? "setting" : "file", diagnostics);
    parser.addErrorListener(&listener);
    Builder builder(file, diagnostics);
    parse(parser, builder);
  } catch (const std::exception &e) {
    diagnostics.error({file, 0, 0, 1}, std::string("internal error: parsing failed: ") + e.what());
  }
  return diagnostics.errorCount() == before;
}

} // namespace

std::unique_ptr<ast::File> parseFile(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  auto result = std::make_unique<ast::File>();
  bool good = withParser(file, 0, sources, diagnostics, [&](Grammar &parser, Builder &builder) {
    auto *tree = parser.file();
    if (parser.getNumberOfSyntaxErrors() == 0)
      *result = builder.build(tree);
  });
  return good ? std::move(result) : nullptr;
}

ast::ExpressionPtr parseExpression(uint32_t file, size_t offset, const Sources &sources, Diagnostics &diagnostics) {
  ast::ExpressionPtr result;
  bool good = withParser(file, offset, sources, diagnostics, [&](Grammar &parser, Builder &builder) {
    auto *tree = parser.expressionOnly();
    if (parser.getNumberOfSyntaxErrors() == 0)
      result = builder.expression(tree->expression());
  });
  return good ? std::move(result) : nullptr;
}

} // namespace npar::dsl
