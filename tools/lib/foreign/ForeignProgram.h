// Describes another training program: recognizes, reads and writes its files, and reports what the program lacks.
#pragma once

#include "dsl/Program.h"
#include "tools/lib/foreign/ForeignRun.h"

#include <map>
#include <set>
#include <string_view>

namespace npar::foreign {

class Reading;

/// How clearly a text or a line belongs to a program. Inside: a part of it does, such as a flag in a command. Whole: all of it has the
/// syntax of the program's files, which counts more. Own: it also has words that no other program's files have.
enum class Sign { None, Inside, Whole, Own };

/// Reports clauses of a plan that a program cannot follow (errors), or follows differently or outside its settings (warnings).
class Refusals {
public:
  explicit Refusals(dsl::Diagnostics &diagnostics) : diagnostics(diagnostics) {}
  void error(const dsl::Location &at, const std::string &text, const std::string &help = "");
  void warning(const dsl::Location &at, const std::string &text, const std::string &help = "");

private:
  dsl::Diagnostics &diagnostics;
};

/// A plan that a search may choose, as far as programs differ in what they can express.
struct PlanShape {
  int64_t blocks = 0; ///< of the model
  int64_t pp = 1, chunks = 1, dp = 1, cp = 1, tp = 1;
  int64_t zero = 0;
  std::string context; ///< as `--fix context` has it: "none", "zigzag", "ring", "gather" or "ulysses"
  bool sequence = false;
  bool inMeshOrder = true;      ///< ranks fill hosts in the order of the mesh
  bool recomputesEvery = false; ///< `recompute every k`
  bool hasExperts = false;      ///< rows go to experts in the order of positions, which zigzag changes
};

/// A file whose settings belong to another one's.
struct ForeignReference {
  const ForeignProgram *program; ///< whose file it is
  std::string prefix;            ///< of the names of its settings
  bool isOptional = false;       ///< the file may be missing
};

/// A model that a file names, without its sizes.
struct NamedModel {
  const ForeignEntry *entry; ///< its value is the path of a folder, or a public name
  std::string head;          ///< ending of the class that is trained: "ForMaskedLM"; empty: the configuration's
};

/// A program. Its functions do nothing where programs need not differ; the `check` functions report what this program lacks.
class ForeignProgram {
public:
  virtual ~ForeignProgram() = default;
  /// The word for it on the command line, and the name of the plan, the train block and the configuration made of its runs: "megatron".
  virtual const char *key() const = 0;
  /// Its usual name, such as "Megatron-LM".
  virtual const char *name() const = 0;
  /// Its kind of file in messages, such as "a torchtitan TOML".
  virtual const char *file() const = 0;

  /// Signs that a text, or one of its lines, is this program's. Inside a text: a list of all settings that the program printed (`isDump`),
  /// possibly in a log.
  virtual Sign signOf(const std::string &text) const;
  virtual Sign signOfLine(std::string_view line) const;
  /// Tells whether files of this program end like this: ".toml".
  virtual bool hasEnding(const std::string &ending) const;
  /// Tells whether the text is a shell script or a command line, which is followed and not parsed.
  virtual bool isShell(const std::string &) const { return false; }
  /// Parses a file in the program's syntax. `file` is the text's index in the sources.
  virtual std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool isDump, dsl::Diagnostics &diagnostics) const = 0;
  /// Tells whether some of its files have nested settings, in YAML or JSON, which are each other's syntax.
  virtual bool isNested() const { return false; }
  /// Rewrites settings in the names and words of the program's table: other names of a setting, words for true and false.
  virtual void complete(std::vector<ForeignEntry> &) const {}
  /// The model that the file names, if its sizes are elsewhere.
  virtual std::optional<NamedModel> namedModel(const ForeignFile &) const { return std::nullopt; }
  /// A setting in the syntax of the file.
  virtual std::string shown(const std::string &key, const std::string &value, bool isDump) const;
  /// Translates the settings into npar's terms.
  virtual void read(Reading &in, const ForeignHints &hints) const = 0;

