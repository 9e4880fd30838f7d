// Checks what the files say and builds the tables from it.
#include "engine/text/BpeTokenizer.h"

#include "engine/text/BpeEncoder.h"
#include "engine/text/ByteCharacters.h"
#include "engine/text/Quoted.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace npar::engine {
namespace {

constexpr int64_t idLimit = int64_t{1} << 22; // tables are as long as the largest id, whatever the file's size
constexpr size_t longestAdded = 512;          // bytes; every place of a text where one may begin is tried this far

std::string byteText(uint8_t byte, const char *format) {
  char text[8];
  std::snprintf(text, sizeof(text), format, static_cast<unsigned>(byte));
  return text;
}

std::string idText(int64_t id) { return std::to_string(id); }

} // namespace

Result<std::shared_ptr<const Tokenizer>> BpeTokenizer::create(BpeParts parts) {
  std::shared_ptr<BpeTokenizer> result(new BpeTokenizer(parts));
  for (auto part : {&BpeTokenizer::addVocabulary, &BpeTokenizer::addMerges, &BpeTokenizer::addAdded, &BpeTokenizer::addAround})
    if (Status status = (result.get()->*part)(parts); !status.ok())
      return status;
  result->words = std::move(parts.words);
  return std::shared_ptr<const Tokenizer>(std::move(result));
}

Status BpeTokenizer::addVocabulary(const BpeParts &parts) {
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
    std::string text = addSmallest(token, static_cast<int32_t>(id));
    if (parts.wholeWords)
      wholeWords.emplace(text, static_cast<int32_t>(id));
    tokens[static_cast<size_t>(id)] = {std::move(text), true, false};
  }
  auto missing = std::find(bytes.begin(), bytes.end(), -1);
  if (alphabet == Alphabet::Characters && missing != bytes.end())
    return Status::badInput("its vocabulary lacks the byte token " + byteText(static_cast<uint8_t>(missing - bytes.begin()), "<0x%02X>"));
  return {};
}

/// Remembers a token of one byte or character; returns the text that the token stands for.
std::string BpeTokenizer::addSmallest(const std::string &token, int32_t id) {
  if (alphabet == Alphabet::Bytes) {
    std::optional<std::string> text = bytesOfCharacters(token);
    if (text && text->size() == 1)
      bytes[static_cast<uint8_t>(text->front())] = id;
    return text.value_or(token); // as Python's decoder does
  }
  if (token.size() == 6 && token.substr(0, 3) == "<0x" && token[5] == '>' && token.find_first_not_of("0123456789ABCDEF", 3) == 5) {
    uint8_t byte = static_cast<uint8_t>(std::strtoul(token.c_str() + 3, nullptr, 16));
    bytes[byte] = id;
    return {static_cast<char>(byte)};
  }
  std::string text;
  for (size_t at = 0; at < token.size();) {
    size_t from = at;
    char32_t character = characterAt(token, at).value_or(0);
    if (from == 0 && at == token.size())
      characters.emplace(character, id);
    text += character == spaceMarkCharacter ? " " : token.substr(from, at - from);
  }
  return text;
}

Status BpeTokenizer::smallest(std::string_view word, std::vector<int32_t> &found) const {
  if (alphabet == Alphabet::Bytes) {
    for (char c : word) {
      found.push_back(bytes[static_cast<uint8_t>(c)]);
      if (found.back() < 0)
        return Status::badInput("the vocabulary has no token for the byte " + byteText(static_cast<uint8_t>(c), "0x%02x") +
                                ", in the word");
    }
    return {};
  }
  for (size_t at = 0; at < word.size();) {
    size_t from = at;
    char32_t character = *characterAt(word, at); // the text was checked
    auto token = characters.find(character == ' ' ? spaceMarkCharacter : character);
    if (token != characters.end()) {
      found.push_back(token->second);
      continue;
    }
    for (char byte : character == ' ' ? spaceMark : word.substr(from, at - from))
      found.push_back(bytes[static_cast<uint8_t>(byte)]);
  }
  return {};
}

Status BpeTokenizer::addMerges(const BpeParts &parts) {
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

Status BpeTokenizer::addAdded(const BpeParts &parts) {
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

Status BpeTokenizer::addAround(const BpeParts &parts) {
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

std::optional<int32_t> BpeTokenizer::idOf(const std::string &token) const {
  auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional<int32_t>(found->second);
}

bool BpeTokenizer::isSpecial(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < tokens.size() && tokens[static_cast<size_t>(id)].special;
}

std::unique_ptr<TextEncoder> BpeTokenizer::encoder(bool additions) const { return std::make_unique<BpeEncoder>(*this, additions); }

Result<std::string> BpeTokenizer::bytesOf(int32_t id, bool first) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens.size() || !tokens[static_cast<size_t>(id)].exists)
    return Status::badInput(std::to_string(id) + " is no id of the tokenizer, whose vocabulary has " + std::to_string(tokens.size()));
  const Token &token = tokens[static_cast<size_t>(id)];
  bool drops = first && dropsFirstSpace && !token.special && !token.bytes.empty() && token.bytes.front() == ' ';
  return token.bytes.substr(drops ? 1 : 0);
}

} // namespace npar::engine
