// The messages of an editor, as they come over a stream.
#pragma once

#include <llvm/Support/LSP/Transport.h>

namespace npar::driver {

/// The method of a request that stands for a message that is none. Its parameters are `code`, of the protocol, and `message`.
inline constexpr llvm::StringLiteral invalidMessage = "npar/invalid";

/// Hands on valid messages only. LLVM's transport would end the server at the first message that is no JSON-RPC, overflow its stack when
/// JSON nests deeply, and leave an editor without an answer. Such a message becomes a request to `invalidMessage`, which is answered with
/// an error.
class MessageInput final : public llvm::lsp::JSONTransportInput {
public:
  MessageInput(std::FILE *in, llvm::lsp::JSONStreamStyle style) : JSONTransportInput(style), in(in), delimited(in, style) {}
  bool hasError() const override { return std::ferror(in) != 0; }
  bool isEndOfInput() const override { return std::feof(in) != 0; }
  llvm::LogicalResult readDelimitedMessage(std::string &text) override;
  llvm::LogicalResult readStandardMessage(std::string &text) override;

private:
  std::FILE *in;
  llvm::lsp::JSONTransportInputOverFile delimited;
};

} // namespace npar::driver
