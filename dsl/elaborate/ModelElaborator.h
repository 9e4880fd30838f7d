// Turns a model's text into a flat graph: runs its statements once, unrolling repeats and calling layers like templates.
#pragma once

#include "dsl/NamedValue.h"
#include "dsl/constants/Evaluate.h"
#include "dsl/elaborate/Graph.h"
#include "dsl/elaborate/Library.h"

#include <memory>

namespace npar::dsl {

/// A layer with its arguments and parameters at a path of the model.
struct Instance {
  const ast::Block *layer = nullptr;
  SourceFile *file = nullptr;
  std::string path;
  Location location;
  Scope scope; ///< its constants, axes, parameters and inner layers; no parent: a layer sees nothing of its surroundings
  const ast::Statement *forward = nullptr;
  Instance *parent = nullptr;
  bool used = false;
};

/// Tells whether a model computes anything: a loss, a metric or an output.
inline bool hasResults(const Model &model) { return !model.losses.empty() || !model.metrics.empty() || !model.predictions.empty(); }

class ModelElaborator : public Evaluator {
public:
  ModelElaborator(Graph &graph, Reporter &reporter, SourceFile *file) : Evaluator(reporter), graph(graph), file(file) {}

  /// Runs the model's body over its constants. Errors are in the reporter.
  void run(const ast::Block &model, Scope &scope, Purpose purpose);

  // Accessors for the arguments of operations; each reports errors and throws Stop.
  int tensor(const ast::Expression &expression, Scope &scope, const std::string &what);
  AxisValue axes(const ast::Expression &expression, Scope &scope, const std::string &what);
  /// A name for a source of randomness that no other source has.
  std::string site(const std::string &kind);
  Value constant(Location at, const Value &value) override;
  /// Checks that the state has no update yet.
  void checkOneUpdate(size_t state, Location at);

  Graph &graph;
  std::vector<NamedValue> *values = nullptr; ///< FrontendOptions::values

protected:
  Value name(const ast::Expression &expression, Scope &scope) override;
  Value list(const ast::Expression &expression, Scope &scope) override;
  Value suffixed(const ast::Expression &expression, Scope &scope) override;
  Value combine(ast::Operator op, Location at, const Value &left, const Value &right) override;
  Value negate(Location at, const Value &value) override;
  Value invert(const ast::Expression &operand, Scope &scope) override;

private:
  enum class Body { Model, Repeat, Layer, Forward };

  /// Adds what a name stands for to `values`; `atPath`: path of the layer whose text has it.
  void note(const std::string &name, const Value &value, Location at, const std::string &atPath);
  void note(const Scope &scope, const std::string &atPath);
  /// Checks that the model has what the purpose requires.
  void checkPurpose(const ast::Block &model, Purpose purpose);

  // The statements of a body (Statements.cpp).
  void execute(const std::vector<ast::Statement> &statements, Scope &scope, Body body);
  void statement(const ast::Statement &s, Scope &scope, Body body);
  void poison(const ast::Statement &s, Scope &scope);
  void axis(const ast::Statement &s, Scope &scope);
  /// The factors when the size of an axis is a product of axes alone, else nothing.
  AxisValue factors(const ast::Expression &size, Scope &scope);
  /// The parts when it is a sum of different axes and products of axes alone, else nothing.
  AxisNames summands(const ast::Expression &size, Scope &scope);
  void condition(const ast::Statement &s, Scope &scope, Body body);
  void checkNoForward(const std::vector<ast::Statement> &statements, const char *of);
  void input(const ast::Statement &s, Scope &scope);
  /// Checks that a file with tensors can have a tensor of this name.
  void checkTensorName(const ast::Name &name, const std::string &what);
  /// Declares a parameter or a state.
  void param(const ast::Statement &s, Scope &scope);
  void setInitial(Parameter &parameter, const ast::Expression &init, Scope &scope);
  void assign(const ast::Statement &s, Scope &scope, Body body);

  // Purposes of a model: its losses, and the metrics and predictions of an evaluation (Losses.cpp).
  void loss(const ast::Statement &s, Scope &scope);
  void metric(const ast::Statement &s, Scope &scope);
  void prediction(const ast::Statement &s, Scope &scope);
  // What is computed once per training step: updates of states and numbers of the log (States.cpp).
  void update(const ast::Statement &s, Scope &scope);
  void log(const ast::Statement &s, Scope &scope);
  /// A float tensor that a step computes after its last micro-batch; checks what it is computed from.
  int stepValue(const ast::Statement &s, Scope &scope, const std::string &what);