  /// The class of a setting's name; null for a name that the program does not have.
  virtual const KnownName *nameOf(const std::string &key) const = 0;
  /// Tells whether only files of this program have a setting of this name.
  virtual bool isOnlyHere(const std::string &key) const = 0;
  /// The file that a setting names and whose settings count too; nothing: the setting names no such file.
  virtual std::optional<ForeignReference> referenceOf(const ForeignEntry &entry) const;

  /// Tells whether npar writes plans for this program. The functions below are for such programs.
  virtual bool writes() const;
  /// The text in the program's format: one flag per line, TOML or JSON. `program` has the model, the optimizer and sizes missing in `run`.
  virtual std::string write(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) const;
  /// Its pipeline schedules, by npar's names.
  virtual const std::set<std::string> &schedules() const;
  /// The standard library's optimizers that it has settings for.
  virtual std::vector<std::string> optimizers() const;
  /// Tells whether its weight decay includes parameters of one dimension.
  virtual bool decaysVectors() const { return true; }
  /// The type of gradients if a plan leaves it open; nothing: that of `compute`.
  virtual std::optional<program::ElementType> gradientsOf(program::ElementType compute) const;
  /// Tells whether the program can express such a plan. Schedules are checked apart.
  virtual bool expresses(const PlanShape &plan) const;
  /// Tells whether it can number its ranks by dp, pp, cp, tp too; otherwise by pp, dp, cp, tp alone.
  virtual bool numbersDpOutside() const;
  /// Tells whether data-parallel ranks can share experts.
  virtual bool sharesExperts() const { return false; }
  /// Tells whether there can be a second set of shares of the parameters, for the backward pass.
  virtual bool sharesParametersTwice() const { return false; }
  /// Tells whether all ranks of context parallelism can be among those that share experts.
  virtual bool sharesExpertsOverContext() const { return false; }

  // Called in this order while a plan is translated; `run` has what was translated so far.

  /// Checks in particular that the program puts blocks into the same parts of the pipeline as the plan.
  virtual void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const;
  /// `rule` splits the sequence over the ranks of tensor parallelism.
  virtual void checkSequenceOverTensor(const dsl::Rule &rule, Refusals &refusals) const;
  /// `rule` splits the sequence over the ranks of context parallelism, by `run.ring`.
  virtual void checkContext(const dsl::Rule &rule, const dsl::Model &model, const ForeignRun &run, Refusals &refusals) const;
  /// After all rules. `tp`: the mesh axis of tensor parallelism; empty: none.
  virtual void checkRules(const dsl::Plan &plan, const std::string &tp, const ForeignRun &run, Refusals &refusals) const;
  /// `first`: the first `store` over more than one rank; null: none.
  virtual void checkStores(const dsl::Plan &plan, const dsl::Store *first, const ForeignRun &run, Refusals &refusals) const;
  virtual void checkTypes(const dsl::Plan &plan, const ForeignRun &run, Refusals &refusals) const;
  /// Blocks are recomputed.
  virtual void checkRecompute(const dsl::Recompute &recompute, const ForeignRun &run, Refusals &refusals) const;
  /// Gradients are reduced in buckets.
  virtual void checkBucket(const dsl::Plan &plan, Refusals &refusals) const;

protected:
  /// Warns of a plan that balances blocks by cost, which the program would spread over the pipeline by their number.
  void warnOfSpread(const dsl::Pipeline &pipeline, Refusals &refusals) const;
};

/// All programs, in the order in which messages list them.
const std::vector<const ForeignProgram *> &foreignPrograms();
/// The program of a key; null for an unknown one.
const ForeignProgram *findProgram(const std::string &key);
/// The keys of all programs, or of those that npar writes.
std::vector<std::string> programKeys(bool written = false);
/// Their kinds of file in words: "Megatron-LM flags, a torchtitan TOML or a DeepSpeed JSON".
std::string programFiles(bool written = false);

} // namespace npar::foreign
