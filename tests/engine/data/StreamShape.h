// Shared parts of the data tests: a program that a stream of tokens feeds, and a temporary folder of files.
#pragma once

#include "engine/runtime/BatchShape.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <unistd.h>

namespace npar::testing {

/// Tokens and, one position later, targets: integers below 256 over [rows, length].
inline engine::BatchShape streamShape(int64_t rows, int64_t length, std::optional<int32_t> ignore = {}) {
  auto input = [&](const char *name, program::InputRole role) {
    return engine::InputShape{name, program::ElementType::I32, {"batch", "seq"}, {rows, length}, {256, "words", ""}, role};
  };
  engine::BatchShape shape{rows, {input("tokens", program::InputRole::Stream), input("targets", program::InputRole::Shifted)}};
  shape.inputs[1].ignore = ignore;
  return shape;
}

class DataFolder : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/npar-data-XXXXXX";
    ASSERT_TRUE(::mkdtemp(name));
    folder = name;
  }
  void TearDown() override {
    if (std::system(("rm -rf " + folder).c_str()) != 0)
      ADD_FAILURE();
  }
  std::string file(const std::string &name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string folder;
};

} // namespace npar::testing
