// The places where a model chooses the entries with the largest scores, such as experts: evaluations write what they choose, or take it.
#pragma once

#include "dsl/Program.h"

#include <string>
#include <vector>

namespace npar::verify {

/// A `top_k` that a loss depends on: choices [batch, ..., slot, ...] among scores [batch, ..., axis, ...].
struct TopChoice {
  int node = -1, scores = -1; ///< numbers of nodes
  std::string axis;           ///< its entries are chosen
};

/// The names of what an evaluation writes and takes for each choice; `number` counts the choices of a model.
std::string nameOfChoices(size_t number);
std::string nameOfScores(size_t number);

/// The choices that losses depend on, in the order of the model.
std::vector<TopChoice> topChoicesOf(const dsl::Model &model);
/// False for choices that depend on other samples, and for those of no sample: no evaluation writes them.
bool isWritten(const dsl::Model &model, const TopChoice &choice);

/// Makes an evaluation write choices and scores instead of the model's own outputs and metrics.
void writeChoices(dsl::Model &model, const std::vector<TopChoice> &choices);
/// Lets all that depends on the choices get them from inputs. Metrics and predictions of the model are left out.
void takeChoices(dsl::Model &model, const std::vector<TopChoice> &choices);
/// Both: writes what the model itself would choose.
void takeAndWriteChoices(dsl::Model &model, const std::vector<TopChoice> &choices);

} // namespace npar::verify
