// Continues a sequence of tokens by forward-only programs, one token at a time.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/use/Sampling.h"

#include <vector>

namespace npar::driver {

/// The sizes of a program for generating: from [batch, positions] tokens to [batch, positions, classes] logits.
struct GeneratorShape {
  int64_t rows = 0, positions = 0, classes = 0;

  /// Refuses a program that takes other inputs than a stream of tokens, or leaves other logits.
  static engine::Result<GeneratorShape> of(const program::Program &program);
};

/// A session and the shape of its program; the session outlives its users.
struct GeneratorPart {
  engine::Session *session = nullptr;
  GeneratorShape shape;
};

/// By one program that computes the whole sequence for each token; or by programs that compute its next positions and keep what attention
/// looks back at, in one memory: the last of them one position, those before it more at a time.
class Generator {
public:
  /// The whole sequence, of the shape's positions, is computed for each token.
  Generator(GeneratorPart whole, std::vector<int32_t> prompt)
      : parts{whole}, length(whole.shape.positions), keeps(false), sequence(std::move(prompt)) {}
  /// What is computed is kept, for sequences of up to `length`.
  Generator(std::vector<GeneratorPart> parts, int64_t length, std::vector<int32_t> prompt)
      : parts(std::move(parts)), length(length), keeps(true), sequence(std::move(prompt)) {}

  /// The scores of what follows the sequence. Of one longer than the program takes, the end is looked at alone.
  engine::Result<std::vector<double>> scores();
  void append(int32_t token) { sequence.push_back(token); }
  /// The prompt and what was appended.
  const std::vector<int32_t> &tokens() const { return sequence; }

private:
  /// Gives tokens [first, end) of the sequence to a part, at `position` if it keeps, and leaves the last one's scores.
  engine::Status compute(const GeneratorPart &part, int64_t first, int64_t end, int64_t position);

  std::vector<GeneratorPart> parts;
  int64_t length;
  bool keeps;
  std::vector<int32_t> sequence;
  int64_t begin = 0, known = 0; ///< what is kept: of tokens [begin, begin + known)
  int64_t steps = 0;
};

} // namespace npar::driver
