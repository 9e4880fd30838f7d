// Changes a text before it is cut into words: the normalizers of a tokenizer.json.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace npar::engine {

/// Immutable. A text comes in parts; the result does not depend on them.
class Normalizer {
public:
  /// The memory of a normalizer between the parts of one text.
  struct State {
    bool begins = true;      ///< nothing was consumed yet
    bool wrote = false;      ///< something but leading spaces was consumed
    bool afterSpace = false; ///< the last character written was a space
    size_t spacesHeld = 0;   ///< spaces that are written before the next character
  };
  virtual ~Normalizer() = default;
  /// Appends the normalized form of a beginning of `text`, which is valid UTF-8 and not empty, to `out`, and returns its number of bytes.
  /// `goesOn`: more text will follow; what it could change is not consumed. Without `goesOn`, everything is.
  virtual Result<size_t> apply(std::string_view text, State &state, bool goesOn, std::string &out) const = 0;
};

using Normalizers = std::vector<std::shared_ptr<const Normalizer>>;

/// Applies normalizers one after the other to a text that comes in parts. For one thread.
class NormalizerChain {
public:
  explicit NormalizerChain(const Normalizers &normalizers);
  bool empty() const { return stages.empty(); }
  /// Appends what the part adds to the normalized text. `ends`: it is the last part; the next one begins another text. Refuses normalizers
  /// that make very many bytes of few.
  Status push(std::string_view part, bool ends, std::string &out);

private:
  struct Stage {
    std::shared_ptr<const Normalizer> normalizer;
    Normalizer::State state;
    std::string waiting, made;
    uint64_t written = 0;
    size_t enough = 0; ///< bytes that must wait before the next attempt, so that a long undecided text is read only a few times
  };
  std::vector<Stage> stages;
  uint64_t given = 0; ///< bytes of the text so far
};

/// Normalizes a whole text.
Result<std::string> normalized(const Normalizers &normalizers, std::string_view text);

} // namespace npar::engine
