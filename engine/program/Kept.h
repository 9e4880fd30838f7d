// Names of the variables in which a generation program keeps the keys and values that attention reads later. No variable of a model text
// can have such a name.
#pragma once

namespace npar::program {

/// State, i32, [batch, positions]: for each sample, ascending positions of a step's tokens in its sequence. A program that keeps anything
/// has it.
constexpr const char *keptPositions = "#kept.positions";
/// State: "#kept.N.keys" and "#kept.N.values" of the Nth attention, by position in the sequence.
constexpr const char *keptPrefix = "#kept.";

} // namespace npar::program
