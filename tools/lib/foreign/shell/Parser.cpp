// Parses by recursive descent, one function per rule of the shell's grammar (POSIX.1-2017, 2.10, with the extensions of bash).
#include "tools/lib/foreign/shell/Parser.h"

#include "tools/lib/foreign/shell/Characters.h"

#include <algorithm>
#include <set>
#include <utility>

namespace npar::foreign::shell {
namespace {

using TokenKind = Token::Kind;

const std::set<std::string> redirections = {"<", ">", ">>", ">&", "<&", "&>", "&>>", ">|", "<>", "<<", "<<-", "<<<"};
/// Words that end a list of commands.
const std::set<std::string> closingWords = {"then", "elif", "else", "fi", "do", "done", "esac", "}"};

/// Words whose arguments may be assignments.
bool isDeclaration(const std::string &word) {
  return word == "export" || word == "declare" || word == "typeset" || word == "local" || word == "readonly";
}

/// The word from a byte of one of its parts on, up to a byte of another.
Word cut(const Word &word, size_t part, size_t from, size_t lastPart, size_t to) {
  Word result;
  result.begin = result.end = word.begin;
  for (size_t i = part; i <= lastPart && i < word.parts.size(); ++i) {
    Part one = word.parts[i];
    if (one.kind == Part::Kind::Literal) {
      size_t begin = i == part ? from : 0, end = i == lastPart ? std::min(to, one.text.size()) : one.text.size();
      if (begin >= end && !one.isQuoted)
        continue;
      one.text = one.text.substr(begin, end - begin), one.begin += begin;
    }
    result.parts.push_back(std::move(one));
  }
  if (!result.parts.empty())
    result.begin = result.parts.front().begin, result.end = result.parts.back().end;
  return result;
}

/// Splits `NAME=value`, `NAME+=value` and `NAME[index]=value`; nothing if the word is none of these.
std::optional<Assignment> assignmentOf(const Word &word) {
  if (word.parts.empty() || word.parts[0].kind != Part::Kind::Literal || word.parts[0].isQuoted)
    return std::nullopt;
  const std::string &first = word.parts[0].text;
  size_t end = 0, part = 0;
  while (end < first.size() && isWord(first[end]) && (end > 0 || first[0] < '0' || first[0] > '9'))
    ++end;
  if (end == 0 || end == first.size())
    return std::nullopt;
  Assignment result;
  result.name = first.substr(0, end);
  if (first[end] == '[') {
    size_t begin = end + 1, depth = 1;
    end = begin;
    for (;; end = 0) {
      const Part &one = word.parts[part];
      if (one.kind == Part::Kind::Literal && !one.isQuoted)
        for (; end < one.text.size(); ++end) {
          depth += one.text[end] == '[' ? 1 : 0;
          if (one.text[end] == ']' && --depth == 0)
            break;
        }
      if (depth == 0)
        break;
      if (++part == word.parts.size())
        return std::nullopt;
    }
    result.index = cut(word, 0, begin, part, end);
    ++end;
  }
  const std::string &rest = word.parts[part].text;
  if (end < rest.size() && rest[end] == '+')
    result.adds = true, ++end;
  if (end >= rest.size() || rest[end] != '=')
    return std::nullopt;
  result.value = cut(word, part, end + 1, word.parts.size(), 0);
  return result;
}

class Parser {
public:
  Parser(std::string_view text, SyntaxError &error) : lexer(text, error), error(error) { advance(); }

  Commands script() {
    Commands commands = list();
    if (good() && token.kind != TokenKind::End)
      fail("npar does not follow the script here: nothing that this ends has begun");
    return good() ? std::move(commands) : Commands();
  }

private:
  bool good() const { return error.message.empty(); }
  void advance() { token = lexer.next(); }
  void fail(const std::string &message) { lexer.fail(token.begin, message); }
  bool isOperator(const char *op) const { return token.kind == TokenKind::Operator && token.op == op; }
  bool isWord(const char *word) const { return token.kind == TokenKind::Word && token.word.plain() == word; }
  bool takeWord(const char *word) {
    if (!isWord(word))
      return false;
    advance();
    return true;
  }
  bool takeOperator(const char *op) {
    if (!isOperator(op))
      return false;
    advance();
    return true;
  }
  void need(const char *word, const char *after) {
    if (good() && !takeWord(word))
      fail(std::string("'") + word + "' is missing after this '" + after + "'");
  }
  void skipLines() {
    while (token.kind == TokenKind::Newline)
      advance();
  }

  bool endsList() const {
    if (token.kind == TokenKind::Word)
      return closingWords.count(token.word.plain()) != 0;
    return token.kind == TokenKind::End ||
           (token.kind == TokenKind::Operator && (token.op == ")" || token.op.compare(0, 2, ";;") == 0 || token.op == ";&"));
  }

