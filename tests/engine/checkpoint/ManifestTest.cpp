// The manifest of a checkpoint: what is written is read, and nothing else is.
#include "engine/checkpoint/Manifest.h"
#include "engine/checkpoint/PieceGrid.h"
#include "engine/files/StreamHash.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

ManifestPiece piece(std::vector<int64_t> start, std::vector<int64_t> shape, uint64_t begin, uint64_t end, uint32_t file = 0) {
  return {file, "w", std::move(start), std::move(shape), begin, end, files::hashText("piece", 5)};
}

/// A matrix in two column rectangles, the first of them in two shares, and a scalar.
Manifest small() {
  Manifest manifest;
  manifest.model = "Gpt2", manifest.plan = "three_d", manifest.train = "base", manifest.compute = "bf16";
  manifest.modelHash = files::hashText("model", 5), manifest.planHash = files::hashText("plan", 4);
  manifest.mesh = {{"dp", 2}, {"tp", 2}};
  manifest.step = 100, manifest.seed = UINT64_MAX, manifest.rateSteps = 98, manifest.rate = 3e-4, manifest.lossScale = 65536;
  manifest.data = {{"tokens bytes", "shuffled", 1600, 3, 512, 16}};
  manifest.call = {
      "gpt2.npar", "", "base", "", {"depth=4"}, {"mesh.tp=2"}, {"bucket=8MiB"}, {{"model/gpt2.npar", 10, files::hashText("text", 4)}}};
  manifest.files = {{"rank-00000.safetensors", 100, ""}, {"rank-00001.safetensors", 80, ""}};
  manifest.tensors.push_back({"w", "parameter", "", "", "F32", {4, 6}, {24}, {}});
  manifest.tensors.back().pieces = {piece({0, 0}, {4, 3}, 0, 5), piece({0, 0}, {4, 3}, 5, 12, 1), piece({0, 3}, {4, 3}, 0, 12, 1)};
  manifest.tensors.push_back({"#loss_scale", "state", "", "loss_scale", "F64", {}, {}, {piece({}, {}, 0, 1)}});
  return manifest;
}

std::string refusal(const std::string &text) {
  Result<Manifest> read = parseManifest(text, "run/step-100");
  EXPECT_FALSE(read.ok()) << text;
  EXPECT_EQ(read.status().code(), Code::BadInput);
  return read.status().message();
}

/// Changes a text in the manifest and seals it again with the right hash, as a forger would.
std::string forged(const std::string &from, const std::string &to) {
  std::string text = manifestText(small());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  text.resize(text.rfind("\"xxh3\""));
  return text + "\"xxh3\":\"" + files::hashText(text.data(), text.size()) + "\"}\n";
}

