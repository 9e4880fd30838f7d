// Checks what the files say and builds the tables from it.
#include "engine/text/Pipeline.h"

#include "engine/text/PipelineEncoder.h"
#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

constexpr size_t longestAdded = 512; // bytes; every place of a text where one may begin is tried this far

} // namespace

std::optional<int64_t> PipelineParts::idOf(const std::string &token) const {
  for (const AddedToken &one : added)
    if (one.text == token)
      return one.id;
  for (const auto &[text, id] : vocabulary)
    if (text == token)
      return id;
  return std::nullopt;
}

void PipelineParts::pairLike(int separators, int32_t secondType) {
  auto add = [&](const std::vector<int64_t> &ids, int32_t type) {
    for (int64_t id : ids)
      pair.push_back({id, 0, type});
  };
  add(before, 0);
  pair.push_back({-1, 0, 0});
  for (int i = 0; i < separators; ++i)
    add(after, 0);
  pair.push_back({-1, 1, secondType});
  add(after, secondType);
}

Result<std::shared_ptr<const Tokenizer>> Pipeline::create(PipelineParts parts) {
  std::shared_ptr<Pipeline> made(new Pipeline(std::move(parts)));
  TRY(made->vocabulary, Vocabulary::create(made->parts.vocabulary));
  TRY(made->model, made->parts.model(made->vocabulary));
  for (auto part : {&Pipeline::addVocabulary, &Pipeline::addAdded, &Pipeline::addAround})
    TRY_STATUS((made.get()->*part)());
  if (const CharacterSet *joined = made->model->joinedToMark())
    made->parts.cuts.push_back(separateRule(*joined));
  made->parts.vocabulary = {}, made->parts.added = {}, made->parts.model = {};
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

Pipeline::Token &Pipeline::tokenAt(int64_t id) {
  if (static_cast<size_t>(id) >= tokens.size())
    tokens.resize(static_cast<size_t>(id) + 1);
  return tokens[static_cast<size_t>(id)];
}

Status Pipeline::addVocabulary() {
  tokens.resize(vocabulary->size());
  for (size_t id = 0; id < tokens.size(); ++id)
    if (vocabulary->has(id))
      tokens[id] = {textOfToken(parts.spelling, vocabulary->text(id)), true, false};
  for (const auto &[id, text] : parts.texts)
    tokenAt(id).text = {text, text};
  for (int64_t id : parts.silent)
    tokenAt(id) = {{}, true, true};
  return {};
}

Status Pipeline::addAdded() {
  std::unordered_map<std::string, std::string> normalForms; // and whose they are
  for (const AddedToken &token : parts.added) {
    if (token.text.empty() || token.text.size() > longestAdded)
      return Status::badInput("an added token has " + std::to_string(token.text.size()) + " bytes: 1 to " + std::to_string(longestAdded) +
                              " are possible");
    if (token.id < 0 || token.id >= idLimit)
      return Status::badInput("added token " + inQuotes(token.text) + " has the id " + std::to_string(token.id) + ": ids are 0 to " +
                              std::to_string(idLimit - 1));
    int32_t id = static_cast<int32_t>(token.id), known = idOf(token.text).value_or(id);
    if (known != id)
      return Status::badInput("added token " + inQuotes(token.text) + " has the id " + std::to_string(id) + ", and " +
                              std::to_string(known) + " elsewhere");
    Token &entry = tokenAt(id);
    if (entry.exists && !idOf(token.text))
      return Status::badInput("id " + std::to_string(id) + " is that of two tokens, one of them " + inQuotes(token.text));
    addedIds.emplace(token.text, id);
    entry.exists = true, entry.special = token.special;
    bool spaced = parts.spelling.kind == Spelling::Kind::WordPiece || parts.spelling.kind == Spelling::Kind::Spaced;
    entry.text = spaced ? textOfToken(parts.spelling, token.text) : TokenText{token.text, token.text};
    std::string sought = token.text;
    if (token.normalized) {
      TRY(sought, normalized(parts.normalizers, token.text));
    }
    if (sought.size() > longestAdded)
      return Status::badInput("added token " + inQuotes(token.text) + " has " + std::to_string(sought.size()) +
                              " bytes when it is normalized");
    if (token.normalized)
      if (auto [other, fresh] = normalForms.emplace(sought, token.text); !fresh && other->second != token.text)
        return Status::badInput("the added tokens " + inQuotes(other->second) + " and " + inQuotes(token.text) +
                                " are the same when they are normalized: remove one, or set 'normalized' to false");
    if (!sought.empty()) // else no text has it
      (token.normalized ? second : first).add(sought, {id, token.singleWord, token.leftStrip, token.rightStrip});
  }
  return tokens.empty() ? Status::badInput("its vocabulary is empty") : Status();
}

Status Pipeline::addAround() {
  auto exists = [&](int64_t id) { return id >= 0 && static_cast<size_t>(id) < tokens.size() && tokens[static_cast<size_t>(id)].exists; };
  for (auto [from, to] : {std::pair(&parts.before, &before), std::pair(&parts.after, &after)})
    for (int64_t id : *from) {
      if (!exists(id))
        return Status::badInput("its post-processor puts the id " + std::to_string(id) + " to every text, which no token has");
      to->push_back(static_cast<int32_t>(id));
    }
  for (const TextPart &part : parts.pair)
    if (part.id != -1 && !exists(part.id))
      return Status::badInput("its post-processor puts the id " + std::to_string(part.id) + " to every pair of texts, which no token has");
  if (parts.endOfText)
    end = idOf(*parts.endOfText);
  for (const std::string &token : {parts.padding.value_or(""), std::string("[PAD]"), std::string("<pad>")})
    if (!fill && !token.empty())
      fill = idOf(token);
  return {};
}

TextForm Pipeline::form(bool ofPair) const {
  if (ofPair)
    return parts.pair;
  TextForm single;
  auto add = [&](int64_t id) { single.push_back({id, 0, parts.types.empty() ? 0 : parts.types[single.size()]}); };
  for (int32_t id : before)
    add(id);
  add(-1);
  for (int32_t id : after)
    add(id);
  return single;
}

std::optional<int32_t> Pipeline::idOf(const std::string &token) const {
  if (auto found = addedIds.find(token); found != addedIds.end())
    return found->second;
  int32_t id = vocabulary->find(token);
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

bool Pipeline::isSpecial(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < tokens.size() && tokens[static_cast<size_t>(id)].special;
}

std::unique_ptr<TextEncoder> Pipeline::encoder(bool additions) const {
  return std::make_unique<PipelineEncoder>(shared_from_this(), additions);
}

Result<std::string> Pipeline::bytesOf(int32_t id, bool first) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens.size() || !tokens[static_cast<size_t>(id)].exists)
    return Status::badInput(std::to_string(id) + " is no id of the tokenizer, whose vocabulary has " + std::to_string(tokens.size()));
  const TokenText &text = tokens[static_cast<size_t>(id)].text;
  return first ? text.first : text.usual;
}

} // namespace npar::engine
