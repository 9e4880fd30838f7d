// Entries of the compiled program's tables that earlier phases leave on the module, as structs: each has one writer and one reader here.
// Texts that are no strings of their own are views of the attributes, or, for writing, of the caller's strings.
#pragma once

#include "engine/program/Enums_generated.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::attributes {

//===- Data -----------------------------------------------------------------------------------------------------------------===//

/// `npar.inputs` = [{name, type, classes, axis, source, role, ignore}], written by prepare-inputs. Fields that are null or not given are
/// not written: passes keep what they find.
struct InputEntry {
  mlir::StringAttr name;
  mlir::Type type;                ///< of its values in a micro-batch
  std::optional<int64_t> classes; ///< its values are less; 0: any values
  mlir::StringAttr axis;          ///< the shortest axis that it is looked up on; empty if none
  mlir::LocationAttr source;      ///< the line of that axis, or of the op that states the bound
  mlir::StringAttr role;          ///< the word of an InputRole
  mlir::IntegerAttr ignore;       ///< the value that the loss leaves out
};
/// Absent before prepare-inputs.
std::optional<std::vector<InputEntry>> getInputs(mlir::ModuleOp module);
void setInputs(mlir::ModuleOp module, llvm::ArrayRef<InputEntry> entries);

struct DataFileEntry {
  llvm::StringRef path;
  program::DataFormat format = program::DataFormat::Tensors;
  int64_t weight = 0;
  llvm::StringRef lengths;
};

struct TextFeedEntry {
  program::TextFeedKind kind = program::TextFeedKind::Tokens;
  std::vector<std::string> columns;
  bool numbered = false;
  std::vector<std::string> names;
  llvm::StringRef of, tokenizer;
  std::optional<int64_t> padding;
  bool skipsEmpty = false;
};

struct DataFeedEntry {
  llvm::StringRef input, tensor;
  int64_t shift = 0;
  bool valid = false;
  int64_t below = 0;
  llvm::StringRef axis;
  mlir::LocationAttr loc;
  bool isClass = false;
  std::optional<TextFeedEntry> text = std::nullopt;
};

struct PictureStepEntry {
  program::PictureStepKind kind = program::PictureStepKind::Resize;
  std::vector<double> numbers;
  program::Interpolation interpolation = program::Interpolation::Antialiased;
  mlir::LocationAttr loc;
};

struct DataGroupEntry {
  std::vector<DataFileEntry> files;
  std::vector<DataFeedEntry> feeds;
};

/// `npar.data` = {name = "pairs", order = "shuffled", last = "join", groups = [{files = [{path = "a.safetensors", format = "tensors",
/// weight = 0, lengths = ""}], feeds = [{input = "label", tensor = "label", below = 4, axis = "labels", loc = ...}]}], shares = [0.9, 0.1],
/// split_seed = 42, loc = ...}; with `seed` if the block has its own; with `training` and `evaluation` = [{kind = "flip", numbers = [0.5],
/// interpolation = "antialiased", loc = ...}] if it has steps; a feed with `class` if it feeds the class of a folder, with `text`
/// = {kind = "encode", columns = ["review"], numbered = false, names = [], of = "", tokenizer = "bert", skip_empty = false} if texts feed
/// it. engine/program/Program.fbs defines each field.
struct DataBlockEntry {
  llvm::StringRef name;
  program::DataOrder order = program::DataOrder::Shuffled;
  program::DataLast last = program::DataLast::Join;
  std::vector<DataGroupEntry> groups;
  std::vector<double> shares;
  uint64_t splitSeed = 0;
  std::optional<uint64_t> seed;
  mlir::LocationAttr loc;
  std::vector<PictureStepEntry> training, evaluation;
};
/// Nothing if the module has no data block. Fails with an error at the module if a word is unknown.
mlir::FailureOr<std::optional<DataBlockEntry>> getDataBlock(mlir::ModuleOp module);
void setDataBlock(mlir::ModuleOp module, const DataBlockEntry &block);

