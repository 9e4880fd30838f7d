// The Trainer of Hugging Face transformers, and NeuronTrainer, in five files: the program (HuggingFace), batch, types and what is in shares
// (Storage), optimizer and learning rate (Training), length, data and checkpoints (Request), the classes of its names (Names). Names and
// defaults come from transformers/training_args.py, from optimum-neuron's and from the example scripts of both.
#pragma once

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

namespace npar::foreign {

const NameTable &huggingFaceNames();

// The names that settings of other files get: the JSON of --deepspeed, the JSON of --fsdp_config, the YAML that `accelerate launch` is
// given, and its flags.
constexpr const char *ofTrainersDeepSpeed = "deepspeed.", *ofTrainersFsdp = "fsdp_config.", *ofTrainersAccelerate = "config_file.",
                     *ofTrainersLaunch = "launch.";

/// The name of the training script without folder and ending: "run_clm"; empty: none is known.
std::string scriptOf(const ForeignFile &file);

/// The class of a flag of `accelerate launch`, null for an unknown one.
const KnownName *nameOfLaunchFlag(const std::string &flag);
/// Takes what `accelerate launch` is told, as entries of its file. Nothing: the run has another launcher, or no such settings.
std::vector<ForeignEntry> takeLaunch(Reading &in);

/// Reads the number of devices, the batch, types, parallelism and what is in shares, after the training.
void readTrainersStorage(Reading &in, const ForeignHints &hints);
void readTrainersTraining(Reading &in);
/// Reads how long it trains, its files, and when it evaluates and saves, after the training.
void readTrainersRequest(Reading &in);
/// Tells whether a text is a Python file or a notebook that makes the Trainer's arguments.
bool isPythonOfTrainer(const std::string &text);
/// The arguments of its call, as settings.
std::vector<ForeignEntry> readPythonOfTrainer(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
