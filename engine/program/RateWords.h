// The numbers that a program needs of a run: its learning rates count in epochs or shares of the run, which are steps only then.
#pragma once

#include <cstddef>
#include <string>

namespace npar::program {

struct Program;

/// What each learning rate with a `word` has, in this order, as the bits of float64. Lengths are in steps of the run's batch. `Offset` is
/// added to the number of the step, so that a training that continues with another batch is where its data are.
enum class RateWord { Offset, Warmup, Steps, Every };
constexpr int rateWords = 4;

/// Number of the run's words in contexts of kernels.
size_t runWordsOf(const Program &program);

/// Words of a context: {data step, micro index, seed, coordinates..., words of the run...}.
size_t contextWordsOf(const Program &program);

/// Why the table of learning rates is wrong; empty if it is well formed.
std::string wrongRate(const Program &program);

} // namespace npar::program
