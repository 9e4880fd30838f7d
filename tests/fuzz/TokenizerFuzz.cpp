// An accepted tokenizer must cut texts into its own ids, the same for whole texts and parts, and give their bytes back.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/text/SentencePiece.h"
#include "engine/text/Tiktoken.h"
#include "engine/text/TokenizerFile.h"

namespace npar::fuzz {

using namespace engine;

namespace {

void use(const Tokenizer &tokenizer) {
  const std::string texts[] = {"", "Hello,  hell <end><|endoftext|> it's 12345\n\n \u00fc\u20ac\U0001f600", std::string("\0\1 \t", 4),
                               std::string(3000, 'l')};
  for (const std::string &text : texts) {
    auto ids = tokenizer.encode(text);
    if (!ids.ok())
      continue; // a byte without a token, a pattern that takes for ever
    for (int32_t id : *ids)
      check(id >= 0 && id < tokenizer.vocabularySize() && tokenizer.bytesOf(id, true).ok());
    check(tokenizer.decode(*ids).ok());
    std::vector<int32_t> parts;
    auto encoder = tokenizer.encoder();
    for (char c : text)
      check(encoder->push(std::string_view(&c, 1), parts).ok());
    check(encoder->finish(parts).ok() && parts == *ids);
  }
}

} // namespace

void fuzzTokenizer(const uint8_t *bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(bytes), size);
  auto open = [&]() -> Result<PipelineParts> {
    if (text.substr(0, 1) != "{")
      return isTiktoken(text) ? partsOfTiktoken(text, {}) : partsOfSentencePiece(text, {});
    TRY(TokenizerJson json, parseTokenizerJson(text, VocabularyPlace::InTheModel));
    return partsOfTokenizerJson(json);
  };
  auto parts = open();
  if (!parts.ok())
    return check(!parts.status().message().empty());
  auto tokenizer = Pipeline::create(std::move(*parts));
  check(tokenizer.ok() || !tokenizer.status().message().empty());
  if (tokenizer.ok())
    use(**tokenizer);
}

} // namespace npar::fuzz
