// NVIDIA's assembler, if it is installed, accepts all code that npar generates for GPUs in addition to a program's kernels. Only kernels of
// attention may spill registers.
#include "engine/backends/cuda/library/RowCopies.h"
#include "engine/backends/cuda/ptx/AttentionText.h"
#include "engine/backends/cuda/ptx/ProductText.h"
#include "engine/backends/cuda/ptx/Ptx.h"
#include "engine/backends/cuda/ptx/ReduceText.h"
#include "engine/backends/cuda/ptx/ScoreText.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace npar::engine::cuda {
namespace {

using program::ElementType;

std::string productsText() {
  std::vector<std::string> kernels;
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16})
    for (bool accumulate : {false, true}) {
      kernels.push_back(productText({type, type, accumulate}));
      if (type == ElementType::BF16 || type == ElementType::F16)
        kernels.push_back(productText({type, ElementType::F32, accumulate}));
    }
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16})
    for (program::Grouping grouping : {program::Grouping::Rows, program::Grouping::Depth})
      kernels.push_back(productText({type, program::widened(type), false, false, grouping}));
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16}) {
    kernels.push_back(productText({type, type, false, false, program::Grouping::None, {3, 1, 3, 2, 0}}));
    kernels.push_back(productText({type, program::widened(type), true, false, program::Grouping::None, {1, 3, 3, 0, 2}}));
  }
  return moduleText(kernels);
}

std::string attentionsText() {
  std::vector<std::string> kernels;
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16})
    for (bool causal : {false, true}) {
      for (AttentionPass pass : {AttentionPass::Forward, AttentionPass::QueryGradient, AttentionPass::KeyGradient})
        kernels.push_back(attentionText({pass, type, 64, 128, causal, false, false, causal}));
      kernels.push_back(attentionText({AttentionPass::Forward, type, 64, 64, causal, causal, !causal, false}));
    }
  return moduleText(kernels);
}

/// Kernels that find scores in blocks, and those that make the blocks.
std::string scoresText() {
  std::vector<std::string> kernels;
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16}) {
    for (AttentionPass pass : {AttentionPass::QueryScores, AttentionPass::KeyScores})
      kernels.push_back(attentionText({pass, type, 64, 128, false, false, false, false, true}));
    for (bool causal : {false, true})
      for (AttentionPass pass :
           {AttentionPass::Forward, AttentionPass::QueryGradient, AttentionPass::KeyGradient, AttentionPass::Probabilities})
        kernels.push_back(attentionText({pass, type, 64, 64, causal, false, false, false, true, causal}));
  }
  for (ScoreStep step : {ScoreStep::Place, ScoreStep::Point})
    kernels.push_back(scoreStepText({step, 0, false}));
  for (int bytes : {1, 2, 4, 8})
    kernels.push_back(scoreStepText({ScoreStep::Cut, bytes, false}));
  for (int bytes : {4, 8})
    for (ScoreStep step : {ScoreStep::Clear, ScoreStep::Pair, ScoreStep::Entries, ScoreStep::Partial, ScoreStep::OfQueries,
                           ScoreStep::OfKeys, ScoreStep::OfAll})
      kernels.push_back(scoreStepText({step, bytes, true}));
  return moduleText(kernels);
}

void assemble(const std::string &text, const std::string &name, bool maySpill = false) {
  const char *assembler = "/usr/local/cuda/bin/ptxas";
  if (std::system((std::string(assembler) + " --version > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  std::string file = ::testing::TempDir() + name;
  std::ofstream(file + ".ptx") << text;
  for (const char *architecture : {"sm_80", "sm_90"}) {
    // Less optimization where nothing is asserted of its result: half of the time.
    std::string command = std::string(assembler) + (maySpill ? " --opt-level 1" : "") + " -v -arch=" + architecture + " " + file +
                          ".ptx -o /dev/null > " + file + ".log 2>&1";
    int result = std::system(command.c_str());
    std::ifstream stream(file + ".log");
    std::string log{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(result, 0) << log;
    for (size_t at = log.find("bytes spill stores"); at != std::string::npos && !maySpill; at = log.find("bytes spill stores", at + 1))
      EXPECT_EQ(log.substr(at - 4, 4), ", 0 ") << log;
  }
}

TEST(PtxAssembly, Reductions) { assemble(reduceText(), "npar_reductions"); }
TEST(PtxAssembly, Products) { assemble(productsText(), "npar_products"); }
TEST(PtxAssembly, RowCopies) { assemble(rowCopiesText(), "npar_row_copies"); }
TEST(PtxAssembly, ChangedScores) { assemble(scoresText(), "npar_scores", /*maySpill=*/true); }
TEST(PtxAssembly, Attentions) { assemble(attentionsText(), "npar_attentions", /*maySpill=*/true); }

} // namespace
} // namespace npar::engine::cuda
