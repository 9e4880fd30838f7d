// Runs files through a target, each unchanged and damaged several times: for continuous integration, with any compiler.
//   npar_fuzz_replay TARGET DAMAGED FILE...      DAMAGED: how many damaged forms of each file, the same every time
#include "tests/fuzz/FuzzTargets.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

const std::map<std::string, npar::fuzz::Target> targets = {
    // clang-format off
    {"Config", npar::fuzz::fuzzConfig},
    {"Foreign", npar::fuzz::fuzzForeign},
    {"Frames", npar::fuzz::fuzzFrames},
    {"Handshake", npar::fuzz::fuzzHandshake},
    {"Index", npar::fuzz::fuzzIndex},
    {"Machine", npar::fuzz::fuzzMachine},
    {"Manifest", npar::fuzz::fuzzManifest},
    {"ModelText", npar::fuzz::fuzzModelText},
    {"Picture", npar::fuzz::fuzzPicture},
    {"Program", npar::fuzz::fuzzProgram},
    {"Safetensors", npar::fuzz::fuzzSafetensors},
    {"Schedule", npar::fuzz::fuzzSchedule},
    {"Tokenizer", npar::fuzz::fuzzTokenizer},
    {"Wire", npar::fuzz::fuzzWire},
    // clang-format on
};

/// Flips bits, overwrites, cuts, repeats and moves parts: one to four of these.
std::vector<uint8_t> damaged(std::vector<uint8_t> bytes, std::mt19937_64 &chance) {
  auto below = [&](size_t n) { return n ? chance() % n : 0; };
  for (size_t i = 1 + below(4); i > 0 && !bytes.empty(); --i) {
    size_t at = below(bytes.size()), length = 1 + below(std::min<size_t>(64, bytes.size() - at));
    auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at), end = begin + static_cast<std::ptrdiff_t>(length);
    switch (below(6)) {
    case 0:
      *begin ^= static_cast<uint8_t>(1u << below(8));
      break;
    case 1:
      *begin = static_cast<uint8_t>(chance());
      break;
    case 2:
      std::fill(begin, end, static_cast<uint8_t>(below(2) ? 0 : 0xFF));
      break;
    case 3:
      bytes.erase(begin, end);
      break;
    case 4: {
      std::vector<uint8_t> part(begin, end);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())), part.begin(), part.end());
      break;
    }
    default:
      bytes.resize(at);
    }
  }
  return bytes;
}

/// Runs one input, which is first written to `kept`, so that a crash leaves it there.
void tryOne(npar::fuzz::Target target, const std::vector<uint8_t> &bytes, const std::string &kept) {
  std::ofstream(kept, std::ios::binary).write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  target(bytes.data(), bytes.size());
}

} // namespace

int main(int count, char **words) {
  if (count < 4 || !targets.count(words[1])) {
    std::fprintf(stderr, "npar_fuzz_replay TARGET DAMAGED FILE...\n");
    return 2;
  }
  npar::fuzz::Target target = targets.at(words[1]);
  const int forms = std::atoi(words[2]);
  const std::string kept = "crash-" + std::string(words[1]);
  size_t tried = 0;
  for (int i = 3; i < count; ++i) {
    std::ifstream in(words[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read '%s'\n", words[i]);
      return 1;
    }
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::mt19937_64 chance(static_cast<uint64_t>(i));
    tryOne(target, bytes, kept);
    for (int form = 0; form < forms; ++form)
      tryOne(target, damaged(bytes, chance), kept);
    tried += 1 + static_cast<size_t>(forms);
  }
  ::unlink(kept.c_str());
  std::printf("%s: %zu inputs from %d files\n", words[1], tried, count - 3);
  return 0;
}
