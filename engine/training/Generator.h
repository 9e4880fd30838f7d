// Continues a sequence of tokens by forward-only programs, one token at a time.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/training/Sampling.h"

#include <map>
#include <vector>

namespace npar::training {

/// The sizes of a program for generating: from [batch, positions] tokens to [batch, positions, classes] logits.
struct GeneratorShape {
  int64_t rows = 0, positions = 0, classes = 0;
  int64_t tokens = 0; ///< the number of tokens that the input knows; 0: any integer

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

  /// The scores of what follows the sequence, or the end of it if it is longer than the program. A program that computes the whole sequence
  /// is tested: no bit of its scores may change with later tokens. Before the first scores it computes other later tokens
  /// once, and each step compares the scores of the step before. A program that fails the test is bad input.
  engine::Result<std::vector<double>> scores();
  void append(int32_t token) { sequence.push_back(token); }
  /// The prompt and what was appended.
  const std::vector<int32_t> &tokens() const { return sequence; }

private:
  /// Gives tokens [first, end) of the sequence to a part, at `position` if it keeps, and leaves the last one's scores.
  engine::Status compute(const GeneratorPart &part, int64_t first, int64_t end, int64_t position);
  /// Runs a step with these tokens in every row.
  engine::Status step(const GeneratorPart &part, const std::vector<int32_t> &row);
  /// Scores at a place of the first row; the others are like it.
  engine::Result<std::vector<double>> scoresAt(const GeneratorPart &part, int64_t place) const;
  engine::Result<std::vector<double>> wholeScores(int64_t start, int64_t end);
  /// Computes tokens [start, end) with others from some place on, and remembers scores before it.
  engine::Status readWithOthers(int64_t start, int64_t end);
  /// That scores remembered of the same tokens are what the last step left.
  engine::Status compare();

  std::vector<GeneratorPart> parts;
  int64_t length;
  bool keeps;
  std::vector<int32_t> sequence;
  int64_t begin = 0, known = 0; ///< what is kept: of tokens [begin, begin + known)
  int64_t steps = 0;
  std::map<int64_t, std::vector<double>> remembered; ///< scores by place in the sequence that begins at `begin`
};

} // namespace npar::training
