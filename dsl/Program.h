// The elaborated program: one model as a flat typed graph with its train block and plan, the seam between dsl/ and compiler/.
#pragma once

#include "dsl/Diagnostics.h"
#include "dsl/Optimizer.h"
#include "engine/program/Elements.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace npar::dsl {

struct Machine; // dsl/machine/Machine.h

using program::ElementType;

/// A named axis with its global logical size. `batch` (reserved) has the size D * micro: one micro-batch of all data-parallel ranks.
struct Axis {
  std::string name;
  int64_t size = 0;
  Location location;
  bool countsSamples = false; ///< `batch`, and axes made of it: their sizes grow with micro-batches
};

/// A name for several axes at once, major to minor: a rule on it splits its factors.
struct ProductAxis {
  std::string name;
  std::vector<std::string> factors;
  Location location;
};

struct TensorType {
  ElementType element = ElementType::F32;
  std::vector<std::string> axes; ///< names, major to minor, none twice
  bool truth = false;            ///< truth values, which are the integers 0 and 1 in a program

  bool operator==(const TensorType &other) const { return element == other.element && axes == other.axes && truth == other.truth; }
  /// The same elements over other axes.
  TensorType over(std::vector<std::string> others) const { return {element, std::move(others), truth}; }
};

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<std::string>, std::vector<double>, std::vector<int64_t>>;

/// One operation; its result is the value numbered by its place in Model::nodes.
/// `op` is the mnemonic of the nn dialect: input, index, parameter, einsum, add, sub, mul, div, scale, shift, exp, log, tanh, relu,
/// gelu, silu, sum, gather, select, stack, layer_norm, rms_norm, softmax, attention, cross_entropy, dropout, sinusoid ...
/// A `parameter` node is one use of a parameter (attribute `name` = its path); an `input` node has attribute `name`.
struct Node {
  std::string op;
  std::vector<int> operands; ///< earlier nodes
  TensorType type;           ///< type of the first result (attention: out; cross_entropy: loss per token)
  std::map<std::string, Attribute> attributes;
  std::string path; ///< layer path, such as "h.3.attn"; empty at the top
  int block = -1;   ///< place in the chain of repeated blocks: -1 before, 0..blocks-1, `blocks` after
  Location location;
};

using program::InitKind; // not Constant

struct Parameter {
  std::string path;            ///< Hugging Face name, such as "h.0.attn.c_attn.weight"
  TensorType type;             ///< unmerged axes, row-major
  std::vector<int> storedRank; ///< how many axes make each stored dimension: [1, 3] stores [embed, part*head*feature]
  InitKind init = InitKind::Zeros;
  double deviation = 0;   ///< standard deviation of InitKind::Normal, bound of InitKind::Uniform
  bool untrained = false; ///< a state: no gradient, f32 or wider, changed by its update alone
  bool counts = false;    ///< a state that holds whole numbers
  Location location;
};

/// The formula that gives a state its next value, once per training step.
struct StateUpdate {
  size_t state = 0; ///< index in Model::parameters
  int node = -1;    ///< floats over the state's axes, computed from states and sums over the batch (isOverBatch) alone
  Location location;
};

/// A number, or a list of them along one axis, that the training log reports for each step.
struct LoggedValue {
  std::string name; ///< with the path of the layer that logs it
  int node = -1;    ///< floats over at most one axis, computed like those of StateUpdate
  Location location;
};

struct Repeat {
  std::string label; ///< such as "h"
  std::string path;  ///< path of a block, with "{}" for its number: "h.{}", "model.layers.{}"
  int first = 0;     ///< ordinal of its first block in the chain
  int count = 0;
  Location location;
  std::string inside = {}; ///< Model::nested: label of the repeat around it
};

using program::CheckpointRuleKind;

/// A rule of a model for files with its weights. A pattern has at most one '*', which matches any text, including points.
struct CheckpointRule {
  CheckpointRuleKind kind = CheckpointRuleKind::Rename;
  std::string file;  ///< Rename, Ignore: pattern of a tensor's name in the file; Same: that name
  std::string model; ///< Rename: the parameter's path, with the '*' of `file`; Same: a parameter's path; Fresh: pattern of paths
  Location location;
};

