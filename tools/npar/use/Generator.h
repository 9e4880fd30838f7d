// Continues a sequence of tokens by a forward-only program, one token at a time.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/use/Sampling.h"

#include <vector>

namespace npar::driver {

/// The sizes of a program for generating: from [batch, length] tokens to [batch, length, classes] logits.
struct GeneratorShape {
  int64_t rows = 0, length = 0, classes = 0;

  /// Refuses a program that takes other inputs than a stream of tokens, or leaves other logits.
  static engine::Result<GeneratorShape> of(const program::Program &program);
};

/// Recomputes the whole sequence for each token: nothing is kept from one to the next.
class Generator {
public:
  /// The session is of a program with this shape, and outlives this.
  Generator(engine::Session &session, const GeneratorShape &shape, std::vector<int32_t> prompt)
      : session(session), shape(shape), sequence(std::move(prompt)) {}

  /// The scores of what follows the sequence. Of one longer than the program takes, the end is looked at alone.
  engine::Result<std::vector<double>> scores();
  void append(int32_t token) { sequence.push_back(token); }
  /// The prompt and what was appended.
  const std::vector<int32_t> &tokens() const { return sequence; }

private:
  engine::Session &session;
  GeneratorShape shape;
  std::vector<int32_t> sequence;
  int64_t steps = 0;
};

} // namespace npar::driver
