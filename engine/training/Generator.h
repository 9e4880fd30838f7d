// Continues a sequence of tokens by forward-only programs, one token at a time.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/training/Sampling.h"

#include <map>
#include <vector>

namespace npar::training {

/// The sizes of a generation program, which maps tokens [batch, positions] to logits [batch, positions, classes].
struct GeneratorShape {
  int64_t rows = 0, positions = 0, classes = 0;
  int64_t tokens = 0; ///< size of the input's vocabulary; 0: any integer

  /// Fails unless the program's only input is a stream of tokens and its first result has the shape of such logits.
  static engine::Result<GeneratorShape> of(const program::Program &program);
};

/// A session and the shape of its program; the session outlives its users.
struct GeneratorPart {
  engine::Session *session = nullptr;
  GeneratorShape shape;
};

/// Works in one of two ways: with one program that computes the whole sequence again for each token, or with programs that compute only the
/// new positions and share a cache of keys and values. The last of these programs computes one position per step, the earlier ones several.
class Generator {
public:
  /// Computes the whole sequence again for each token; sequences have at most the shape's number of positions.
  Generator(GeneratorPart whole, std::vector<int32_t> prompt)
      : parts{whole}, length(whole.shape.positions), keeps(false), sequence(std::move(prompt)) {}
  /// Keeps keys and values in the programs' cache, for sequences of up to `length` tokens.
  Generator(std::vector<GeneratorPart> parts, int64_t length, std::vector<int32_t> prompt)
      : parts(std::move(parts)), length(length), keeps(true), sequence(std::move(prompt)) {}

  /// The scores of the token after the sequence; only the end of a sequence that is longer than the program counts. A program that computes
  /// the whole sequence is checked for causality: no bit of its scores may change with later tokens. The check runs the program once with
  /// different later tokens before the first scores, then compares each step with the one before. Failing it is BadInput.
  engine::Result<std::vector<double>> scores();
  void append(int32_t token) { sequence.push_back(token); }
  /// The prompt and the tokens appended to it.
  const std::vector<int32_t> &tokens() const { return sequence; }

private:
  /// Runs a part on tokens [first, end) of the sequence, whose first position in the cache, if there is a cache, is `position`.
  engine::Status compute(const GeneratorPart &part, int64_t first, int64_t end, int64_t position);
  /// Runs a step with these tokens in every row.
  engine::Status step(const GeneratorPart &part, const std::vector<int32_t> &row);
  /// Scores at a position of the first row; all rows are equal.
  engine::Result<std::vector<double>> scoresAt(const GeneratorPart &part, int64_t place) const;
  engine::Result<std::vector<double>> wholeScores(int64_t start, int64_t end);
  /// Runs tokens [start, end) followed by different later tokens, and remembers the scores of the unchanged positions.
  engine::Status readWithOthers(int64_t start, int64_t end);
  /// Fails with BadInput if remembered scores differ from the last step's scores at the same positions.
  engine::Status compare();

  std::vector<GeneratorPart> parts;
  int64_t length;
  bool keeps;
  std::vector<int32_t> sequence;
  int64_t begin = 0, known = 0; ///< the cache has tokens [begin, begin + known) of the sequence
  int64_t steps = 0;
  std::map<int64_t, std::vector<double>> remembered; ///< scores by position, counted from `begin`
};

} // namespace npar::training
