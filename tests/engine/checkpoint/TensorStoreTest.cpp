// Stored tensors as one store: a file, a folder of one, a folder of shards. The index is held against its shards, whatever it says.
#include "engine/checkpoint/TensorStore.h"

#include "engine/safetensors/SafetensorsWriter.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

class TensorStoreTest : public ::testing::Test {
protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(root); }
  /// Tensor number i of the file is [2] and holds the bytes 16 i, 16 i + 1 ...
  void shard(const std::string &name, const std::vector<std::string> &tensors) {
    std::vector<TensorToWrite> list;
    for (const std::string &tensor : tensors)
      list.push_back({tensor, "F32", {2}});
    auto writer = SafetensorsWriter::create(folder + "/" + name, list);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    for (size_t i = 0; i < list.size(); ++i) {
      uint8_t bytes[8];
      for (size_t j = 0; j < 8; ++j)
        bytes[j] = static_cast<uint8_t>(16 * i + j);
      ASSERT_TRUE((*writer)->write(i, 0, bytes, sizeof(bytes)).ok());
    }
    ASSERT_TRUE((*writer)->commit().ok());
  }
  void index(const std::string &text) { std::ofstream(folder + "/model.safetensors.index.json", std::ios::binary) << text; }
  static std::string map(const std::string &entries) { return R"({"metadata":{"total_size":16},"weight_map":{)" + entries + "}}"; }
  /// Returns the rest of an error that begins with "cannot read index 'PATH': ".
  std::string refusal(const std::string &text) {
    index(text);
    auto store = openTensorStore(folder);
    EXPECT_FALSE(store.ok()) << text;
    EXPECT_EQ(store.status().code(), Code::BadInput);
    std::string begin = "cannot read index '" + folder + "/model.safetensors.index.json': ", message = store.status().message();
    EXPECT_EQ(message.substr(0, begin.size()), begin);
    return message.substr(std::min(begin.size(), message.size()));
  }

  const std::string root = "/tmp/npar-store-" + std::to_string(::getpid()), folder = root + "/model";
};

TEST_F(TensorStoreTest, aFolderOfShardsIsOneStore) {
  shard("one.safetensors", {"a", "b"});
  shard("two.safetensors", {"c"});
  index(map(R"("a":"one.safetensors","b":"one.safetensors","c":"two.safetensors")"));
  auto store = openTensorStore(folder);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->description(), "weights '" + folder + "'");
  EXPECT_EQ((*store)->tensors().size(), 3u);
  EXPECT_EQ((*store)->tensors().at("c").type, "F32");
  uint8_t bytes[4];
  ASSERT_TRUE((*store)->read("b", 1, 1, bytes).ok());
  EXPECT_EQ(bytes[0], 20);
  EXPECT_FALSE((*store)->read("b", 1, 2, bytes).ok());
  EXPECT_FALSE((*store)->read("d", 0, 1, bytes).ok());
}

TEST_F(TensorStoreTest, aFileAndAFolderOfOneFile) {
  shard("model.safetensors", {"a"});
  for (const std::string &path : {folder, folder + "/model.safetensors"}) {
    auto store = openTensorStore(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->description(), "weights '" + folder + "/model.safetensors'");
    EXPECT_EQ((*store)->tensors().count("a"), 1u);
  }
  index(map(R"("a":"model.safetensors")"));
  EXPECT_EQ(openTensorStore(folder).status().message(), "cannot read weights '" + folder +
                                                            "': the folder has both model.safetensors and "
                                                            "model.safetensors.index.json; remove one of them");
}

TEST_F(TensorStoreTest, aFileThatShrinksIsAnErrorOfTheRead) {
  shard("model.safetensors", {"a"});
  auto store = openTensorStore(folder);
  ASSERT_TRUE(store.ok());
  fs::resize_file(folder + "/model.safetensors", 9);
  uint8_t bytes[8];
  Status status = (*store)->read("a", 0, 2, bytes);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("(reading tensor 'a')"), std::string::npos) << status.message();
}

