// Names of the variables by which a generating program keeps what attention looks back at: no variable of a text can be called so.
#pragma once

namespace npar::program {

/// State, i32: where the tokens of a step stand in the sequence, ascending by one. The program has it where it keeps anything.
constexpr const char *keptPositions = "#kept.positions";
/// State: "#kept.N.keys" and "#kept.N.values" of the Nth attention, by position in the sequence.
constexpr const char *keptPrefix = "#kept.";

} // namespace npar::program
