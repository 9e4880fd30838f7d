// Reports the result of an evaluation as text, as JSON and as a log row.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/logging/LogFormat.h"
#include "engine/training/Evaluation.h"

#include <string>
#include <vector>

namespace npar::training {

/// The metric's name for the bits per token: "bits_per_byte" if `tokens` (the value of --tokens) is "bytes", else "bits_per_token".
const char *bitsName(const std::string &tokens);

/// {"loss": .., "losses": {..}, "metrics": {..}, "counted": {..}, "samples": n}, with null for a measure without a value. For a
/// single loss over tokens: loss, perplexity, tokens and {"metrics": {"bits_per_token": ..}}.
OrderedJson jsonOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);

/// The same as a log row, with NaN for a measure without a value. The caller fills in the step.
engine::EvaluationRecord recordOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);
/// The names of a record's values, in order.
std::vector<std::string> namesOf(const engine::EvaluationRecord &record);

/// One line: the loss, the named measures, and the number of samples or tokens.
std::string textOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);

} // namespace npar::training