  Commands list() {
    Commands commands;
    if (++depth > deepestShellNesting)
      fail("commands are nested more than " + std::to_string(deepestShellNesting) + " deep");
    for (skipLines(); good() && !endsList(); skipLines()) {
      std::unique_ptr<Command> command = chain();
      if (isOperator("&"))
        command->isApart = true;
      commands.push_back(std::move(command));
      if (!takeOperator(";") && !takeOperator("&") && token.kind != TokenKind::Newline && !endsList())
        fail("npar does not follow the script here");
    }
    --depth;
    return commands;
  }

  std::unique_ptr<Command> chain() {
    std::unique_ptr<Command> first = pipeline();
    if (!isOperator("&&") && !isOperator("||"))
      return first;
    auto command = made(first->begin);
    Chain &all = command->node.emplace<Chain>();
    all.commands.push_back(std::move(first));
    while (good() && (isOperator("&&") || isOperator("||"))) {
      all.operators.push_back(token.op);
      advance();
      skipLines();
      all.commands.push_back(pipeline());
    }
    return command;
  }

  std::unique_ptr<Command> pipeline() {
    size_t begin = token.begin;
    bool isNegated = false;
    while (isWord("!") || isWord("time"))
      isNegated = isNegated != isWord("!"), advance();
    std::unique_ptr<Command> first = command();
    if (!isNegated && !isOperator("|") && !isOperator("|&"))
      return first;
    auto result = made(begin);
    Pipeline &all = result->node.emplace<Pipeline>();
    all.isNegated = isNegated;
    all.commands.push_back(std::move(first));
    while (good() && (takeOperator("|") || takeOperator("|&"))) {
      skipLines();
      all.commands.push_back(command());
    }
    return result;
  }

  std::unique_ptr<Command> made(size_t begin) {
    auto command = std::make_unique<Command>();
    command->begin = begin;
    return command;
  }

  std::unique_ptr<Command> command() {
    auto result = made(token.begin);
    if (isOperator("(")) {
      open(*result);
    } else if (isWord("[[")) {
      test(*result);
    } else if (takeWord("{")) {
      result->node.emplace<Group>().body = list();
      need("}", "{");
    } else if (takeWord("if")) {
      ifCommand(*result);
    } else if (takeWord("case")) {
      caseCommand(*result);
    } else if (takeWord("for")) {
      forCommand(*result);
    } else if (isWord("while") || isWord("until")) {
      While &loop = result->node.emplace<While>();
      loop.isUntil = isWord("until");
      advance();
      loop.condition = list();
      loop.body = body("while");
    } else if (isWord("select") || isWord("coproc")) {
      fail("npar does not follow '" + token.word.plain() + "'");
    } else if (takeWord("function")) {
      function(*result, token.kind == TokenKind::Word ? token.word.plain() : "");
    } else {
      simple(*result);
      return result;
    }
    while (good() && redirection(*result)) {
    }
    return result;
  }

  /// `( list )` or `(( sum ))`
  void open(Command &command) {
    if (lexer.continuesWith('(')) {
      lexer.skip(1);
      command.node.emplace<Sum>().expression = lexer.sum();
      return advance();
    }
    advance();
    command.node.emplace<Group>().body = list();
    command.isApart = true;
    if (good() && !takeOperator(")"))
      fail("')' is missing after this '('");
  }

  void test(Command &command) {
    size_t begin = token.begin;
    Test &test = command.node.emplace<Test>();
    for (advance(); good() && !isWord("]]");) {
      if (token.kind == TokenKind::End)
        return void(lexer.fail(begin, "this '[[' has no end"));
      bool isRegular = isWord("=~");
      if (token.kind == TokenKind::Operator)
        test.words.push_back(literal(token.op));
      else if (token.kind == TokenKind::Word)
        test.words.push_back(std::move(token.word));
      if (isRegular)
        test.words.push_back(lexer.regularExpression());
      advance();
    }
    advance();
  }

  Word literal(const std::string &text) const {
    Word word;
    word.begin = token.begin, word.end = token.end;
    Part part;
    part.begin = token.begin, part.end = token.end, part.text = text;
    word.parts.push_back(std::move(part));
    return word;
  }

  void ifCommand(Command &command) {
    If &all = command.node.emplace<If>();
    do {
      Commands condition = list();
      need("then", "if");
      all.clauses.emplace_back(std::move(condition), list());
    } while (good() && takeWord("elif"));
    if (takeWord("else"))
      all.otherwise = list();
    need("fi", "if");
  }

