// DeepSpeed in two files: the program with its parallel layout and types (DeepSpeed), and its optimizer and learning rate
// (DeepSpeedTraining). Other programs' files contain its settings too.
#pragma once

#include "tools/lib/foreign/Reading.h"

#include "engine/json/JsonForward.h"

namespace npar::foreign {

/// Reads the settings whose names begin with `prefix`. Without a prefix, lists the ones left over.
void readDeepSpeed(Reading &in, const std::string &prefix);
/// The entry of a name; null for "auto" too, which leaves the value to the training script.
const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name);

void readDeepSpeedTraining(Reading &in, const std::string &prefix);
/// Adds `optimizer`, `scheduler` and `gradient_clipping`. `at`: the train block, for warnings.
void addDeepSpeedTraining(OrderedJson &json, const ForeignRun &run, const dsl::Location &at, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