TEST_F(TensorStoreTest, foldersWithoutWeights) {
  EXPECT_EQ(openTensorStore(folder).status().message(),
            "cannot read weights '" + folder + "': the folder has neither model.safetensors nor model.safetensors.index.json");
  std::ofstream(folder + "/pytorch_model.bin") << "pickle";
  EXPECT_NE(openTensorStore(folder).status().message().find("save_pretrained"), std::string::npos);
  EXPECT_FALSE(openTensorStore(root + "/none").ok());
}

TEST_F(TensorStoreTest, indicesThatAreNone) {
  shard("one.safetensors", {"a"});
  EXPECT_EQ(refusal(""), "no valid JSON at byte 1");
  EXPECT_EQ(refusal(R"({"weight_map":{"a":"one.safetensors")"), "no valid JSON at byte 37");
  EXPECT_EQ(refusal("[]"), "it has no object 'weight_map'");
  EXPECT_EQ(refusal("{}"), "it has no object 'weight_map'");
  EXPECT_EQ(refusal(R"({"weight_map":[]})"), "it has no object 'weight_map'");
  EXPECT_EQ(refusal(map("")), "it names no tensor");
  EXPECT_EQ(refusal(map(R"("a":1)")), "the file of tensor 'a' is no text");
  EXPECT_EQ(refusal(map(R"("a":"one.safetensors","a":"one.safetensors")")), "the name 'a' occurs twice");
  EXPECT_NE(refusal(std::string(1000, '[')).find("nests deeper"), std::string::npos);
  std::string deep = R"({"metadata":)";
  for (int i = 0; i < 1000; ++i)
    deep += R"({"a":)";
  EXPECT_NE(refusal(deep).find("nests deeper"), std::string::npos);
}

TEST_F(TensorStoreTest, filesStayInTheFolder) {
  shard("one.safetensors", {"a"});
  fs::rename(folder + "/one.safetensors", root + "/outside.safetensors");
  fs::create_symlink(root + "/outside.safetensors", folder + "/link.safetensors");
  for (const std::string &name :
       {std::string("../outside.safetensors"), root + "/outside.safetensors", std::string("x/../../outside.safetensors"),
        std::string("link.safetensors"), std::string(""), std::string("."), std::string("a\\u0000b")})
    EXPECT_NE(refusal(map(R"("a":")" + name + '"')).find("of tensor 'a' is not allowed: "), std::string::npos) << name;
}

TEST_F(TensorStoreTest, indexAndShardsMustAgree) {
  shard("one.safetensors", {"a", "b"});
  shard("two.safetensors", {"c"});
  EXPECT_EQ(refusal(map(R"("a":"one.safetensors","b":"one.safetensors","c":"two.safetensors","d":"two.safetensors")")),
            "tensor 'd' is not in 'two.safetensors', nor in another file");
  EXPECT_EQ(refusal(map(R"("a":"one.safetensors","b":"two.safetensors","c":"two.safetensors")")),
            "tensor 'b' is not in 'two.safetensors' but in 'one.safetensors'");
  EXPECT_EQ(refusal(map(R"("a":"one.safetensors","c":"two.safetensors")")), "it does not name tensor 'b' of 'one.safetensors'");
  shard("three.safetensors", {"a"});
  EXPECT_EQ(refusal(map(R"("a":"one.safetensors","b":"one.safetensors","c":"three.safetensors")")),
            "tensor 'a' is in 'three.safetensors' and in 'one.safetensors'");
  index(map(R"("a":"missing.safetensors")"));
  EXPECT_EQ(openTensorStore(folder).status().message(),
            "cannot read weights '" + folder + "/missing.safetensors': No such file or directory");
  std::ofstream(folder + "/broken.safetensors") << "12345678";
  index(map(R"("a":"broken.safetensors")"));
  EXPECT_NE(openTensorStore(folder).status().message().find("it claims a header"), std::string::npos);
}

} // namespace
} // namespace npar::testing