TEST(Manifest, WhatIsWrittenIsRead) {
  std::string text = manifestText(small());
  Result<Manifest> read = parseManifest(text, "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(manifestText(*read), text);
  EXPECT_EQ(read->seed, UINT64_MAX);
  EXPECT_EQ(read->world(), 4u);
  EXPECT_EQ(read->find("w")->pieces[2].start, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(read->lossScale, 65536);
}

// Data without names of classes leave the manifest as earlier versions wrote it.
TEST(Manifest, KeepsTheNamesOfClasses) {
  Manifest manifest = small();
  EXPECT_EQ(manifestText(manifest).find("classes"), std::string::npos);
  manifest.data[0].classes = {"ants", "b\"ees, \u00e9"};
  Result<Manifest> read = parseManifest(manifestText(manifest), "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->data[0].classes, manifest.data[0].classes);
  read = parseManifest(forged("\"batch\":16", R"("batch":16,"classes":["a\n\u001b[2Jb"])"), "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->data[0].classes, std::vector<std::string>{R"(a\u000a\u001b[2Jb)"});
  EXPECT_NE(refusal(forged("\"batch\":16", "\"batch\":16,\"classes\":[1]")).find("a class is not a string"), std::string::npos);
  EXPECT_NE(refusal(forged("\"batch\":16", "\"batch\":16,\"classes\":7")).find("'classes' is not a list"), std::string::npos);
}

TEST(Manifest, NoBitCanChange) {
  std::string text = manifestText(small());
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(parseManifest(damaged, "here").ok()) << "bit " << bit;
  }
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parseManifest(text.substr(0, size), "here").ok()) << "cut to " << size;
}

TEST(Manifest, AnEditIsToldFromANewerFormat) {
  std::string text = manifestText(small());
  std::string edited = text;
  edited.replace(edited.find("\"step\":100"), 10, "\"step\":101");
  EXPECT_EQ(refusal(edited),
            "checkpoint 'run/step-100': its manifest.json is wrong: its hash does not match its text: it was damaged or edited");
  std::string newer = text;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  newer.replace(newer.find("npar 0.1 and later"), 18, "npar 0.7 and later");
  EXPECT_EQ(refusal(newer), "checkpoint 'run/step-100' has format 2, which 'npar 0.7 and later' reads; this npar reads format 1");
}

TEST(Manifest, WhatAForgerSealsIsCheckedToo) {
  ASSERT_TRUE(parseManifest(forged("three_d", "forty_2"), "here").ok()) << "a good change is accepted, or the others show nothing";
  const std::vector<std::array<std::string, 3>> forgeries = {
      {"rank-00000.safetensors", "../../etc/passwd.sfts", "must stay in the folder"},
      {"model/gpt2.npar", "model/../x.npa", "must stay in the folder"},
      {"rank-00001.safetensors", "rank-00000.safetensors", "occurs twice"},
      {"\"file\":1", "\"file\":7", "file number 7 of 2"},
      {"[4,6]", "[4,7]", "another number of elements"},
      {"[4,6],\"stored\":[24]", "[4294967296,4294967296],\"stored\":[0]", "impossible shape"},
      {"[4,6],\"stored\":[24]", "[9223372036854775807,0],\"stored\":[0]", "impossible shape"},
      {"[4,6],\"stored\":[24]", "[0,9223372036854775807,9223372036854775807],\"stored\":[0]", "impossible shape"},
      {"\"begin\":5", "\"begin\":4", "do not follow"},
      {"\"begin\":5", "\"begin\":6", "do not follow"},
      {"\"begin\":5,\"end\":12", "\"begin\":5,\"end\":13", "do not follow"},
      {"\"begin\":5,\"end\":12", "\"begin\":5,\"end\":11", "leaves a gap"},
      {"\"start\":[0,3]", "\"start\":[0,4]", "not inside"},
      {"\"start\":[0,3],\"shape\":[4,3]", "\"start\":[0,4],\"shape\":[4,2]", "leaves a gap"},
      {"\"start\":[0,3],\"shape\":[4,3],\"begin\":0,\"end\":12", "\"start\":[0,3],\"shape\":[3,3],\"begin\":0,\"end\":9", "leaves a gap"},
      {"\"type\":\"F32\"", "\"type\":\"F31\"", "unknown type 'F31'"},
      {"\"name\":\"#loss_scale\"", "\"name\":\"w\"", "occurs twice"},
      {"\"step\":100", "\"step\":-1", "is not a number"},
      {"\"step\":100", "\"step\":18446744073709551615", "beyond 2^53"},
      {"\"step\":100", "\"step\":1e2", "is not a number"},
      {"\"step\":100", "\"stop\":100", "lacks 'step'"},
      {"\"step\":100", "\"step\":100,\"step\":100", "occurs twice"},
      {"\"mesh\":[", "\"mesh\":[[[[[[[[[[[[[[[[[[[[", "nests deeper than 16"},
      {"\"size\":2", "\"size\":0", "impossible size"},
      {"\"text\":\"gpt2.npar\"", "\"text\":\"gpt3.npar\"", "not among its texts"},
      {"\"xxh3\":\"" + files::hashText("piece", 5), "\"xxh3\":\"" + std::string(32, 'z'), "not a hash"},
      {"npar checkpoint", "npar checkpoinz", "must be 'npar checkpoint'"},
  };
  for (const auto &[from, to, why] : forgeries)
    EXPECT_NE(refusal(forged(from, to)).find(why), std::string::npos) << from << " -> " << to << ": " << refusal(forged(from, to));
}

/// Cuts a tensor into a random grid of rectangles and these into random ranges. Every element must be found in its piece.
TEST(Manifest, EveryElementIsFoundInItsPiece) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  for (int trial = 0; trial < 200; ++trial) {
    ManifestTensor tensor{"w", "parameter", "", "", "F32", {}, {}, {}};
    std::vector<std::vector<int64_t>> cuts;
    for (int64_t d = below(4); d > 0; --d) {
      tensor.shape.push_back(1 + below(6));
      cuts.push_back({0});
      for (int64_t place = 1; place < tensor.shape.back(); ++place)
        if (below(3) == 0)
          cuts.back().push_back(place);
    }
    std::vector<uint64_t> expected(tensor.elements(), UINT64_MAX); // piece and place, by element
    std::vector<size_t> cell(cuts.size(), 0);
    while (true) {
      std::vector<int64_t> start, shape;
      for (size_t d = 0; d < cuts.size(); ++d) {
        start.push_back(cuts[d][cell[d]]);
        shape.push_back((cell[d] + 1 < cuts[d].size() ? cuts[d][cell[d] + 1] : tensor.shape[d]) - start.back());
      }
      uint64_t volume = piece(start, shape, 0, 0).volume();
      for (uint64_t begin = 0; begin < volume;) {
        uint64_t end = begin + 1 + static_cast<uint64_t>(below(static_cast<int64_t>(volume - begin)));
        for (uint64_t place = begin; place < end; ++place) {
          uint64_t rest = place, element = 0, stride = 1;
          for (size_t d = shape.size(); d-- > 0;) {
            element += (static_cast<uint64_t>(start[d]) + rest % static_cast<uint64_t>(shape[d])) * stride;
            rest /= static_cast<uint64_t>(shape[d]), stride *= static_cast<uint64_t>(tensor.shape[d]);
          }
          expected[element] = tensor.pieces.size() * 1000 + (place - begin);
        }
        tensor.pieces.push_back(piece(start, shape, begin, end));
        begin = end;
      }
      size_t d = cuts.size();
      while (d > 0 && ++cell[d - 1] == cuts[d - 1].size())
        cell[--d] = 0;
      if (d == 0)
        break;
    }
    ASSERT_EQ(wrongPieces(tensor), "");
    PieceGrid grid(tensor);
    for (uint64_t element = 0; element < tensor.elements();) {
      PieceGrid::Found found = grid.find(element);
      ASSERT_GT(found.count, 0u);
      for (uint64_t i = 0; i < found.count; ++i, ++element)
        ASSERT_EQ(static_cast<uint64_t>(found.piece - tensor.pieces.data()) * 1000 + found.first + i, expected[element]);
    }
    if (tensor.pieces.size() > 1) {
      ManifestTensor less = tensor;
      less.pieces.erase(less.pieces.begin() + below(static_cast<int64_t>(less.pieces.size())));
      EXPECT_NE(wrongPieces(less), "") << "a piece is missing";
      ManifestTensor twice = tensor;
      twice.pieces.insert(twice.pieces.begin(), twice.pieces[static_cast<size_t>(below(static_cast<int64_t>(twice.pieces.size())))]);
      EXPECT_NE(wrongPieces(twice), "") << "a piece is there twice";
    }
  }
}

} // namespace
} // namespace npar::testing
