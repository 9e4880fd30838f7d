// Megatron-LM in seven files: the program and its parallel layout (Megatron), its model (Model) and experts (Experts), optimizer and
// learning rate (Training), shares and types (Storage), the classes of its names (Names), its flags (Write).
#pragma once

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>

namespace npar::foreign {

const NameTable &megatronNames();

/// Experts that tokens are sent to; at most one: the model has none.
struct MegatronExperts {
  int64_t count = 1, chosen = 1;
  const ForeignEntry *width = nullptr; ///< of an expert; null: that of a dense layer
};

/// Reads them, and refuses what npar's models do not have.
MegatronExperts readMegatronExperts(Reading &in);
/// Reads how ranks share them, after tensor parallelism.
void readMegatronExpertParallelism(Reading &in);

/// Reports models that no model of npar comes near to, such as T5.
void refuseModel(Reading &in);

/// Chooses the model that computes what the flags describe, and reports differences. Chooses none if the flags describe no model.
void readMegatronModel(Reading &in, const ForeignHints &hints);

void readMegatronTraining(Reading &in);
/// Reads when it evaluates and saves, into RunRequest.
void readMegatronRequest(Reading &in);

/// The names that the settings of --deepspeed_config's file get.
constexpr const char *ofDeepSpeedFile = "deepspeed_config.";
/// Takes the sizes of DeepSpeed's file that no flag states. `in.run` has those of the flags.
void readDeepSpeedBatch(Reading &in);
/// Reads types, shares and buckets, after the training.
void readMegatronStorage(Reading &in, const ForeignHints &hints);

/// One flag per line.
class MegatronFlags {
public:
  void add(const std::string &flag) { text += "--" + flag + "\n"; }
  template <class Value> void add(const std::string &flag, const Value &value) { text += fmt::format("--{} {}\n", flag, value); }
  /// Removes the line of a flag. Does nothing without one.
  void remove(const std::string &flag) {
    for (const char *end : {" ", "\n"})
      if (size_t at = ("\n" + text).find("\n--" + flag + end); at != std::string::npos)
        text.erase(at, text.find('\n', at) - at + 1);
  }
  std::string text;
};

void addMegatronTraining(MegatronFlags &flags, const ForeignRun &run);
void addMegatronExperts(MegatronFlags &flags, const ForeignRun &run);

/// A plan as flags, one per line: model, sizes, optimizer and parallelism.
std::string megatronText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
