// Checks what the files say and builds the tables from it.
#include "engine/text/ByteLevelBpe.h"

#include "engine/text/BpeEncoder.h"
#include "engine/text/ByteCharacters.h"
#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

constexpr int64_t idLimit = int64_t{1} << 24; // tables are as long as the largest id
constexpr size_t longestAdded = 512;          // bytes; every place of a text where one may begin is tried this far

std::string idText(int64_t id) { return std::to_string(id); }

} // namespace

Result<std::shared_ptr<const Tokenizer>> ByteLevelBpe::create(BpeParts parts) {
  std::shared_ptr<ByteLevelBpe> result(new ByteLevelBpe(parts.merges.size()));
  for (auto part : {&ByteLevelBpe::addVocabulary, &ByteLevelBpe::addMerges, &ByteLevelBpe::addAdded, &ByteLevelBpe::addAround})
    if (Status status = (result.get()->*part)(parts); !status.ok())
      return status;
  result->words = std::move(parts.words);
  return std::shared_ptr<const Tokenizer>(std::move(result));
}

Status ByteLevelBpe::addVocabulary(const BpeParts &parts) {
  bytes.fill(-1);
  ids.reserve(parts.vocabulary.size());
  for (const auto &[token, id] : parts.vocabulary) {
    if (token.empty())
      return Status::badInput("the token with id " + idText(id) + " is empty");
    if (id < 0 || id >= idLimit)
      return Status::badInput("token " + inQuotes(token) + " has the id " + idText(id) + ": ids are 0 to " + idText(idLimit - 1));
    if (static_cast<size_t>(id) >= tokens.size())
      tokens.resize(static_cast<size_t>(id) + 1);
    if (tokens[static_cast<size_t>(id)].exists)
      return Status::badInput("id " + idText(id) + " is that of two tokens, one of them " + inQuotes(token));
    if (!ids.emplace(token, static_cast<int32_t>(id)).second)
      return Status::badInput("token " + inQuotes(token) + " is there twice");
    std::optional<std::string> text = bytesOfCharacters(token);
    if (text && text->size() == 1)
      bytes[static_cast<uint8_t>(text->front())] = static_cast<int32_t>(id);
    if (text && parts.wholeWords)
      wholeWords.emplace(*text, static_cast<int32_t>(id));
    tokens[static_cast<size_t>(id)] = {text.value_or(token), true, false};
  }
  return {};
}

Status ByteLevelBpe::addMerges(const BpeParts &parts) {
  int32_t rank = 0;
  for (const auto &[left, right] : parts.merges) {
    int32_t found[3];
    const std::string whole = left + right;
    const std::string *names[3] = {&left, &right, &whole};
    for (int i = 0; i < 3; ++i) {
      auto token = ids.find(*names[i]);
      if (token == ids.end())
        return Status::badInput("merge " + std::to_string(rank) + " (from 0) needs the token " + inQuotes(*names[i]) +
                                ", which the vocabulary lacks");
      found[i] = token->second;
    }
    if (!merges.add(found[0], found[1], {rank, found[2]}))
      return Status::badInput("merge " + std::to_string(rank) + " (from 0), of " + inQuotes(left) + " and " + inQuotes(right) +
                              ", is there twice");
    ++rank;
  }
  return {};
}

Status ByteLevelBpe::addAdded(const BpeParts &parts) {
  for (const AddedToken &token : parts.added) {
    if (token.text.empty() || token.text.size() > longestAdded)
      return Status::badInput("an added token has " + std::to_string(token.text.size()) + " bytes: 1 to " + std::to_string(longestAdded) +
                              " are possible");
    if (token.id < 0 || token.id >= idLimit)
      return Status::badInput("added token " + inQuotes(token.text) + " has the id " + idText(token.id) + ": ids are 0 to " +
                              idText(idLimit - 1));
    if (static_cast<size_t>(token.id) >= tokens.size())
      tokens.resize(static_cast<size_t>(token.id) + 1);
    int32_t id = static_cast<int32_t>(token.id);
    auto [known, fresh] = ids.emplace(token.text, id);
    if (known->second != id)
      return Status::badInput("added token " + inQuotes(token.text) + " has the id " + idText(id) + ", and " + idText(known->second) +
                              " elsewhere");
    Token &entry = tokens[static_cast<size_t>(id)];
    if (fresh && entry.exists)
      return Status::badInput("id " + idText(id) + " is that of two tokens, one of them " + inQuotes(token.text));
    entry = {token.text, true, token.special};
    (token.normalized ? added.second : added.first).add(token.text, id);
  }
  if (tokens.empty())
    return Status::badInput("its vocabulary is empty");
  return {};
}

Status ByteLevelBpe::addAround(const BpeParts &parts) {
  for (auto [from, to] : {std::pair(&parts.before, &before), std::pair(&parts.after, &after)})
    for (int64_t id : *from) {
      if (id < 0 || static_cast<size_t>(id) >= tokens.size() || !tokens[static_cast<size_t>(id)].exists)
        return Status::badInput("its post-processor puts the id " + idText(id) + " to every text, which no token has");
      to->push_back(static_cast<int32_t>(id));
    }
  if (parts.endOfText)
    end = idOf(*parts.endOfText);
  return {};
}

std::optional<int32_t> ByteLevelBpe::idOf(const std::string &token) const {
  auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional<int32_t>(found->second);
}

bool ByteLevelBpe::isSpecial(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < tokens.size() && tokens[static_cast<size_t>(id)].special;
}

std::unique_ptr<TextEncoder> ByteLevelBpe::encoder(bool additions) const { return std::make_unique<BpeEncoder>(*this, additions); }

Result<std::string> ByteLevelBpe::bytesOf(int32_t id, bool) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens.size() || !tokens[static_cast<size_t>(id)].exists)
    return Status::badInput(std::to_string(id) + " is no id of the tokenizer, whose vocabulary has " + std::to_string(tokens.size()));
  return tokens[static_cast<size_t>(id)].bytes;
}

} // namespace npar::engine
