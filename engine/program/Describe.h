// Words steps, tasks and ranks for messages, with one wording for all of them.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar::program {

/// `stage0 (ranks 0-3) task B0:1 step 12 "all_reduce h.3.attn" at gpt2.npar:14:3`.
std::string describeStep(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step);

/// `task B0:1 step 12 "all_reduce h.3.attn" at gpt2.npar:14:3`.
std::string describePlace(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step);

/// The rank of the class that has coordinate 0 on every mesh axis that is a parameter: `rank 4 (pp = 1, tp = 0)`.
std::string describeExampleRank(const Program &program, const RankClass &rankClass);

/// `training step 7`, `evaluation step 7`, `generation step 7`: by what the program is for.
std::string describeStepOf(const Program &program, int64_t step);

/// `F0:1`, or `U0` for a fragment that runs once.
std::string describeTask(const RankClass &rankClass, uint32_t task);

/// `ranks 0-3, 8-11`; of more than eight such runs the first eight, and how many ranks there are.
std::string describeRanks(const Program &program, const RankClass &rankClass);

} // namespace npar::program
