// Turns a model into the parts of a pipeline.
#include "engine/text/SentencePiece.h"

#include "engine/text/Quoted.h"
#include "engine/text/SentencePieceNormalizer.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <map>

namespace npar::engine {
namespace {

using Model = SentencePieceModel;
using Role = TokenizerConfig::Role;

/// The ids that a piece has in the transformers package.
using Renumber = int32_t (*)(int32_t);

int32_t sameId(int32_t id) { return id; }
/// fairseq's: <s>, <pad>, </s>, <unk> before the pieces, which SentencePiece begins with <unk>, <s>, </s>.
int32_t fairseqId(int32_t id) { return id == 0 ? 3 : id == 1 ? 0 : id == 2 ? 2 : id + 1; }

struct Family {
  Renumber idOf = sameId;
  std::string before, after; ///< tokens around every text, if the model has them
};

Result<Family> familyOf(const TokenizerConfig &config, const Model &model) {
  if (config.type == "T5Tokenizer" || config.type == "MT5Tokenizer")
    return Family{sameId, "", config.text(Role::End, model.end)};
  auto unlike = [&](const std::string &what) {
    return Status::badInput(inQuotes(config.type) + " " + what + ", which npar does not do: save a tokenizer.json");
  };
  if (config.type == "AlbertTokenizer" && (config.lowercase || !config.keepsAccents))
    return unlike("makes letters small or removes accents ('do_lower_case', 'keep_accents')");
  if (config.type == "AlbertTokenizer")
    return Family{sameId, config.text(Role::Classify, "[CLS]"), config.text(Role::Separator, "[SEP]")};
  if (config.type == "XLMRobertaTokenizer")
    return Family{fairseqId, "<s>", "</s>"};
  constexpr const char *plain[] = {"", "LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "PreTrainedTokenizer"};
  if (std::find(std::begin(plain), std::end(plain), config.type) == std::end(plain))
    return Status::badInput(
        "the tokenizer_class of tokenizer_config.json is " + inQuotes(config.type) +
        ": from a SentencePiece model, npar reads 'LlamaTokenizer', 'CodeLlamaTokenizer', 'GemmaTokenizer', 'T5Tokenizer', "
        "'MT5Tokenizer', 'AlbertTokenizer' and 'XLMRobertaTokenizer'");
  if (config.type == "LlamaTokenizer" && config.prefixSpaceOff)
    return unlike("puts no space before a text ('add_prefix_space')");
  if (config.exists && !config.addBegin)
    return Status::badInput("tokenizer_config.json lacks 'add_bos_token': transformers 4 puts the token before every text then, and "
                            "transformers 5 does not; set it to true or false");
  return Family{sameId, config.addBegin.value_or(false) ? model.begin : "", config.addEnd ? model.end : ""};
}

/// Merges are those of pieces whose halves are pieces: every character must be one for that.
Status checkCharacters(const Model &model, const Vocabulary &vocabulary) {
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Model::Piece &piece = model.pieces[i];
    if (piece.type != Model::Type::Normal)
      continue;
    for (size_t at = 0; at < piece.text.size();) {
      size_t from = at;
      characterAt(piece.text, at);
      std::string_view character = std::string_view(piece.text).substr(from, at - from);
      if (vocabulary.find(character) < 0)
        return Status::badInput("piece " + std::to_string(i) + ", " + inQuotes(piece.text) + ", has the character " + inQuotes(character) +
                                ", which is no piece");
    }
  }
  return {};
}

Result<ModelPointer> bytePairs(const Model &model, VocabularyPointer vocabulary, Renumber idOf) {
  TRY_STATUS(checkCharacters(model, *vocabulary));
  BpeSettings settings;
  settings.alphabet = Alphabet::Characters;
  settings.byteFallback = model.byteFallback;
  settings.fuseUnknown = true;
  // Equal scores are merged from the left.
  std::map<float, int32_t, std::greater<>> ranks;
  for (const Model::Piece &piece : model.pieces)
    if (piece.type == Model::Type::Normal)
      ranks.emplace(piece.score, 0);
  int32_t rank = 0;
  for (auto &each : ranks)
    each.second = rank++;
  std::vector<std::pair<int32_t, int32_t>> results;
  std::vector<bool> frozen(vocabulary->size(), true);
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Model::Piece &piece = model.pieces[i];
    int32_t id = idOf(static_cast<int32_t>(i));
    if (piece.type == Model::Type::Unused)
      return Status::badInput("piece " + std::to_string(i) + ", " + inQuotes(piece.text) +
                              ", is unused, which npar does not know in a model "
                              "of byte pairs");
    if (piece.type == Model::Type::Normal) {
      results.emplace_back(id, ranks[piece.score]);
      frozen[static_cast<size_t>(id)] = false;
    } else if (piece.type == Model::Type::UserDefined) {
      settings.whole.push_back(id);
    } else if (piece.type == Model::Type::Unknown) {
      settings.unknown = piece.text;
    }
  }
  TRY(settings.merges, mergesInto(*vocabulary, results));
  auto isFrozen = [&](const PairMerge &merge) {
    return frozen[static_cast<size_t>(merge.left)] || frozen[static_cast<size_t>(merge.right)];
  };
  settings.merges.erase(std::remove_if(settings.merges.begin(), settings.merges.end(), isFrozen), settings.merges.end());
  return bpeModel(std::move(vocabulary), std::move(settings));
}

Result<ModelPointer> unigram(const Model &model, VocabularyPointer vocabulary, Renumber idOf) {
  UnigramSettings settings;
  settings.sums = UnigramSettings::Sums::SentencePiece;
  settings.byteFallback = model.byteFallback;
  settings.scores.resize(vocabulary->size());
  std::vector<bool> found(vocabulary->size());
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Model::Piece &piece = model.pieces[i];
    int32_t id = idOf(static_cast<int32_t>(i));
    settings.scores[static_cast<size_t>(id)] = static_cast<double>(piece.score);
    found[static_cast<size_t>(id)] = piece.type == Model::Type::Normal || piece.type == Model::Type::UserDefined;
    if (piece.type == Model::Type::UserDefined)
      settings.whole.push_back(id);
    if (piece.type == Model::Type::Unknown)
      settings.unknown = id;
  }
  for (size_t id = 0; id < found.size(); ++id)
    if (!found[id])
      settings.unused.push_back(static_cast<int32_t>(id));
  return unigramModel(std::move(vocabulary), std::move(settings));
}

