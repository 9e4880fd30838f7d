// Follows AddedVocabulary::add_tokens of the tokenizers package and TokenizersBackend.__init__ of transformers.
#include "engine/text/SpecialTokens.h"

#include "engine/text/Quoted.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

namespace npar::engine {

Status addTokens(const std::vector<Addition> &additions, const std::string &where, PipelineParts &parts) {
  std::unordered_map<std::string_view, int64_t> known;
  for (const Addition &each : additions)
    known.emplace(each.token.text, -1);
  for (const auto &[text, id] : parts.vocabulary)
    if (auto found = known.find(text); found != known.end())
      found->second = id;
  int64_t next = static_cast<int64_t>(parts.vocabulary.size()) + parts.emptyTokens;
  std::unordered_map<std::string, size_t> places;
  for (const AddedToken &token : parts.added) {
    places.emplace(token.text, places.size());
    next = std::max(next, token.id + 1);
  }
  size_t unordered = 0;
  for (const Addition &each : additions) {
    const std::string &text = each.token.text;
    auto [place, fresh] = places.emplace(text, parts.added.size());
    int64_t id = fresh ? known[text] : parts.added[place->second].id;
    if (id < 0) {
      id = next++;
      if (!each.ordered && ++unordered > 1)
        return Status::badInput(where + " names several new special tokens, one of them " + inQuotes(text) +
                                ", whose order decides their ids: list them in 'added_tokens_decoder', or save a tokenizer.json");
    }
    if (each.stated && each.token.id != id)
      return Status::badInput(where + " gives the added token " + inQuotes(text) + " the id " + std::to_string(each.token.id) +
                              ", and the tokenizers package " + std::to_string(id) +
                              ": it numbers tokens that the model lacks in their order, whatever their ids in the file");
    AddedToken token = each.token;
    token.id = id;
    if (fresh)
      parts.added.push_back(std::move(token));
    else if (each.replaces)
      parts.added[place->second] = std::move(token);
  }
  return {};
}

void completeSpecial(const ClassTokens &tokens, TokenizerConfig &config) {
  for (size_t role = 0; role < tokens.size(); ++role)
    if (!config.special[role] && tokens[role]) {
      AddedToken token;
      token.text = tokens[role], token.special = true;
      config.special[role] = std::move(token);
    }
}

Status addSpecialTokens(const TokenizerConfig &config, PipelineParts &parts) {
  std::vector<Addition> additions;
  std::set<std::string> there;
  for (const AddedToken &token : parts.added)
    there.insert(token.text);
  for (const AddedToken &token : config.added) {
    additions.push_back({token, /*stated=*/true, /*replaces=*/config.listsAdded, true});
    there.insert(token.text);
  }
  auto add = [&](const AddedToken &token, bool ordered) {
    if (!token.text.empty() && !there.count(token.text))
      additions.push_back({token, /*stated=*/false, /*replaces=*/true, ordered});
  };
  for (const std::optional<AddedToken> &token : config.special)
    if (token)
      add(*token, true);
  for (const AddedToken &token : config.modelSpecial)
    add(token, false);
  for (const AddedToken &token : config.furtherSpecial)
    add(token, true);
  return addTokens(additions, "tokenizer_config.json, or a file next to it,", parts);
}

} // namespace npar::engine
