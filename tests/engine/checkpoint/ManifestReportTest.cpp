// The report of a manifest has its tensors and files, as text and as JSON.
#include "engine/checkpoint/ManifestReport.h"
#include "engine/json/Json.h"

#include "tests/engine/checkpoint/SmallCheckpoint.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

TEST(ManifestReportTest, TextAndJsonHaveAllTensorsAndFiles) {
  MemoryCheckpoint checkpoint;
  Manifest manifest = checkpoint.threeFiles();
  manifest.step = 12, manifest.seed = 7;
  OrderedJson json = reportJson(manifest, "run/step-12");
  EXPECT_EQ(json["checkpoint"], "run/step-12");
  EXPECT_EQ(json["step"], 12);
  EXPECT_EQ(json["bytes"], manifest.bytes());
  EXPECT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["tensors"].size(), manifest.tensors.size());
  std::string text = reportText(manifest, "run/step-12");
  EXPECT_EQ(text.rfind("checkpoint 'run/step-12'\n", 0), 0u);
  EXPECT_NE(text.find("12; seed 7"), std::string::npos);
  for (const ManifestTensor &tensor : manifest.tensors)
    EXPECT_NE(text.find("\n" + tensor.name + " "), std::string::npos) << tensor.name;
  for (const ManifestFile &file : manifest.files)
    EXPECT_NE(text.find("\n" + file.name + " "), std::string::npos) << file.name;
}

} // namespace
} // namespace npar::testing
