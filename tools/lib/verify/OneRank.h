// The one-rank program that a plan is compared with, made from the same text.
#pragma once

#include "dsl/Frontend.h"
#include "engine/program/Program_generated.h"

#include <string>

namespace npar::verify {

/// The same model and train block on one rank: one micro-batch that is the whole batch.
dsl::Program onOneRank(dsl::Program program);

/// Why a program cannot be compared with the text's one-rank program; empty if it can.
std::string whyNotComparable(const program::Program &program, const program::Program &reference);

} // namespace npar::verify