  void caseCommand(Command &command) {
    Case &all = command.node.emplace<Case>();
    if (token.kind == TokenKind::Word)
      all.subject = std::move(token.word), advance();
    skipLines();
    need("in", "case");
    for (skipLines(); good() && !isWord("esac"); skipLines()) {
      Case::Item &item = all.items.emplace_back();
      takeOperator("(");
      do {
        if (token.kind != TokenKind::Word)
          return fail("npar expects a pattern of 'case' here");
        item.patterns.push_back(std::move(token.word)), advance();
      } while (takeOperator("|"));
      if (!takeOperator(")"))
        return fail("')' is missing after the pattern of 'case'");
      item.body = list();
      item.end = token.kind == TokenKind::Operator ? token.op : ";;";
      if (!takeOperator(";;") && !takeOperator(";&") && !takeOperator(";;&") && !isWord("esac"))
        return fail("';;' is missing here");
    }
    need("esac", "case");
  }

  void forCommand(Command &command) {
    if (isOperator("(") && lexer.continuesWith('(')) {
      lexer.skip(1);
      CountedFor &loop = command.node.emplace<CountedFor>();
      if (!lexer.sumOfThree(loop.first) || !lexer.sumOfThree(loop.condition) || lexer.sumOfThree(loop.next))
        return fail("npar does not follow this 'for'");
      advance();
      takeOperator(";");
      loop.body = body("for");
      return;
    }
    For &loop = command.node.emplace<For>();
    loop.name = token.kind == TokenKind::Word ? token.word.plain() : "";
    if (loop.name.empty())
      return fail("npar expects a name after 'for'");
    advance();
    skipLines();
    if (takeWord("in"))
      for (loop.words.emplace(); token.kind == TokenKind::Word; advance())
        loop.words->push_back(std::move(token.word));
    takeOperator(";");
    loop.body = body("for");
  }

  Commands body(const char *loop) {
    skipLines();
    need("do", loop);
    Commands commands = list();
    need("done", loop);
    return commands;
  }

  /// The name is the current word.
  void function(Command &command, const std::string &name) {
    if (name.empty())
      return fail("npar expects the name of a function here");
    advance();
    if (takeOperator("(") && !takeOperator(")"))
      return fail("')' is missing after the name of a function");
    functionBody(command, name);
  }

  void functionBody(Command &command, const std::string &name) {
    skipLines();
    Function &made = command.node.emplace<Function>();
    made.name = name;
    if (++depth > deepestShellNesting)
      fail("commands are nested more than " + std::to_string(deepestShellNesting) + " deep");
    made.body = this->command();
    --depth;
  }

  bool redirection(Command &command) {
    Redirection one;
    if (token.kind == TokenKind::Word && token.word.plain().size() == 1 && token.end - token.begin == 1 && token.word.plain()[0] >= '0' &&
        token.word.plain()[0] <= '9' && (lexer.continuesWith('<') || lexer.continuesWith('>'))) {
      one.number = token.word.plain()[0] - '0';
      advance();
    }
    if (token.kind != TokenKind::Operator || redirections.count(token.op) == 0)
      return false;
    one.op = token.op;
    if (one.number < 0)
      one.number = one.op[0] == '<' ? 0 : 1;
    advance();
    if (token.kind != TokenKind::Word)
      return fail("a name is missing after '" + one.op + "'"), false;
    one.target = std::move(token.word);
    if (one.op == "<<" || one.op == "<<-") {
      one.document = std::make_shared<HereDocument>();
      lexer.expect(one.document, one.target, one.op == "<<-");
    }
    command.redirections.push_back(std::move(one));
    advance();
    return true;
  }

  void simple(Command &command) {
    Simple simple;
    bool declares = false;
    while (good()) {
      if (redirection(command))
        continue;
      if (isOperator("(") && simple.words.size() == 1 && simple.assignments.empty() && !simple.words[0].plain().empty()) {
        std::string name = simple.words[0].plain();
        advance();
        if (!takeOperator(")"))
          return fail("npar does not follow the script here");
        return functionBody(command, name);
      }
      if (token.kind != TokenKind::Word)
        break;
      std::optional<Assignment> assignment = simple.words.empty() || declares ? assignmentOf(token.word) : std::nullopt;
      if (!assignment) {
        declares = declares || (simple.words.empty() && isDeclaration(token.word.plain()));
        simple.words.push_back(std::move(token.word));
        advance();
        continue;
      }
      if (assignment->value.parts.empty() && lexer.continuesWith('(')) {
        lexer.skip(1);
        assignment->elements = lexer.elements();
      }
      simple.assignments.push_back(std::move(*assignment));
      advance();
    }
    if (simple.words.empty() && simple.assignments.empty() && command.redirections.empty() && good())
      fail("npar expects a command here");
    command.node = std::move(simple);
  }

  Lexer lexer;
  SyntaxError &error;
  Token token;
  int depth = 0;
};

} // namespace

Commands parse(std::string_view text, SyntaxError &error) { return Parser(text, error).script(); }

} // namespace npar::foreign::shell