/// One term of the model's loss: the mean of the node's values at the positions of the global batch that count, times the weight.
struct Loss {
  std::string name;   ///< empty if it is the only one
  int node = -1;      ///< floats over [batch, ...]
  int condition = -1; ///< truth values from inputs, over axes of the node: the positions that count; -1: all except ignored targets
  double weight = 1;
  Location location;
};

using program::MeasureKind;
using program::ProductOrder;

/// A number that an evaluation reports, computed from the values of nodes over the same axes, [batch, ...], where the condition holds.
struct Metric {
  std::string name;
  MeasureKind kind = MeasureKind::Mean; ///< not Loss
  std::vector<int> nodes;               ///< one; predicted and actual truth values (F1) or the two that are correlated
  int condition = -1;                   ///< truth values over axes of the nodes; -1: everywhere
  Location location;
};

/// A value that an evaluation writes for each sample.
struct Prediction {
  std::string name;
  int node = -1; ///< [batch, ...]
  Location location;
  bool scores = false; ///< the scores of classes along the last axis, which a cross entropy compares with targets
};

struct Model {
  std::string name;
  std::vector<Axis> axes;
  std::vector<ProductAxis> products;
  std::vector<Parameter> parameters; ///< in order of declaration: the order of norm, hash and checkpoint
  std::vector<Node> nodes;
  std::vector<Repeat> repeats;            ///< repeats whose blocks form the chain
  std::vector<Repeat> nested;             ///< repeats inside others, as in the first block of the outer one
  std::vector<CheckpointRule> checkpoint; ///< as written: the first `rename` that matches holds
  int blocks = 0;                         ///< length of the chain
  std::vector<Loss> losses;               ///< all have a name unless there is only one
  std::vector<Metric> metrics;
  std::vector<Prediction> predictions;
  std::vector<StateUpdate> updates; ///< at most one for each state
  std::vector<LoggedValue> logged;
  std::vector<std::string> constants; ///< names of constants that a setting may override
  std::vector<std::pair<std::string, std::string>>
      chosenConstants; ///< of these, with their values: those that a setting or a configuration sets
  Location location;

  /// The node of the first loss that compares logits with targets; without one, that of the first loss.
  const Node &mainLoss() const {
    for (const Loss &loss : losses)
      if (nodes[static_cast<size_t>(loss.node)].op == "cross_entropy")
        return nodes[static_cast<size_t>(loss.node)];
    return nodes[static_cast<size_t>(losses.front().node)];
  }
};

/// Treatment of a parameter by the rules of a train block.
struct ParameterTraining {
  bool frozen = false;         ///< it keeps its values: no gradient, no optimizer state
  double rate = 1;             ///< factor on the learning rate
  std::optional<double> decay; ///< weight decay instead of the optimizer's
  size_t optimizer = 0;        ///< index in Train::optimizers
  int group = 0;               ///< index in Train::groups; meaningless if frozen
};

struct Train {
  std::string name;
  int64_t batch = 0;                    ///< sequences per training step, B
  bool batchFollows = false;            ///< the text leaves the batch out: it is D * micro * M of the plan
  std::vector<Optimizer> optimizers{1}; ///< the train block's own, then those that rules ask for
  const Optimizer &optimizer() const { return optimizers.front(); }
  std::optional<double> clip; ///< global norm
  uint64_t seed = 0;
  std::optional<double> epochs;              ///< passes over the data in a run; nothing: the command line sets the length
  std::vector<ParameterTraining> parameters; ///< one per Model::parameters
  std::vector<std::string> groups;           ///< groups of parameters with separate gradient norms; none is empty
  Location location;
};

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  Location location;
};

