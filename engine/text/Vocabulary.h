// The tokens of a model by number and by text.
#pragma once

#include "engine/text/TextIndex.h"

#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

using TokenList = std::vector<std::pair<std::string, int64_t>>;

constexpr int64_t idLimit = int64_t{1} << 22; ///< tables are as long as the largest id, whatever the file's size

/// Immutable once made; neither copied nor moved, because the index refers to the texts.
class Vocabulary {
public:
  /// Refuses empty tokens, duplicate ids and tokens, and ids that are not below `idLimit`.
  static Result<std::shared_ptr<const Vocabulary>> create(const TokenList &tokens);
  Vocabulary(const Vocabulary &) = delete;

  /// The id of a token; -1 for other texts.
  int32_t find(std::string_view token) const { return index.find(token); }
  /// One more than the largest id.
  size_t size() const { return texts.size(); }
  bool has(size_t id) const { return id < texts.size() && !texts[id].empty(); }
  /// Empty if no token has this id.
  const std::string &text(size_t id) const { return texts[id]; }

private:
  explicit Vocabulary(size_t count) : index(count) {}
  std::vector<std::string> texts;
  TextIndex index;
};

} // namespace npar::engine
