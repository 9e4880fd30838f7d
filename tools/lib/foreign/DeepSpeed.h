// DeepSpeed in four files: the program and what it writes (DeepSpeed), how its parallel layout and types are read (DeepSpeedReader), its
// optimizer and learning rate (DeepSpeedTraining), and the classes of its names (DeepSpeedNames). Other programs' files contain its
// settings too.
#pragma once

#include "tools/lib/foreign/Reading.h"

#include "engine/json/JsonForward.h"

namespace npar::foreign {

const NameTable &deepSpeedNames();

/// Reads the settings whose names begin with `prefix`. `precision`: the type that the calling program states, for a file that leaves it
/// open ("f32", "bf16", "fp16"); empty: none.
void readDeepSpeed(Reading &in, const std::string &prefix, const std::string &precision = "");
/// Reads only types and which state is in shares.
void readDeepSpeedStorage(Reading &in, const std::string &prefix, const std::string &precision = "");
/// Sets the buckets that DeepSpeed has by default, and what is assumed of them. `run` has its ZeRO stage and types.
void takeDeepSpeedReduction(ForeignRun &run);
/// The entry of a name; null for "auto" too, which leaves the value to the training script. `otherwise`: what is taken then, for the
/// report.
const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name, const std::string &otherwise = "");

void readDeepSpeedTraining(Reading &in, const std::string &prefix);
/// Adds `optimizer`, `scheduler` and `gradient_clipping`. `at`: the train block, for warnings.
void addDeepSpeedTraining(OrderedJson &json, const ForeignRun &run, const dsl::Location &at, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
