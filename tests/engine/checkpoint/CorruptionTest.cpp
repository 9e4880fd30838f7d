// Checkpoints damaged at random: every one is refused, with the file named, and the tensor where a shard is damaged.
// NPAR_LONG tries 10,000, else a sample.
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Reshard.h"
#include "engine/checkpoint/VerifyCheckpoint.h"
#include "engine/files/StreamHash.h"
#include "engine/safetensors/Safetensors.h"
#include "tests/engine/checkpoint/SmallCheckpoint.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <set>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

std::string contentOf(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void put(const fs::path &path, const std::string &content) { std::ofstream(path, std::ios::binary | std::ios::trunc) << content; }

/// The manifest with a right hash over what it says now.
std::string sealed(std::string text) {
  text.resize(text.rfind("\"xxh3\":"));
  return text + "\"xxh3\":\"" + files::hashText(text.data(), text.size()) + "\"}\n";
}

/// A change that damages a checkpoint.
struct Damage {
  std::string what;
  std::string file; ///< which the refusal must name
};

class CorruptionTest : public ::testing::Test {
public:
  void SetUp() override {
    top = fs::temp_directory_path() / ("npar-corruption-" + std::to_string(::getpid()));
    MemoryCheckpoint source;
    Result<std::string> path = writeCut(source, source.threeFiles(), top.string() + "-whole");
    ASSERT_TRUE(path.ok()) << path.status().message();
    whole = *path;
    for (const char *name : {"manifest.json", "model/m.npar", "rank-00000.safetensors", "rank-00001.safetensors", "rank-00002.safetensors"})
      files.push_back({name, contentOf(whole / name)});
    fs::create_directories(top / "model");
    for (const auto &[name, content] : files)
      put(top / name, content);
    ASSERT_TRUE(verifyCheckpoint(top.string()).ok());
  }
  void TearDown() override { fs::remove_all(top), fs::remove_all(top.string() + "-whole"); }
  void restore() {
    for (const auto &[name, content] : files)
      if (touched.count(name))
        put(top / name, content);
    touched.clear();
  }
  void change(const std::string &name, const std::string &content) {
    touched.insert(name);
    put(top / name, content);
  }
  size_t below(size_t n) { return static_cast<size_t>(chance() % n); }

  Damage flip() {
    auto [name, content] = files[below(files.size())];
    size_t at = below(content.size());
    content[at] = static_cast<char>(content[at] ^ (1 << below(8)));
    change(name, content);
    return {"a bit of byte " + std::to_string(at), name};
  }
  Damage overwrite() {
    auto [name, content] = files[below(files.size())];
    size_t at = below(content.size()), size = 1 + below(std::min<size_t>(64, content.size() - at));
    std::string before = content.substr(at, size);
    for (size_t i = at; i < at + size; ++i)
      content[i] = static_cast<char>(chance());
    if (content.substr(at, size) == before)
      content[at] = static_cast<char>(content[at] + 1);
    change(name, content);
    return {std::to_string(size) + " bytes from " + std::to_string(at), name};
  }
  Damage truncate() {
    auto [name, content] = files[below(files.size())];
    content.resize(below(content.size()));
    change(name, content);
    return {"cut to " + std::to_string(content.size()) + " bytes", name};
  }
  Damage lengthen() {
    auto [name, content] = files[below(files.size())];
    change(name, content + std::string(1 + below(100), below(2) ? '\0' : ' '));
    return {"longer", name};
  }
  Damage swapShards() {
    size_t a = 2 + below(3), b = 2 + (a - 2 + 1 + below(2)) % 3;
    change(files[a].first, files[b].second), change(files[b].first, files[a].second);
    return {"swapped with " + files[b].first, "rank-0000"};
  }
  Damage removeFile() {
    const std::string &name = files[below(files.size())].first;
    touched.insert(name);
    fs::remove(top / name);
    return {"removed", name};
  }
  Damage moveBytes() { // within the data of a shard: right size, right header
    auto [name, content] = files[2 + below(3)];
    size_t begin = content.find("}  "), size = 4 * (1 + below(8));
    begin = begin == std::string::npos ? content.size() / 2 : content.find_first_not_of(' ', begin + 1);
    size_t from = begin + below(content.size() - begin - size), to = begin + below(content.size() - begin - size);
    std::string part = content.substr(from, size);
    if (part == content.substr(to, size))
      return truncate();
    change(name, content.replace(to, size, part));
    return {"bytes moved within", name};
  }
  /// A number of the manifest changed: as it is, or with a right hash where the checkpoint itself contradicts it.
  Damage editManifest() {
    std::string text = files[0].second;
    bool withHash = below(2);
    static const std::vector<std::string> fields = {
        "\"begin\":", "\"end\":", "\"file\":", "\"bytes\":", "\"start\":[", "\"shape\":[", "\"xxh3\":\""};
    const std::string &field = fields[below(fields.size())];
    std::vector<size_t> places;
    for (size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + 1))
      if (size_t value = at + field.size(); std::isxdigit(static_cast<unsigned char>(text[value])) && value + 40 < text.size())
        places.push_back(value);
    if (places.empty())
      return flip();
    size_t at = places[below(places.size())];
    char digit = text[at] == '9' ? '1' : static_cast<char>(text[at] + 1);
    text[at] = std::isdigit(static_cast<unsigned char>(text[at])) ? digit : '0';
    change(files[0].first, withHash ? sealed(text) : text);
    return {"edited at byte " + std::to_string(at) + (withHash ? " with a right hash" : ""), withHash ? "" : files[0].first};
  }

  fs::path top, whole;
  std::vector<std::pair<std::string, std::string>> files;
  std::set<std::string> touched; ///< since all was whole
  std::mt19937_64 chance{1};
};