  /// The node of the condition after `where`, truth values over axes in `axes`; -1 without a condition.
  int condition(const ast::Statement &s, const AxisNames &axes, Scope &scope);
  /// Checks that a condition is known before a step and is the same under every plan.
  void checkKnown(const ast::Expression &condition, int node);
  /// The condition combined with a check that targets are not the ones that the loss's own node ignores.
  int andValid(int condition, int loss, Location at);
  double weightOf(const ast::Statement &s, Scope &scope);
  /// Checks that the name of the loss or metric differs from those of all before it in an evaluation.
  void checkMeasure(const ast::Name &name, const std::string &what);
  /// Checks that need all losses.
  void checkLosses();
  /// Checks that the scope does not have the name yet. `path`: the path of what it names, for advice if that path is free.
  void checkFresh(const ast::Name &name, Scope &scope, const std::string &path = "");
  void warnUnused();
  /// A hint if `name` is declared further down in the same text; otherwise nothing.
  Helps declaredLater(const ast::Name &name) const;

  // Names of parameters in files (Paths.cpp).
  std::string pathOf(const ast::Name &name, const std::optional<ast::Name> &as, Scope &scope);
  /// The text of a path, with the values of constants in braces. Axes stay in their braces, under their names in the model; `{number}`
  /// becomes `{}`.
  std::string pathText(Location at, const std::string &written, Scope &scope, const std::string &number = "");
  std::string inBraces(Location at, const std::string &word, Scope &scope);
  /// Checks that each axis in braces in a parameter's path is one of the dimensions that it is stored in.
  void checkIndexed(const Parameter &p, Location at);
  void under(const ast::Statement &s, Scope &scope, Body body);

  // Repeats (Repeats.cpp).
  void repeat(const ast::Statement &s, Scope &scope, Body body);
  /// Checks that no block of another repeat has this path, a path inside it or a path around it, except the blocks that are being run.
  void placeBlock(const ast::Statement &s, const std::string &path);

  // The rules of checkpoint blocks (Checkpoint.cpp).
  void collectCheckpoint(const ast::Statement &s);
  /// Resolves the names in all checkpoint blocks, before unused parameters are dropped; then checks the rules against the remaining ones.
  void resolveCheckpoint(Scope &scope);
  void checkCheckpoint();
  void checkShadowed();
  CheckpointRule checkpointRule(const ast::CheckpointRule &source, Scope &scope);
  std::string parameterPath(const ast::Expression &expression, Scope &scope);
  /// Returns whether a `keep` line matches the parameter.
  bool isKept(const std::string &parameter) const;

  // Layers: made from their texts, called, asked for their members (Layers.cpp).
  Instance *instantiate(const ast::Name &name, const std::string &path, const ast::Expression &value, const Library::FoundLayer &found,
                        Scope &scope);
  /// `name`: the word that the text calls; empty for a member of another layer.
  Value forward(Instance &instance, const std::string &name, const ast::Suffix &suffix, Location at, Scope &scope);
  Value member(Instance &instance, const ast::Name &name);

  // Evaluation of expressions beyond constants (Expressions.cpp).
  Value call(const ast::Expression &callee, const ast::Suffix &suffix, Location at, Scope &scope);
  Value select(const Value &value, const ast::Suffix &suffix, Location at, Scope &scope);
  /// The part of a sum of axes that `e` names in `[axis = e]`, whose value is an axis.
  std::string partName(const std::string &axis, const ast::Expression &e, const AxisValue &given, const TensorType &type);
  int64_t offsetOf(const std::string &axis, const std::string &part) const;
  Value use(const Value &value, Location at);
  [[noreturn]] void unknown(const std::string &what, const ast::Expression &name, Scope &scope);

  const ast::Block *text = nullptr; ///< the model
  SourceFile *file;                 ///< the file whose text is evaluated
  Instance *instance = nullptr;     ///< the layer whose text is evaluated; null in the model's
  std::optional<Value> result;      ///< result of the forward function being run
  std::vector<const ast::Block *> openLayers;
  std::vector<std::unique_ptr<Instance>> instances;
  std::map<std::string, int> sites;
  std::vector<const ast::CheckpointRule *> checkpointRules; ///< rules of the text, in order
  std::vector<std::string> keptPatterns;                    ///< of the `keep` lines
  std::map<std::string, const ast::Statement *> blockPaths; ///< paths of all blocks, with their repeats
  const ast::Statement *openRepeat = nullptr;               ///< the innermost repeat whose block is being run
  std::string openBlock;                                    ///< its path
};

} // namespace npar::dsl