//===- Evaluation -----------------------------------------------------------------------------------------------------------===//

/// `npar.measures` = [{name, kind, weight, values, counted}]: how an evaluation combines results, which have names.
struct MeasureEntry {
  std::string name;
  program::MeasureKind kind;
  double weight = 1;
  std::vector<std::string> values; ///< results
  std::string counted;             ///< the result that is not 0 where a position counts; empty: all positions count
};
/// Fails with an error at the module if a kind is unknown.
mlir::FailureOr<std::vector<MeasureEntry>> getMeasures(mlir::ModuleOp module);
void setMeasures(mlir::ModuleOp module, llvm::ArrayRef<MeasureEntry> entries);

/// `npar.predictions` = [{name, result}], with `scores` for scores of classes.
struct PredictionEntry {
  std::string name, result;
  bool scores = false;
};
std::vector<PredictionEntry> getPredictions(mlir::ModuleOp module);
void setPredictions(mlir::ModuleOp module, llvm::ArrayRef<PredictionEntry> entries);

//===- Weight files ---------------------------------------------------------------------------------------------------------===//

/// `npar.checkpoint` = [{kind = "rename", file = "transformer.*", model = "*"}].
struct CheckpointEntry {
  program::CheckpointRuleKind kind;
  llvm::StringRef file, model;
};
/// Fails with an error at the module if a kind is unknown.
mlir::FailureOr<std::vector<CheckpointEntry>> getCheckpointRules(mlir::ModuleOp module);
void setCheckpointRules(mlir::ModuleOp module, llvm::ArrayRef<CheckpointEntry> entries);

//===- Saved values ---------------------------------------------------------------------------------------------------------===//

/// `npar.saved` = [{op, path, as, elements, bits, home, uses, crossings}]: a value of the forward that the backward of a micro-batch needs.
struct SavedEntry {
  llvm::StringRef op, path; ///< the kind of the operation and the layer
  llvm::StringRef as;       ///< "tensor", "statistic" or "mask"
  int64_t elements = 0, bits = 0;
  int64_t home = 0;                           ///< the block that computes it
  llvm::SmallVector<int64_t> uses, crossings; ///< blocks whose backward uses it; blocks at which it enters a recomputed segment
};
std::vector<SavedEntry> getSavedValues(mlir::ModuleOp module);
void setSavedValues(mlir::ModuleOp module, llvm::ArrayRef<SavedEntry> entries);

/// `npar.routings` = [{path, way, experts, ranks, choices, rows, filled, kept, sent, elsewhere, rounds, buffered}]: the rows that a rank
/// reserves for the experts of a layer, per micro-batch.
struct RoutingEntry {
  std::string path, way;                       ///< the layer; "all_to_all", "gather", or "whole" where ranks share no experts
  int64_t experts = 0, ranks = 1, choices = 1; ///< of the layer; that share them; of a position
  int64_t rows = 0;                            ///< for the worst case, of all rounds
  double filled = 1;                           ///< the part of them that belongs to an expert if the load is balanced
  int64_t kept = 0;                            ///< bytes of values over all rows that the backward keeps
  int64_t sent = 0;                            ///< bytes that a dispatch moves: a row per choice, or the positions of all ranks
  double elsewhere = 0;                        ///< the part of them that is another rank's
  int64_t rounds = 1;                          ///< in which the rows come
  int64_t buffered = 0;                        ///< bytes of values over the rows of one round that its backward makes again and uses
};
std::vector<RoutingEntry> getRoutings(mlir::ModuleOp module);
void setRoutings(mlir::ModuleOp module, llvm::ArrayRef<RoutingEntry> entries);

/// `npar.products` = {forward, backward, repeated}: floating-point operations of the products of a micro-batch on one rank.
struct ProductFlops {
  double forward = 0, backward = 0, repeated = 0;
};
std::optional<ProductFlops> getProductFlops(mlir::ModuleOp module);
void setProductFlops(mlir::ModuleOp module, const ProductFlops &flops);

} // namespace npar::attributes
