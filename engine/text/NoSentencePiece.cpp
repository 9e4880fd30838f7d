// Stands for SentencePiece.cpp where the library was not there at configure time.
#include "engine/text/SentencePiece.h"

#include "engine/text/ReadFile.h"

namespace npar::engine {

Result<std::shared_ptr<const Tokenizer>> openSentencePiece(const std::string &path, const std::vector<AddedToken> &) {
  return tokenizerFailure(path, "this npar was built without libsentencepiece; install libsentencepiece-dev and build again");
}

} // namespace npar::engine