/// One left-hand axis of one rule; a rule with several axes on the left becomes several entries in order.
struct Rule {
  std::string axis;
  bool pad = false;
  std::vector<std::string> mesh; ///< mesh axes tried, major to minor; empty for `-> none`
  std::string op, layer;         ///< narrowing (`in op`, `in layer`), empty when absent
  Location location;
  std::string by = {}; ///< how attention sees the whole of a split sequence: "gather", "ring", "ring_zigzag"; empty when not given
};

struct Pipeline {
  std::vector<std::string> repeats; ///< labels of the rule, such as {"h"}
  std::string mesh;                 ///< mesh axis
  std::string schedule;             ///< a name of FrontendOptions::schedules, or a file as the plan writes it
  Location location;
  int chunks = 0;                   ///< per stage; 0: the schedule's own number
  std::string path = {};            ///< path of the file, relative to the folder of the text that names it; empty for a name
  std::string text = {};            ///< contents of the file, which was read and checked
  std::vector<int64_t> counts = {}; ///< blocks of each part along the chain, by hand; empty: balanced by cost
  Location countsAt = {};
  double live = 0; ///< most micro-batches that a stage holds at once (a chunk of one is 1/chunks); 0: no limit
  Location liveAt = {};
};

/// Secondary: a second share of the parameters over fewer ranks, which the forward pass cuts from what it gathers and the backward pass
/// gathers (hpZ; Wang et al. 2023, ZeRO++, section 3.2).
enum class StoreKind { Parameters, Gradients, Optimizer, Secondary };

/// Values that are stored in shares, one per coordinate of the mesh axes (ZeRO; Rajbhandari et al. 2020, section 5).
struct Store {
  StoreKind what = StoreKind::Optimizer;
  std::vector<std::string> mesh;
  bool perStep = false; ///< Gradients: reduced once per training step, not per micro-batch
  Location location;
};

/// Values that are stored outside of the device that uses them: all of them, or the first of each stage up to a share of their bytes.
struct TierRule {
  StoreKind what = StoreKind::Optimizer;
  program::Tier tier = program::Tier::Host;
  double share = 1;   ///< above 0, at most 1
  std::string folder; ///< File: where the files are, as the plan writes it
  Location location;
};

/// Ranks along the mesh axis of the batch that hold the optimizer for all ranks along it. With `central` (DataParallel) it is the first
/// rank, which also has samples and computes the loss of all.
struct Servers {
  std::string mesh; ///< mesh axis
  Location location;
};

enum class RecomputeKind { None, Attention, Block, Every, Layers };

/// The word for the kind in diagnostics, settings and attributes: "none", "attention", "block", "every" or "layers".
const char *wordOf(RecomputeKind kind);

/// Values that the backward pass computes again instead of keeping them.
struct Recompute {
  RecomputeKind kind = RecomputeKind::None;
  int64_t every = 1;               ///< Every: blocks between two kept ones
  std::vector<std::string> layers; ///< Layers: patterns of paths
  std::vector<Location> layersAt;  ///< location of each pattern
  Location location;
};

/// An exception from the plan's element type.
struct Keep {
  std::string what;   ///< "norm", "loss", "softmax", "attention", "embedding", an operation, or the pattern of a layer's path
  bool layer = false; ///< `what` is a pattern
  ElementType type = ElementType::F32;
  Location location;
};

/// The order in which ranks fill hosts: mesh axes, major to minor, or just `cluster` or `spread`; empty: the order of the mesh. The axes of
/// `inside` follow the others and stay inside a host. engine/program/HostPlacement.h applies the order to hosts.
struct HostOrder {
  std::vector<std::string> order, inside;
  Location location;
};

