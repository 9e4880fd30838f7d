// The syntax tree: what the text says, with places, before any meaning. Chains are flat: depth comes from brackets only.
#pragma once

#include "dsl/Diagnostics.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::dsl::ast {

struct Name {
  std::string text;
  Location location;
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// One argument of a call or a selection; `name.text` is empty when positional.
struct Argument {
  Name name;
  ExpressionPtr value;
  Name unit = {}; ///< of a length in a learning rate: "epochs"; empty if the text has none
};

enum class SuffixKind { Call, Select, Member };

/// `(arguments)`, `[axis = index]` or `.member`.
struct Suffix {
  SuffixKind kind = SuffixKind::Call;
  std::vector<Argument> arguments;
  Name member;
  Location location;
};

enum class Operator { Or, And, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Add, Subtract, Multiply, Divide, Modulo };
const char *spelling(Operator op);

enum class ExpressionKind { Integer, Number, Boolean, Text, Name, List, Each, Tuple, Negate, Not, Chain, Suffixed };

/// `location` covers the whole expression as far as it stays on its first line.
struct Expression {
  ExpressionKind kind = ExpressionKind::Integer;
  Location location;
  int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  std::string text;                 ///< Text, Name; Number and Integer as written; Each: what the entry's number is called
  std::vector<ExpressionPtr> items; ///< List, Tuple, Chain: operands; Each: entry and count; Negate, Not, Suffixed: one
  std::vector<Operator> operators;  ///< Chain: between items, left-associative
  std::vector<Location> places;     ///< Chain: of the operators
  std::vector<Suffix> suffixes;     ///< Suffixed
};

/// `name` or `name = value`: an axis, a mesh axis, a parameter of a declaration.
struct Item {
  Name name;
  ExpressionPtr value;
};

enum class StatementKind {
  Axis,
  Input,
  Param,
  State,
  Update,
  Log,
  Repeat,
  If,
  Under,
  Checkpoint,
  Loss,
  Metric,
  Output,
  Require,
  Forward,
  Return,
  Assign
};

/// One line of a checkpoint block: `word "text"`, `word "text" -> "text"` or `word "text" = value`.
struct CheckpointRule {
  Name word, text;
  std::optional<Name> target;
  ExpressionPtr value;
};

struct Statement {
  StatementKind kind = StatementKind::Assign;
  Location location;
  std::vector<Item> items;                ///< Axis: axes; Input: names; Forward: parameters
  Name name;                              ///< what it declares; Update: the state; Loss: may be empty; Input: element type
  std::optional<Name> path;               ///< Param, State, Repeat, Assign: the path after `as`
  std::optional<Name> index;              ///< Repeat: what its body calls the block's number
  ExpressionPtr shape;                    ///< Input, Param, State: the list of axes
  ExpressionPtr value;                    ///< Param, State: initialisation; Repeat: count; If: condition; the expression of the others
  std::string message;                    ///< Require; Under: the prefix
  std::vector<Statement> body;            ///< Repeat, If, Under, Forward
  std::vector<CheckpointRule> rules = {}; ///< Checkpoint
  std::vector<Statement> otherwise = {};  ///< If: after `else`
  ExpressionPtr weight = {};              ///< Loss
  ExpressionPtr condition = {};           ///< Loss, Metric: after `where`
};

struct Import {
  std::string path;
  Location location;
};

struct Block {
  Name name;
  std::vector<Item> parameters;
  std::vector<Statement> body;
};

struct Setting {
  Name name;
  ExpressionPtr value;
};

/// `require zero <= 3, "ZeRO has three stages"`
struct Requirement {
  ExpressionPtr condition;
  std::string message;
};

/// `decay 0`, `lr * 10`, `optimizer Sgd(lr = 0.1)`
struct GroupChange {
  Name name;
  bool times = false;
  ExpressionPtr value;
};

/// `freeze "*" except "head.*"` or `for "*.bias" as "biases" { decay 0 }`
struct ParameterRule {
  Location location;
  bool freeze = false;
  std::vector<Name> patterns, except;
  std::optional<Name> group; ///< the name after `as`
  ExpressionPtr condition;
  std::vector<GroupChange> changes;
};

struct Train {
  Name name, model;
  std::vector<Item> parameters;
  std::vector<Setting> settings;
  std::vector<ParameterRule> rules;
};

/// `state exp_avg, exp_avg_sq = zeros`
struct OptimizerState {
  std::vector<Name> names;
  std::vector<std::optional<Name>> paths; ///< one for each name: the text after `as`
  ExpressionPtr shape;                    ///< the list after `:`; null: one number for each element of the parameter
  ExpressionPtr initial;
};

/// `update(w, g, t) { w = w - lr * g }`
struct OptimizerUpdate {
  Location location;
  std::vector<Name> values; ///< names of the weight, the gradient and the step number
  std::vector<Item> lines;
};

/// `optimizer Sgd(lr, momentum = 0.0) { ... }`
struct Optimizer {
  Name name;
  std::vector<Item> parameters;
  std::vector<OptimizerState> states;
  std::vector<Requirement> requirements;
  std::vector<OptimizerUpdate> updates; ///< exactly one is right
};

/// Named values of a model's constants.
struct Config {
  Name name, model;
  std::vector<Item> values;
};

/// One line of a family: `word "key"`, `word "key" = value` or `word "key" = value else value`.
struct FamilyRule {
  Name word;
  std::vector<Name> keys;
  std::vector<Item> values; ///< of constants, in parentheses
  ExpressionPtr value, otherwise;
};

/// The mapping from the configuration files of a family of checkpoints to a model.
struct Family {
  Name name, model;
  std::vector<FamilyRule> rules;
};

struct RuleAxis {
  Name name, modifier; ///< modifier: `pad` or empty
};

struct Narrowing {
  bool layer = false; ///< else an operation
  Name name;
};

struct Rule {
  Location location;
  std::vector<RuleAxis> axes;
  std::vector<Name> mesh;
  std::optional<Name> schedule;
  bool scheduleIsName = false; ///< may be a constant of the plan
  bool scheduleIsText = false; ///< in quotes
  ExpressionPtr chunks;        ///< in parentheses after the schedule
  ExpressionPtr live;          ///< the number after `live`
  ExpressionPtr stages;        ///< the list of `stages [...]`
  std::vector<Narrowing> narrowings;
  ExpressionPtr condition;
};

/// `optimizer -> dp`, `optimizer -> host 0.5`, `optimizer -> file "folder"`
struct StoreRule {
  Location location;
  std::vector<Name> what, mesh; ///< mesh: axes, or a tier
  std::optional<Name> per;
  ExpressionPtr condition;
  std::optional<Name> folder = std::nullopt, share = std::nullopt; ///< of a tier
};

/// `recompute block`, `recompute every 2`, `recompute op attention`
struct Recompute {
  Location location;
  bool every = false, op = false;
  ExpressionPtr value;
};

/// An element type besides that of `compute`, such as `reduce f32`.
struct Precision {
  Name what;
  ExpressionPtr value;
  std::optional<Name> hierarchical;
};

/// `keep norm, "h.*.attn" in f32`
struct Keep {
  std::vector<Narrowing> what;
  ExpressionPtr type;
};

/// `25 MB`, `memory <= 24 GiB`, `near 30 GB/s`; the unit is `%` for a share.
struct Quantity {
  Name what, unit;
  ExpressionPtr value;
};

/// `place pp, dp inside tp`
struct Place {
  Location location;
  std::vector<Name> order, inside;
};

struct Plan {
  Name name, model; ///< model: empty for a plan of any model
  std::vector<Item> parameters;
  std::vector<Item> mesh;
  std::vector<Place> places;
  std::vector<Rule> rules;
  std::vector<Setting> settings; ///< `compute` among them
  std::vector<StoreRule> stores;
  std::vector<Recompute> recomputes;
  std::vector<Precision> precisions;
  std::vector<Keep> keeps;
  std::vector<Quantity> buckets, limits;
  std::vector<Setting> expertBuffers; ///< `experts buffer 2.0`
  std::vector<Requirement> requirements;
};

/// `product f32 { rate 100 GFLOP/s }`
struct FigureGroup {
  Name name;
  std::optional<Name> type;
  std::vector<Quantity> figures;
};

/// `hosts 8 of "dgx-h100"`
struct HostKind {
  Name hosts, of; ///< the words, checked afterwards
  ExpressionPtr count;
  std::optional<Name> machine; ///< nothing: not a kind, but a figure outside of any group
};

struct Machine {
  Name name;
  std::vector<HostKind> kinds;
  std::vector<FigureGroup> groups;
};

/// `"b.txt" as bytes lengths "b.i32" weight 3`
struct DataFile {
  Name path;
  std::optional<Name> format, lengths;
  ExpressionPtr weight;
};

/// `label below labels`, `targets = shift(tokens, 1)`
struct DataFeed {
  Name input;
  ExpressionPtr value, below;
};

/// `stream "b.u16"  tokens, targets = shift(tokens, 1)`
struct DataSource {
  Name word;
  std::vector<DataFile> files;
  std::vector<DataFeed> feeds;
};

/// `split 0.9, 0.1 seed 42`
struct DataSplit {
  Location location;
  std::vector<ExpressionPtr> shares;
  ExpressionPtr seed;
};

/// `shuffled seed 7`
struct DataOrder {
  Name word;
  ExpressionPtr seed;
};

/// `training: random_crop(pad = 4), flip`
struct DataSteps {
  Name word;
  std::vector<ExpressionPtr> steps;
};

/// The sources of a model's inputs.
struct Data {
  Name name, model;
  std::vector<Item> parameters;
  std::vector<DataSource> sources;
  std::vector<DataSplit> splits;
  std::vector<DataOrder> orders;
  std::vector<Name> lasts; ///< `drop` of `drop last`
  std::vector<DataSteps> steps;
};

/// The syntax tree of one text. `index` is its number in Sources.
struct File {
  uint32_t index = 0;
  std::vector<Import> imports;
  std::vector<Block> layers, models;
  std::vector<Train> trains;
  std::vector<Optimizer> optimizers;
  std::vector<Plan> plans;
  std::vector<Config> configs;
  std::vector<Family> families;
  std::vector<Machine> machines;
  std::vector<Data> datas;
};

} // namespace npar::dsl::ast
