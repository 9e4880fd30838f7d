// Tokens that a tokenizer file adds to its vocabulary, such as "<|endoftext|>", which are found in a text before it is cut into words.
#pragma once

#include "engine/text/Pattern.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace npar::engine {

struct AddedToken {
  std::string text;
  int64_t id = 0;
  bool special = false;    ///< represents no text
  bool normalized = false; ///< searched for after the others
};

/// Finds, of the tokens that begin first, the longest, in one walk through a trie.
class TokenTrie {
public:
  void add(const std::string &token, int32_t id);
  bool empty() const { return edges.empty(); }
  size_t longest() const { return most; }
  /// The first token that begins in [from, until) and ends within the text.
  bool find(std::string_view text, size_t from, size_t until, Span &span, int32_t &id) const;

private:
  std::unordered_map<uint64_t, uint32_t> edges; ///< node and byte to node
  std::vector<int32_t> ids = {-1};              ///< token that ends at a node
  bool begins[256] = {};
  size_t most = 0;
};

/// The added tokens of a file. Those that are found before the text is normalized have priority over the others, as in Python's
/// `tokenizers`.
struct AddedTokens {
  TokenTrie first, second;
};

/// Walks through one text that comes in parts.
class AddedTokenScan {
public:
  explicit AddedTokenScan(const AddedTokens &tokens) : tokens(tokens) {}
  /// Finds the first token at or after `from`. False: there is none before `decided`, the end of the range in which this is certain;
  /// without `goesOn` that is the end of the text.
  bool next(std::string_view text, size_t from, bool goesOn, Span &span, int32_t &id, size_t &decided);
  /// Tells that the text lost its first `bytes`.
  void shift(size_t bytes);

private:
  const AddedTokens &tokens;
  Span ahead;           ///< a token of the first kind that was found already
  int32_t aheadId = -1; ///< -1: none
  size_t searched = 0;  ///< no token of the first kind begins before here, except the one in `ahead`
};

} // namespace npar::engine
