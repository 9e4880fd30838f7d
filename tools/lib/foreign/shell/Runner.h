// Follows the commands of a script without executing any: assignments, conditions, loops, functions and the shell's own commands. Where a
// condition is not known, both ways are followed, and what differs afterwards is not known.
#pragma once

#include "tools/lib/foreign/shell/Expander.h"

#include <functional>

namespace npar::foreign::shell {

class Runner {
public:
  /// Returns the text of a file next to the script; nothing if npar has none.
  using ReadFile = std::function<std::optional<Text>(const Text &path)>;
  Runner(Environment &environment, ReadFile readFile);
  /// Follows a script. `isWhole`: it is the one that the user gave, with its `#SBATCH` lines.
  void runScript(const Text &source);
  /// A file that the script wrote, or one next to it.
  std::optional<Text> file(const Text &path) const;
  Origin lastExit; ///< the `exit` that ended the script
  bool hasExited = false;

private:
  friend class Specials;
  enum class Flow { Normal, Break, Continue, Return, Exit };

  UnitPointer parsed(const Text &source);
  void run(const Commands &commands, const Unit &unit);
  void run(const Command &command, const Unit &unit);
  void dispatch(const Command &command, const Unit &unit);
  void dispatchCompound(const Command &command, const Unit &unit);
  void dispatch(const Simple &simple, const Command &command, const Unit &unit);
  void execute(const Simple &simple, std::vector<Text> words, const Unit &unit, Origin at);
  void dispatch(const If &all, const Unit &unit, size_t clause = 0);
  void dispatch(const Case &all, const Unit &unit);
  void items(const Case &all, const Text &subject, size_t item, const Unit &unit);
  void dispatch(const For &loop, const Unit &unit);
  void dispatch(const CountedFor &loop, const Unit &unit);
  void dispatch(const While &loop, const Unit &unit);
  void dispatch(const Chain &chain, const Unit &unit);
  void dispatch(const Pipeline &pipeline, const Command &command, const Unit &unit);
  void repeat(const std::function<ExitCode()> &condition, const std::function<void()> &body, Origin at);
  bool takeLoopEnd();
  /// Follows both ways of a condition that is not known.
  void either(const UnknownPointer &why, const std::function<void()> &yes, const std::function<void()> &no);
  /// Runs something in a process of its own: only its files and its training commands remain.
  void apart(const std::function<void()> &body);
  void redirected(const Command &command, const Unit &unit, const std::function<void()> &body);
  Text outputOf(const Part &part, const Unit &unit);

  // Commands whose words are known so far.
  void command(std::vector<Text> words, Origin at);
  /// Tells whether a file or a command sets up tools and says nothing of the run.
  static bool isTool(const std::string &text);
  /// False if this is no command of the shell.
  bool runSpecial(const std::vector<Text> &words, Origin at);
  void call(const Routine &routine, std::vector<Text> arguments);
  void evaluate(const Text &source, Origin at);
  void evaluateApart(const Text &source, std::vector<Text> arguments, std::vector<Text> before);
  bool followScript(const std::vector<Text> &words, Origin at);
  void launch(std::vector<Text> words, Origin at);
  void print(const Text &text);
  void printUnknown(const std::vector<Text> &words, Origin at);
  void finish(int code) { environment.state.status = {code, nullptr}; }

  Environment &environment;
  Expander expander;
  ReadFile readFile;
  Flow flow = Flow::Normal;
  int levels = 0, depth = 0; ///< loops that `break` ends; commands in each other
  Text *output = nullptr;    ///< where commands print; null: the terminal
  const Text *input = nullptr;
  bool hasSubstituted = false; ///< the command that runs has a `$(...)`, whose exit code is its own without a name of a command
  std::vector<Text> launcher;  ///< words in front of the script that is followed, as in `srun bash script.sh`
};

} // namespace npar::foreign::shell
