// What an evaluation came to, for people, tools and logs.
#pragma once

#include "engine/logging/LogFormat.h"
#include "engine/training/Evaluation.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace npar::training {

/// Of what a file holds (--tokens): the name of the number of bits that a token takes.
const char *bitsName(const std::string &tokens);

/// {"loss": .., "losses": {..}, "metrics": {..}, "counted": {..}, "samples": n}, null where a measure has no value; for a
/// single loss over tokens: loss, perplexity, tokens and {"metrics": {"bits_per_token": ..}}.
nlohmann::ordered_json jsonOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);

/// The same as a row of a log: NaN where a measure has no value. The step is left to the caller.
engine::EvaluationRecord recordOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);
/// What the values of such rows are called.
std::vector<std::string> namesOf(const engine::EvaluationRecord &record);

/// One line: the loss, what has a name, and of how many samples or tokens.
std::string textOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples);

} // namespace npar::training
