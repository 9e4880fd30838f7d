// Continues sequences of tokens by forward-only programs, one token of each at a time.
#pragma once

#include "engine/runtime/Session.h"

#include <map>
#include <vector>

namespace npar::training {

/// The sizes of a generation program, which maps tokens [batch, positions] to logits [batch, scored, classes].
struct GeneratorShape {
  int64_t rows = 0, positions = 0, classes = 0;
  int64_t scored = 0; ///< positions with logits: all, or only the last one
  int64_t tokens = 0; ///< size of the input's vocabulary; 0: any integer

  /// Fails unless the program's only input is a stream of tokens and its first result has the shape of such logits.
  static engine::Result<GeneratorShape> of(const program::Program &program);
};

/// A session and the shape of its program; the session outlives its users.
struct GeneratorPart {
  engine::Session *session = nullptr;
  GeneratorShape shape;
};

/// Continues up to as many sequences as the programs have rows. No score of a sequence depends on the other sequences.
/// Works in one of two ways: with one program that computes the whole sequences again for each token, or with programs that compute only
/// the new positions and share a cache of keys and values. The last of these programs computes one position per step, the earlier ones
/// several.
class Generator {
public:
  /// The tokens of each sequence; none is empty.
  using Prompts = std::vector<std::vector<int32_t>>;

  /// Computes the whole sequences again for each token; they have at most the shape's number of positions.
  Generator(GeneratorPart whole, const Prompts &prompts);
  /// Keeps keys and values in the programs' cache, for sequences of up to `length` tokens.
  Generator(std::vector<GeneratorPart> parts, int64_t length, const Prompts &prompts);

  /// Computes the scores of the token after each sequence; only the end of a sequence that is longer than the program counts. A program
  /// that computes the whole sequence is checked for causality: no bit of its scores may change with later tokens. The check runs the
  /// program once with different later tokens before the first scores, then compares each step with the one before. Failing it is BadInput.
  engine::Status advance();
  /// The scores that the last `advance` computed for a sequence.
  engine::Result<std::vector<double>> scores(size_t sequence) const;
  void append(size_t sequence, int32_t token) { sequences[sequence].tokens.push_back(token); }
  size_t size() const { return sequences.size(); }
  /// The prompt and the tokens appended to it.
  const std::vector<int32_t> &tokens(size_t sequence) const { return sequences[sequence].tokens; }

private:
  struct Sequence {
    std::vector<int32_t> tokens;
    int64_t begin = 0, known = 0;                      ///< the cache has tokens [begin, begin + known)
    std::map<int64_t, std::vector<double>> remembered; ///< scores by position, counted from `begin`

    int64_t left() const { return static_cast<int64_t>(tokens.size()) - begin - known; }
    /// Drops the first tokens if there are more than `length`. Then every token has a new position.
    void limit(int64_t length);
  };

  engine::Status advanceWhole();
  engine::Status advanceKept();
  /// Runs a part on the next tokens of each sequence, as many as it takes, without the last `spared` ones.
  engine::Status compute(const GeneratorPart &part, int64_t spared);
  /// Runs a step with these tokens of each sequence. Sequences take turns in the remaining rows.
  engine::Status step(const GeneratorPart &part, const Prompts &rows);
  /// Scores at a position of a sequence.
  engine::Result<std::vector<double>> scoresAt(const GeneratorPart &part, size_t sequence, int64_t place) const;
  /// Runs the sequences followed by different later tokens, and remembers the scores of the unchanged positions.
  engine::Status readWithOthers();
  /// Fails with BadInput if remembered scores differ from the last step's scores at the same positions.
  engine::Status compare(size_t sequence);

  std::vector<GeneratorPart> parts;
  int64_t length;
  bool keeps;
  std::vector<Sequence> sequences;
  int64_t steps = 0;
};

} // namespace npar::training
