// An accepted tokenizer must cut texts into its own ids, the same for whole texts and parts, and give their bytes back.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "engine/text/SentencePiece.h"
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
  if (size == 0 || bytes[0] != '{') {
    MemoryFile memory(bytes, size);
    auto tokenizer = openSentencePiece(memory.path());
    check(tokenizer.ok() || !tokenizer.status().message().empty());
    return tokenizer.ok() ? use(**tokenizer) : void();
  }
  auto json = parseTokenizerJson({reinterpret_cast<const char *>(bytes), size}, Vocabulary::InTheModel);
  if (!json.ok())
    return check(!json.status().message().empty());
  auto parts = partsOfTokenizerJson(*json);
  if (!parts.ok())
    return check(!parts.status().message().empty());
  auto tokenizer = BpeTokenizer::create(std::move(*parts));
  check(tokenizer.ok() || !tokenizer.status().message().empty());
  if (tokenizer.ok())
    use(**tokenizer);
}

} // namespace npar::fuzz