Status addPieces(const Model &model, Renumber idOf, PipelineParts &parts, TokenTrie &whole) {
  size_t unknown = 0;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Model::Piece &piece = model.pieces[i];
    int32_t id = idOf(static_cast<int32_t>(i));
    parts.vocabulary.emplace_back(piece.text, id);
    if (piece.type == Model::Type::Control)
      parts.silent.push_back(id);
    if (piece.type == Model::Type::Unknown) {
      ++unknown;
      parts.texts.emplace_back(id, model.unknownText);
    }
    if (piece.type == Model::Type::UserDefined)
      whole.add(piece.text, {id, false, false, false});
    size_t end = 0;
    characterAt(piece.text, end);
    if (end == piece.text.size() && (piece.type == Model::Type::Control || piece.type == Model::Type::Unknown))
      return Status::badInput("piece " + std::to_string(i) + ", " + inQuotes(piece.text) + ", is a character, and no text");
  }
  return unknown == 1 ? Status() : Status::badInput("it has " + std::to_string(unknown) + " unknown pieces instead of one");
}

/// Tokens that are not the model's own.
Status addTokens(const TokenizerConfig &config, const Family &family, const Model &model, PipelineParts &parts) {
  bool fairseq = family.idOf == fairseqId;
  if (fairseq) { // the model lacks them
    AddedToken padding{"<pad>", 1, /*special=*/true, false, false, false, false};
    AddedToken mask{"<mask>", static_cast<int64_t>(model.pieces.size()) + 1, true, false, false, /*leftStrip=*/true, false};
    parts.added = {padding, mask};
  }
  if (config.type == "T5Tokenizer") // <extra_id_0> is the last one
    for (int64_t i = 0, size = static_cast<int64_t>(model.pieces.size()); i < config.extraIds; ++i)
      if (std::string name = "<extra_id_" + std::to_string(i) + ">"; !parts.idOf(name))
        parts.added.push_back({name, size + config.extraIds - 1 - i, /*special=*/true, false, false, false, false});
  for (const AddedToken &token : config.added) {
    std::optional<int64_t> known = parts.idOf(token.text);
    for (const AddedToken &own : parts.added)
      if (!known && own.text == token.text)
        known = own.id;
    if (known && *known != token.id)
      return Status::badInput("tokenizer_config.json gives the id " + std::to_string(token.id) + " to " + inQuotes(token.text) +
                              ", which the model does not");
    if (!known)
      parts.added.push_back(token);
  }
  return {};
}

} // namespace

Result<PipelineParts> partsOfSentencePiece(std::string_view bytes, const TokenizerConfig &config) {
  TRY(Model model, readSentencePieceModel(bytes));
  if (model.kind != Model::Kind::Unigram && model.kind != Model::Kind::BytePairs)
    return Status::badInput(std::string("it is a model of ") + (model.kind == Model::Kind::Words ? "words" : "characters") +
                            ": npar knows unigram models and those of byte pairs");
  TRY(Family family, familyOf(config, model));
  PipelineParts parts;
  TokenTrie whole;
  parts.kind = "SentencePiece";
  TRY_STATUS(addPieces(model, family.idOf, parts, whole));
  TRY_STATUS(addTokens(config, family, model, parts));
  TRY(auto map, CharsMap::read(model.charsMap));
  parts.normalizers = {sentencePieceNormalizer(model, map, std::move(whole))};
  parts.spelling.kind = Spelling::Kind::Marked, parts.spelling.mark = spaceMark, parts.spelling.byteNames = true;
  parts.spelling.dropsFirstSpace = model.spaceBefore || model.dropsExtraSpaces;
  for (auto [name, around] : {std::pair(&family.before, &parts.before), std::pair(&family.after, &parts.after)})
    if (std::optional<int64_t> id = name->empty() ? std::nullopt : parts.idOf(*name))
      around->push_back(*id);
  parts.endOfText = model.end;
  parts.model = [model = std::move(model), idOf = family.idOf](VocabularyPointer vocabulary) {
    return model.kind == Model::Kind::Unigram ? unigram(model, std::move(vocabulary), idOf) : bytePairs(model, std::move(vocabulary), idOf);
  };
  return parts;
}

} // namespace npar::engine
