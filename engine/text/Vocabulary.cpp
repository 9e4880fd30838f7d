// Checks the tokens of a file.
#include "engine/text/Vocabulary.h"

#include "engine/text/Quoted.h"

#include <algorithm>

namespace npar::engine {

Result<std::shared_ptr<const Vocabulary>> Vocabulary::create(const TokenList &tokens) {
  std::shared_ptr<Vocabulary> made(new Vocabulary(tokens.size()));
  int64_t largest = -1;
  for (const auto &[token, id] : tokens) {
    if (token.empty())
      return Status::badInput("the token with id " + std::to_string(id) + " is empty");
    if (id < 0 || id >= idLimit)
      return Status::badInput("token " + inQuotes(token) + " has the id " + std::to_string(id) + ": ids are 0 to " +
                              std::to_string(idLimit - 1));
    largest = std::max(largest, id);
  }
  made->texts.resize(static_cast<size_t>(largest + 1));
  for (const auto &[token, id] : tokens) {
    std::string &text = made->texts[static_cast<size_t>(id)];
    if (!text.empty())
      return Status::badInput("id " + std::to_string(id) + " is that of two tokens, one of them " + inQuotes(token));
    text = token;
    if (!made->index.add(text, static_cast<int32_t>(id)))
      return Status::badInput("token " + inQuotes(token) + " is there twice");
  }
  return std::shared_ptr<const Vocabulary>(std::move(made));
}

} // namespace npar::engine
