// Keeps the state of a script that is followed: variables, arguments, functions, files that it wrote, and its training commands so far.
#pragma once

#include "tools/lib/foreign/shell/Syntax.h"
#include "tools/lib/foreign/shell/Text.h"

#include <map>
#include <set>

namespace npar::foreign::shell {

constexpr size_t mostShellWork = 5'000'000;  ///< bytes, commands and copies, each with a price; bounds the time
constexpr size_t longestShellText = 1 << 20; ///< bytes of a value
constexpr int deepestShellCalls = 60;        ///< of commands, functions, expansions and scripts in each other

/// A variable: one text, a list, or a map. One text is the element 0 of a list.
struct Variable {
  enum class Kind { Text, List, Map };
  Kind kind = Kind::Text;
  std::map<int64_t, Text> list;
  std::map<std::string, Text> map;
  UnknownPointer unknown; ///< nothing is known of its elements; null: all elements are there
  /// One more than the last index: lists may have gaps.
  int64_t end() const { return list.empty() ? 0 : list.rbegin()->first + 1; }
  /// The index that an index of a script means: negative ones count from the end.
  int64_t place(int64_t index) const { return index < 0 ? index + end() : index; }
  bool operator==(const Variable &other) const {
    return kind == other.kind && list == other.list && map == other.map && unknown == other.unknown;
  }
};
using VariablePointer = std::shared_ptr<const Variable>;

/// A text with commands, and where its bytes are from.
struct Unit {
  Text source;
  Commands commands;
};
using UnitPointer = std::shared_ptr<const Unit>;

struct Routine {
  std::shared_ptr<Command> body;
  UnitPointer unit; ///< that the body is part of
  bool operator==(const Routine &other) const { return body == other.body; }
};

/// The exit code of a command.
struct ExitCode {
  int code = 0;
  UnknownPointer unknown; ///< null: `code` is known
  bool operator==(const ExitCode &other) const { return unknown == other.unknown && (unknown || code == other.code); }
};

/// A command that may start a training run: its words, those of the launcher included.
struct Launch {
  std::vector<Text> words;
  size_t program = 0;                                ///< the word that names the program
  std::vector<std::pair<std::string, Text>> devices; ///< what the launcher says of their number, by names of torchrun and DeepSpeed
  Origin at;                                         ///< of the command
  UnknownPointer decidedBy;                          ///< it depends on this whether the command runs, or which program; null: nothing
  bool operator==(const Launch &other) const {
    return words == other.words && program == other.program && devices == other.devices && decidedBy == other.decidedBy;
  }
};

/// All that a command can change.
struct State {
  std::map<std::string, VariablePointer> variables;             ///< null: unset by the script
  std::vector<std::map<std::string, VariablePointer>> replaced; ///< per function that runs: what its local variables hide
  std::vector<Text> arguments;
  std::map<std::string, Routine> functions;
  std::map<std::string, Text> files; ///< that the script wrote, by path
  std::vector<Launch> launches;
  Text folder; ///< that commands run in
  ExitCode status;
};

/// The first problem that ends the reading of a script.
struct Failure {
  Origin at;
  std::string message, help;
  Origin noteAt;
  std::string note;
};

class Environment {
public:
  State state;
  std::map<std::string, std::string> given; ///< values for what the script does not know, by name
  std::string scriptName;                   ///< `$0`
  std::string unfollowed;                   ///< a file that is read by `source` and that npar does not have; empty: none
  std::set<std::string> used;               ///< names of `given` that mattered
  std::set<std::string> holdsFlags;         ///< variables that the script sets somewhere to a text that begins with a dash
  std::vector<Unknown> assumedUnset;        ///< variables that count as not set where the script has an answer for that

  bool good() const { return !failed; }
  const Failure &failure() const { return reason; }
  /// Ends the reading. The first call counts.
  void fail(Failure failure);
  /// False, with a failure, when the script costs too much.
  bool spend(size_t work, Origin at);
  /// Fails if texts become too long.
  bool fits(size_t bytes, Origin at);

  /// The variable; null if nothing sets it.
  const Variable *find(const std::string &name) const;
  bool isUnset(const std::string &name) const; ///< by the script itself
  /// Why the value of a variable that nothing sets is not known.
  UnknownPointer unsetReason(const std::string &name, Origin at) const;
  /// Sets a variable, its element `index` or its `key`. A value that is not known gets that of `given`.
  void assign(const std::string &name, Text value, Origin at);
  void assign(const std::string &name, Variable variable);
  void unset(const std::string &name) { state.variables[name] = nullptr; }
  /// Makes a variable local to the function that runs.
  void makeLocal(const std::string &name);
  /// The value of `given` for a name; null without one.
  const std::string *giver(const std::string &name);
  /// Remembers that a variable counts as not set.
  void assumeUnset(const Unknown &unknown);

  /// Continues with what two ways have in common: what differs is not known, because of `condition`. `launches`: how many both began with.
  void merge(State other, size_t launches, const UnknownPointer &condition);
  /// A price for copying the state.
  size_t weight() const;

private:
  Failure reason;
  bool failed = false;
  size_t work = 0;
};

} // namespace npar::foreign::shell