struct Plan {
  std::string name = "none";
  std::vector<MeshAxis> mesh; ///< empty for `--plan none`
  int64_t micro = 0;          ///< sequences per rank and micro-batch
  int64_t microCount = 1;     ///< M = B / (D * micro)
  int64_t dataParallel = 1;   ///< D
  std::vector<Rule> rules;
  std::optional<Pipeline> pipeline;
  ElementType compute = ElementType::F32;
  bool tf32 = false;                             ///< `compute tf32`: F32, and products round their operands to TF32
  std::optional<ElementType> gradients, reduce;  ///< type of stored gradients, and of sums between ranks
  bool hierarchical = false;                     ///< whether to reduce over several mesh axes one after the other, the last axis first
  bool library = false;                          ///< whether a library may add sums between ranks in its own order
  ProductOrder products = ProductOrder::Fastest; ///< order in which products of bf16 add
  std::vector<Keep> keeps;                       ///< empty unless `compute` is narrow, or `tf32`: of what it does not concern
  std::vector<Store> stores;
  std::vector<TierRule> tiers; ///< at most one for each kind of values
  std::optional<Servers> servers;
  int64_t bucket = 0; ///< bytes of gradients that are reduced together; 0: each alone
  Location bucketAt, hierarchicalAt, libraryAt;
  Recompute recompute;
  double expertBuffer = 0; ///< rows that ranks reserve for experts, as a multiple of those of a balanced load; 0: enough for all
  Location expertBufferAt;
  std::optional<HostOrder> place;
  std::optional<int64_t> memoryLimit; ///< bytes per rank
  std::optional<double> bubbleLimit;  ///< share of a step, 0 to 1
  Location memoryLimitAt, bubbleLimitAt;
  Location location;
};

using program::DataFormat;
using program::DataLast;
using program::DataOrder;
using program::Interpolation;
using program::PictureStepKind;
using program::TextFeedKind;

struct DataFile {
  std::string path; ///< found from the folder of the text that names it
  DataFormat format = DataFormat::Tensors;
  int64_t weight = 0;  ///< relative weight among several files; 0 for all: they are concatenated
  std::string lengths; ///< path of the lengths of a stream's documents; empty: one piece
};

/// The columns of a file of texts that feed an input. engine/program/Program.fbs defines each field.
struct TextFeed {
  TextFeedKind kind = TextFeedKind::Tokens;
  std::vector<std::string> columns;
  bool numbered = false;
  std::vector<std::string> names;
  std::string of; ///< Valid, Segment: the input with the tokens
  std::string tokenizer;
  std::optional<int64_t> padding;
  bool skipsEmpty = false;
};

struct DataFeed {
  std::string input;
  std::string tensor;    ///< name of the tensor in a file of tensors
  int64_t shift = 0;     ///< streams: distance in tokens to the token that is fed
  bool valid = false;    ///< streams: feeds whether there is a token instead of the token
  bool isClass = false;  ///< folders of pictures: feeds the number of the picture's sub-folder instead of the picture
  int64_t below = 0;     ///< exclusive upper bound of its integers; 0: not given
  std::string belowAxis; ///< axis that gives the bound by its size; may be empty
  Location location;
  std::optional<TextFeed> text = std::nullopt;
};

/// A step that prepares a picture; engine/program/Program.fbs defines its numbers.
struct PictureStep {
  PictureStepKind kind = PictureStepKind::Resize;
  std::vector<double> numbers;
  Interpolation interpolation = Interpolation::Antialiased;
  Location location;
};

/// Files that hold the same inputs.
struct DataGroup {
  std::vector<DataFile> files;
  std::vector<DataFeed> feeds;
};

/// The sources of the inputs, and the order of the samples. engine/program/Program.fbs defines each field.
struct Data {
  std::string name;
  std::vector<DataGroup> groups;
  DataOrder order = DataOrder::Shuffled;
  DataLast last = DataLast::Join;
  std::optional<uint64_t> seed; ///< seed of the order; absent: the training's seed
  std::vector<double> shares;   ///< shares of the parts; empty: a single part
  uint64_t splitSeed = 0;
  std::vector<PictureStep> training, evaluation; ///< steps that prepare pictures
  Location location;
};

/// Everything the compiler needs; every size is known, every name resolved, every type checked.
struct Program {
  Model model;
  Train train;
  Plan plan;
  std::optional<Data> data;               ///< absent: the sources of inputs are given at run time
  std::shared_ptr<const Machine> machine; ///< machine to plan for; null: the reference machine
  /// Settings that only plans have, given without a plan: they had no effect.
  std::vector<std::string> idleSettings;
};

} // namespace npar::dsl
