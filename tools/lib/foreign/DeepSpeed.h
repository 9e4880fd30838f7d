// DeepSpeed in three files: the program with its parallel layout and types (DeepSpeed), its optimizer and learning rate
// (DeepSpeedTraining), and the classes of its names (DeepSpeedNames). Other programs' files contain its settings too.
#pragma once

#include "tools/lib/foreign/Reading.h"

#include "engine/json/JsonForward.h"

namespace npar::foreign {

const NameTable &deepSpeedNames();

/// Reads the settings whose names begin with `prefix`.
void readDeepSpeed(Reading &in, const std::string &prefix);
/// The entry of a name; null for "auto" too, which leaves the value to the training script.
const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name);

void readDeepSpeedTraining(Reading &in, const std::string &prefix);
/// Adds `optimizer`, `scheduler` and `gradient_clipping`. `at`: the train block, for warnings.
void addDeepSpeedTraining(OrderedJson &json, const ForeignRun &run, const dsl::Location &at, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
