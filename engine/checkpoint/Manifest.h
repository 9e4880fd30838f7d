// The manifest of a checkpoint: what was trained, its progress, and where each logical tensor is stored in the shards.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// The product of sizes, which must be checked: that it fits (ManifestReader.cpp).
uint64_t elementsOf(const std::vector<int64_t> &sizes);

/// A part of a tensor in one shard: the elements [begin, end) of the rectangle `start`, `shape` of the tensor, row-major. What a rank keeps
/// whole is the rectangle from its first element to its last; a share of ZeRO is a range of it. There is no padding.
struct ManifestPiece {
  uint32_t file = 0;  ///< index in Manifest::files
  std::string tensor; ///< the name in that file, whose tensor has the piece's elements and no others
  std::vector<int64_t> start, shape;
  uint64_t begin = 0, end = 0;
  std::string hash; ///< XXH3-128 of the stored bytes, 32 hex digits

  uint64_t elements() const { return end - begin; }
  /// Elements of the rectangle.
  uint64_t volume() const;
};

/// The slot of a parameter that a rule of the train block keeps as it is: it has no state.
constexpr const char *frozenSlot = "frozen";

/// A logical tensor, the same under every plan. The rectangles of its pieces form a grid over `shape`, and the pieces of one rectangle
/// follow each other without a gap: so every element is stored once, which reading a manifest has checked.
struct ManifestTensor {
  std::string name; ///< of a parameter the model's; of state the program's, such as "wte.weight.exp_avg"
  std::string kind; ///< "parameter" (in float32 where the plan rounds it to 16 bits), "state"; later formats may have more
  std::string of;   ///< state: the parameter that it belongs to; empty: to the training as a whole
  /// State: "exp_avg", "momentum", "loss_scale" ... A frozen parameter: `frozenSlot`. A state of the model: program::modelStateSlot.
  std::string slot;
  std::string type;                  ///< as in safetensors: "F32", "F64", "BF16", "F16"
  std::vector<int64_t> shape;        ///< the dimensions that plans cut: heads and features apart, say
  std::vector<int64_t> stored;       ///< the shape of files with weights: the same elements in the same order
  std::vector<ManifestPiece> pieces; ///< by rectangle (row-major), then by `begin`

  uint64_t elements() const;
  uint64_t bytes() const;
};

/// A file of the checkpoint: a shard, or a text of the model.
struct ManifestFile {
  static constexpr uint64_t largestText = 64 << 20; ///< bytes that are read of a text
  std::string name;                                 ///< within the folder, without a slash but that of "model/"
  uint64_t bytes = 0;
  std::string hash; ///< of a text; of a shard the pieces have theirs
};

/// Which samples come next. Of one stream: all inputs of a program are fed from the same samples.
struct DataPosition {
  std::string stream;                    ///< "tokens bytes", "tensors", "random": what fed the program
  std::string order;                     ///< "shuffled" or "sequential"; empty for random values
  uint64_t samples = 0;                  ///< taken since the beginning of the training
  uint64_t epoch = 0;                    ///< of the next sample
  uint64_t epochSamples = 0;             ///< samples of the data, after which they repeat; 0: never
  uint64_t batch = 0;                    ///< samples of one training step
  std::vector<std::string> classes = {}; ///< names of the classes by number, of pictures in folders; empty: they have no names
};

/// The call of the model, so that the folder alone describes its contents. `texts` is empty if a compiled program was trained.
struct ModelCall {
  std::string text;                  ///< the name of the text's file in "model/", such as "gpt2.npar"
  std::string plan, train, config;   ///< flags that were given; empty: not given
  std::vector<std::string> settings; ///< of the model's constants: `key=value`, as given
  std::vector<std::string> others;   ///< settings of train block and plan
  std::vector<std::string> tuned;    ///< settings of the plan that the run has chosen by trying (`npar train --tune`)
  std::vector<ManifestFile> texts;   ///< the model's own, what it imports, and small files of the folder of its weights: "model/gpt2.npar"
  std::string weights = {};          ///< file or folder of the weights with which the training began; empty: initial values
  std::vector<std::string> parts = {}; ///< files or folders that replaced a part of these weights
};

struct MeshAxisSize {
  std::string axis;
  uint64_t size = 1;
};

struct Manifest {
  static constexpr uint64_t version = 1; ///< of the format
  static constexpr const char *fileName = "manifest.json";
  static constexpr uint64_t largestFile = 100'000'000; ///< bytes of a manifest

  std::string model, plan, train; ///< names
  std::string modelHash;          ///< XXH3-128 over names and shapes of the parameters: the same under every plan
  std::string planHash;           ///< XXH3-128 of the compiled program
  std::string compute;            ///< the plan's element type: "f32", "bf16"
  std::string products;           ///< order of the products of bf16: "portable", "pairs"; empty: there are none, or it is not known
  std::vector<MeshAxisSize> mesh;
  uint64_t step = 0; ///< finished training steps: the number of the next one
  uint64_t seed = 0;
  std::vector<DataPosition> data;
  uint64_t rateSteps = 0;          ///< steps that the learning rate has counted: with fp16 skipped ones are left out
  double rate = 0;                 ///< the last one
  std::optional<double> lossScale; ///< of fp16
  ModelCall call;
  std::vector<ManifestFile> files;
  std::vector<ManifestTensor> tensors;
  std::string hash; ///< XXH3-128 of the text that it was read from: what tells two checkpoints of one step apart; it is not written

  const ManifestTensor *find(const std::string &name) const;
  uint64_t world() const;
  /// Bytes of all tensors.
  uint64_t bytes() const;
};

/// The manifest as JSON, its own hash at the end: no bit of it can change unnoticed.
std::string manifestText(const Manifest &manifest);

/// Reads what `manifestText` wrote. The text is not trusted: size, depth, counts, types, names, shapes and ranges are checked, that every
/// element of a tensor is stored once included. `name` is how messages call the checkpoint. A newer format is refused with the version
/// that reads it.
Result<Manifest> parseManifest(const std::string &text, const std::string &name);

/// Reads the manifest of a committed checkpoint; `folder` is the checkpoint's own.
Result<Manifest> readManifest(const std::string &folder);

/// Returns true if a later npar has written the checkpoint in a format that this one cannot read. It is not damaged then.
bool isOfLaterFormat(const std::string &folder);

/// Returns true if the folder has a manifest, valid or not.
bool hasManifest(const std::string &folder);

/// Empty, or what is wrong with the pieces: they do not store every element exactly once.
std::string wrongPieces(const ManifestTensor &tensor);

/// The shape under which its file has a piece: that of a whole rectangle, else the number of its elements.
std::vector<int64_t> storedShape(const ManifestPiece &piece);

/// Bytes of one element of a stored type; 0 when it is unknown or no whole number.
uint64_t bytesOfType(const std::string &type);

} // namespace npar::engine