using Form = Damage (CorruptionTest::*)();
const Form forms[] = {&CorruptionTest::flip,       &CorruptionTest::overwrite,  &CorruptionTest::truncate,  &CorruptionTest::lengthen,
                      &CorruptionTest::swapShards, &CorruptionTest::removeFile, &CorruptionTest::moveBytes, &CorruptionTest::editManifest};

int trialsOf(int sample, int many) {
  const char *isLong = std::getenv("NPAR_LONG");
  return isLong && *isLong ? many : sample;
}

TEST_F(CorruptionTest, everyDamageIsRefusedWithFileAndTensor) {
  const int trials = trialsOf(320, 10'000);
  int refused = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Damage damage = (this->*forms[static_cast<size_t>(trial) % std::size(forms)])();
    Result<CheckpointVerified> verified = verifyCheckpoint(top.string());
    std::string which = "trial " + std::to_string(trial) + ": " + damage.file + " " + damage.what;
    EXPECT_FALSE(verified.ok()) << which;
    const std::string &message = verified.status().message();
    bool gone = damage.file == "manifest.json" && damage.what == "removed"; // then it is no checkpoint any more
    EXPECT_NE(message.find(gone ? top.filename().string() : damage.file), std::string::npos) << which << ": " << message;
    EXPECT_TRUE(damage.file.rfind("rank-", 0) != 0 || message.find("tensor '") != std::string::npos) << which << ": " << message;
    EXPECT_EQ(verified.status().code(), Code::BadInput) << which;
    refused += !verified.ok();
    restore();
  }
  RecordProperty("refused", refused);
  std::printf("%d of %d damaged checkpoints refused\n", refused, trials);
  EXPECT_TRUE(verifyCheckpoint(top.string()).ok()) << "the whole one is still accepted";
}

/// A training steps back to the whole one before it, at once or when its hashes are compared; damage to a text touches no tensor.
TEST_F(CorruptionTest, aDamagedNewestOneIsLeftOut) {
  const fs::path folder = whole.parent_path();
  fs::create_directory_symlink(top, folder / "step-200");
  std::string &manifest = files[0].second;
  const size_t step = manifest.find("\"step\":") + 7;
  manifest = sealed(manifest.replace(step, manifest.find(',', step) - step, "200"));
  put(top / "manifest.json", manifest);
  const int trials = trialsOf(160, 4000);
  int skipped = 0, byHash = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Damage damage = (this->*forms[static_cast<size_t>(trial) % std::size(forms)])();
    std::string which = "trial " + std::to_string(trial) + ": " + damage.file + " " + damage.what;
    Result<NewestCheckpoint> found = newestWhole(folder.string());
    ASSERT_TRUE(found.ok()) << which << ": " << found.status().message();
    if (!found->skipped.empty()) {
      EXPECT_EQ(found->store->folder(), whole.string()) << which;
      EXPECT_EQ(found->skipped.front().path, (folder / "step-200").string()) << which;
      EXPECT_FALSE(found->skipped.front().why.empty()) << which;
      ++skipped;
    } else if (damage.file.rfind("model/", 0) != 0) {
      EXPECT_FALSE(found->store->verify().ok()) << which;
      Result<NewestCheckpoint> older = newestWhole(folder.string(), 200);
      ASSERT_TRUE(older.ok()) << which;
      EXPECT_EQ(older->store->folder(), whole.string()) << which;
      ++byHash;
    }
    restore();
  }
  EXPECT_GT(skipped, trials / 4);
  EXPECT_GT(byHash, trials / 20);
  fs::remove(whole / "manifest.json"), fs::remove(top / "manifest.json");
  EXPECT_FALSE(newestWhole(folder.string()).ok()) << "none is whole";
  touched.insert("manifest.json");
  restore();
}

TEST_F(CorruptionTest, whatIsNoPartOfItIsTold) {
  put(top / "notes.txt", "mine");
  Result<CheckpointVerified> verified = verifyCheckpoint(top.string());
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(verified->other, std::vector<std::string>{"notes.txt"});
  EXPECT_EQ(verified->tensors, 7u);
  EXPECT_EQ(verified->pieces, 8u);
  EXPECT_EQ(verified->bytes, 160u * 2 + 192 * 2 + 8 + 30);
}

} // namespace
} // namespace npar::testing
