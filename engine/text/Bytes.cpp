// Also what is not UTF-8 has ids here: as `npar train --tokens bytes` reads it.
#include "engine/text/Bytes.h"

namespace npar::engine {
namespace {

class BytesEncoder : public TextEncoder {
  Status push(std::string_view part, std::vector<int32_t> &ids) override {
    for (char c : part)
      ids.push_back(static_cast<uint8_t>(c));
    return {};
  }
  Status finish(std::vector<int32_t> &) override { return {}; }
};

class Bytes : public Tokenizer {
  std::string kind() const override { return "bytes"; }
  int64_t vocabularySize() const override { return 256; }
  std::optional<int32_t> idOf(const std::string &token) const override {
    return token.size() == 1 ? std::optional<int32_t>(static_cast<uint8_t>(token[0])) : std::nullopt;
  }
  bool isSpecial(int32_t) const override { return false; }
  std::optional<int32_t> endOfText() const override { return std::nullopt; }
  std::unique_ptr<TextEncoder> encoder(bool) const override { return std::make_unique<BytesEncoder>(); }
  Result<std::string> bytesOf(int32_t id, bool) const override {
    if (id < 0 || id > 255)
      return Status::badInput(std::to_string(id) + " is no byte");
    return std::string(1, static_cast<char>(id));
  }
};

} // namespace

std::shared_ptr<const Tokenizer> byteTokenizer() { return std::make_shared<Bytes>(); }

} // namespace npar::engine
