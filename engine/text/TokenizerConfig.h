// `tokenizer_config.json`, as the transformers package writes it, and the files next to it: how the other files of a folder are meant.
#pragma once

#include "engine/text/AddedTokens.h"

#include "engine/status/Status.h"

#include <array>
#include <optional>

namespace npar::engine {

/// All fields have their defaults if the files are absent.
struct TokenizerConfig {
  /// The special tokens that every class has, in the order in which transformers adds them.
  enum class Role { Begin, End, Unknown, Separator, Padding, Classify, Mask };
  static constexpr size_t roles = 7;

  bool exists = false;
  std::string type; ///< the class of the tokenizer without "Fast" at its end; may be empty
  bool addPrefixSpace = false, prefixSpaceOff = false, addEnd = false;
  std::optional<bool> addBegin;
  bool lowercase = true, splitsChinese = true; ///< BERT's
  std::optional<bool> stripsAccents;
  bool keepsAccents = false;                            ///< ALBERT's
  int64_t extraIds = 100;                               ///< T5's
  std::array<std::optional<AddedToken>, roles> special; ///< by role; without a text: the files name none, with null
  std::vector<AddedToken> modelSpecial;                 ///< with names of their own, as "image_token"; their order is unknown
  std::vector<AddedToken> furtherSpecial;               ///< without names, as "additional_special_tokens"
  bool namesFurther = false;                            ///< a file has a list of these, which may be empty
  std::vector<AddedToken> added;                        ///< by id
  bool listsAdded = false;                              ///< there is an 'added_tokens_decoder'

  /// The text of a special token; `otherwise` without one.
  std::string text(Role role, const std::string &otherwise) const;
};

/// Reads tokenizer_config.json and, unless that lists the added tokens, special_tokens_map.json and added_tokens.json.
Result<TokenizerConfig> readTokenizerConfig(const std::string &folder);

/// The name of a class without "Fast" at its end.
std::string slowClass(std::string type);

} // namespace npar::engine
