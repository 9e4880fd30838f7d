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
  bool special = false;                       ///< represents no text
  bool normalized = false;                    ///< found in the normalized text, after the others
  bool singleWord = false;                    ///< found only where no character of a word is next to it
  bool leftStrip = false, rightStrip = false; ///< takes the white space on this side
};

/// Finds, of the tokens that begin first, the longest, in one walk through a trie.
class TokenTrie {
public:
  struct Token {
    int32_t id = -1;
    bool singleWord = false, leftStrip = false, rightStrip = false;
  };
  void add(const std::string &text, const Token &token);
  bool empty() const { return edges.empty(); }
  size_t longest() const { return most; }
  bool stripsLeft() const { return anyLeft; }
  /// The first token that begins in [from, until) and ends within the text; null without one.
  const Token *find(std::string_view text, size_t from, size_t until, Span &span) const;

private:
  std::unordered_map<uint64_t, uint32_t> edges; ///< node and byte to node
  std::vector<Token> tokens = {{}};             ///< token that ends at a node
  bool begins[256] = {};
  size_t most = 0;
  bool anyLeft = false;
};

/// Receives the parts of a text.
class AddedTokenSink {
public:
  virtual ~AddedTokenSink() = default;
  /// Text between tokens, in parts. `ends`: a token or the end of the text follows.
  virtual Status between(std::string_view part, bool ends) = 0;
  /// `bytes`: the length of the token in the text.
  virtual Status token(int32_t id, size_t bytes) = 0;
};

/// Finds the tokens of one text that comes in parts, as `AddedVocabulary` of the `tokenizers` package does.
class AddedTokenScan {
public:
  explicit AddedTokenScan(const TokenTrie &trie) : trie(trie) {}
  /// Passes on what later text cannot change. `ends`: this is the last part; the next one begins another text.
  Status push(std::string_view part, bool ends, AddedTokenSink &sink);

private:
  Status scan(bool ends, AddedTokenSink &sink);
  bool standsAlone(const Span &span) const;
  const TokenTrie &trie;
  std::string waiting;
  size_t passed = 0;      ///< the beginning of `waiting` that was passed on
  size_t search = 0;      ///< tokens that begin before here were found
  size_t enough = 0;      ///< bytes that must wait before the next attempt
  bool afterWord = false; ///< the last character before `waiting` belongs to a word
};

} // namespace npar::engine
