// A manifest's hash refuses what was changed by chance; sealed with a right one, every field is read. What is accepted stores each element
// once, and comes back from the writer as it was.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/checkpoint/Manifest.h"
#include "engine/files/StreamHash.h"

#include <cstdlib>

namespace npar::fuzz {

using namespace engine;

namespace {

void read(const std::string &text) {
  Result<Manifest> manifest = parseManifest(text, "fuzz");
  if (!manifest.ok()) {
    if (manifest.status().message().empty())
      std::abort();
    return;
  }
  for (const ManifestTensor &tensor : manifest->tensors)
    if (!wrongPieces(tensor).empty())
      std::abort();
  std::string written = manifestText(*manifest);
  Result<Manifest> again = parseManifest(written, "fuzz");
  if (!again.ok() || manifestText(*again) != written)
    std::abort();
}

} // namespace

void fuzzManifest(const uint8_t *bytes, size_t size) {
  std::string text(reinterpret_cast<const char *>(bytes), size);
  read(text);
  if (size_t end = text.rfind("\"xxh3\":\""); end != std::string::npos) {
    text.resize(end);
    read(text + "\"xxh3\":\"" + files::hashText(text.data(), text.size()) + "\"}\n");
  }
}

} // namespace npar::fuzz
