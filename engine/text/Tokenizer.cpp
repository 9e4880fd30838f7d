// The shared part of all tokenizers.
#include "engine/text/Tokenizer.h"

namespace npar::engine {

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool additions) const {
  std::vector<int32_t> ids;
  std::unique_ptr<TextEncoder> part = encoder(additions);
  if (Status status = part->push(text, ids); !status.ok())
    return status;
  if (Status status = part->finish(ids); !status.ok())
    return status;
  return ids;
}

Result<std::string> Tokenizer::decode(const std::vector<int32_t> &ids, bool skipSpecial) const {
  TextDecoder decoder(*this, skipSpecial);
  std::string text;
  for (int32_t id : ids) {
    Result<std::string> part = decoder.push(id);
    if (!part.ok())
      return part.status();
    text += *part;
  }
  return text + decoder.finish();
}

Result<std::string> TextDecoder::push(int32_t id) {
  Result<std::string> bytes = tokenizer.bytesOf(id, first);
  if (!bytes.ok())
    return bytes.status();
  bool special = tokenizer.isSpecial(id);
  if (special && skipSpecial)
    return std::string();
  first &= special && bytes->empty();
  waiting += *bytes;
  size_t whole = wholeCharacters(waiting);
  std::string text = waiting.substr(0, whole);
  waiting.erase(0, whole);
  return text;
}

std::string TextDecoder::finish() {
  first = true;
  return std::exchange(waiting, {});
}

} // namespace npar::engine
