// The syntax tree of a shell script. All offsets are bytes of the text that was parsed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace npar::foreign::shell {

struct Word;

/// A piece of a word: a literal text, or something to expand.
struct Part {
  enum class Kind {
    Literal,   ///< `text`, contiguous in the source from `begin`
    Parameter, ///< `$NAME`, `${NAME[index]op operand}`
    Sum,       ///< `$((operand))`
    Output,    ///< `$(text)`: what a command prints
    Braces     ///< `{a,b}` or `{1..8}`
  };
  Kind kind = Kind::Literal;
  bool isQuoted = false;
  bool mayVanish = false;    ///< makes no word if it is empty: a list of all elements is inside the same quotes
  size_t begin = 0, end = 0; ///< bytes; of a literal, of its text
  std::string text;          ///< of a literal or a command; a parameter's name
  char prefix = 0;           ///< `#` for `${#NAME}`, `!` for `${!NAME}`
  std::string op;            ///< ":-", "##" and so on; empty: none
  std::vector<Word> index;   ///< none or one
  std::vector<Word> operands;
};

struct Word {
  std::vector<Part> parts;
  size_t begin = 0, end = 0;
  /// The text of a word without quotes and expansions; empty for any other word.
  std::string plain() const {
    return parts.size() == 1 && parts[0].kind == Part::Kind::Literal && !parts[0].isQuoted ? parts[0].text : std::string();
  }
};

/// `NAME=value`, `NAME[index]+=value` or `NAME=(elements)`.
struct Assignment {
  std::string name;
  bool adds = false;
  std::optional<Word> index;
  Word value;
  std::optional<std::vector<Word>> elements;
};

struct HereDocument {
  Word body;
};

struct Redirection {
  std::string op;  ///< ">", ">>", "<<", "<<<" and so on
  int number = -1; ///< 0 for the standard input, 1 for the standard output and so on
  Word target;     ///< of a here-document: its delimiter
  std::shared_ptr<HereDocument> document;
};

struct Command;
using Commands = std::vector<std::unique_ptr<Command>>;

/// Assignments and words; a word that is an assignment with elements (`declare A=(1 2)`) is in `assignments` too.
struct Simple {
  std::vector<Assignment> assignments;
  std::vector<Word> words;
};
struct Group { ///< `{ ...; }` or `( ... )`
  Commands body;
};
struct If {
  std::vector<std::pair<Commands, Commands>> clauses; ///< conditions and what they guard
  Commands otherwise;
};
struct Case {
  struct Item {
    std::vector<Word> patterns;
    Commands body;
    std::string end; ///< ";;", ";&" or ";;&"
  };
  Word subject;
  std::vector<Item> items;
};
struct For {
  std::string name;
  std::optional<std::vector<Word>> words; ///< nothing: the arguments
  Commands body;
};
struct CountedFor { ///< `for ((first; condition; next))`
  Word first, condition, next;
  Commands body;
};
struct While {
  bool isUntil = false;
  Commands condition, body;
};
struct Function {
  std::string name;
  std::shared_ptr<Command> body;
};
/// `a && b || c`: `operators[i]` is between `commands[i]` and `commands[i + 1]`.
struct Chain {
  Commands commands;
  std::vector<std::string> operators;
};
struct Pipeline {
  bool isNegated = false;
  Commands commands;
};
struct Sum { ///< `((...))`
  Word expression;
};
/// `[[ ... ]]`: words, and operators as unquoted words.
struct Test {
  std::vector<Word> words;
};

struct Command {
  size_t begin = 0;
  bool isApart = false; ///< in a process of its own: its assignments end with it
  std::vector<Redirection> redirections;
  std::variant<Simple, Group, If, Case, For, CountedFor, While, Function, Chain, Pipeline, Sum, Test> node;
};

} // namespace npar::foreign::shell
