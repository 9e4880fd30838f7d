// Attention and its gradients on a GPU have the CPU's bits: in every type, in pieces, around a ring, with cached keys.
#include "tests/engine/backends/cuda/OneAttention.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using program::ElementType;
constexpr int64_t members = OneAttention::members;

void expectTheBitsOfTheProcessor(const AttentionCase &given, int64_t member = 0) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16}) {
    OneAttention attention(type, given);
    testing::expectTheBitsOfTheProcessor(attention, member);
  }
}

/// The sequence is dealt out in zigzag order to the members.
void inPieces(program::AttentionT &attention) { attention.axes = {1}, attention.zigzag = 3; }
/// The second step of three.
void onRing(program::AttentionT &attention) {
  attention.axes = {1}, attention.zigzag = 3, attention.ring = true, attention.step = 1;
  attention.unfinished = true, attention.continues = !attention.gradient;
}
void ofKeptKeys(program::AttentionT &attention) { attention.other = true; }

TEST(CudaAttention, OfWholeSequences) {
  for (bool gradient : {false, true})
    for (bool causal : {false, true})
      expectTheBitsOfTheProcessor({causal ? 290 : 40, causal ? 290 : 40, causal, gradient}); // more than a block of keys, less than one
}

TEST(CudaAttention, OfAnotherSequence) {
  for (bool gradient : {false, true})
    for (int64_t keys : {33, 300})
      expectTheBitsOfTheProcessor({5, keys, false, gradient, ofKeptKeys});
}

TEST(CudaAttention, OfPiecesOfASequence) {
  for (int64_t member = 0; member < members; ++member)
    for (bool gradient : {false, true})
      expectTheBitsOfTheProcessor({24, 72, true, gradient, inPieces}, member);
}

TEST(CudaAttention, RoundARing) {
  for (int64_t member = 0; member < members; ++member)
    for (bool gradient : {false, true})
      expectTheBitsOfTheProcessor({24, 24, true, gradient, onRing}, member);
}

TEST(CudaAttention, BesideKeysThatWereKept) { expectTheBitsOfTheProcessor({3, 110, true, false, ofKeptKeys}); }

} // namespace
} // namespace npar::testing
