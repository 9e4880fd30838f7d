// Refusals of attention by the verifier: impossible sizes, operands that are wrong or too small.
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

namespace npar::program {
namespace {

/// Attention of two heads over four rows of two numbers each, all operands of 64 bytes.
AttentionT &addAttention(ProgramT &program, bool gradient) {
  program.attentions.push_back(std::make_unique<AttentionT>());
  AttentionT &attention = *program.attentions.back();
  attention.gradient = gradient, attention.causal = true, attention.scale = 0.5;
  attention.batch = {1}, attention.heads = 2, attention.rows = attention.keys = 4, attention.features = attention.values = 2;
  size_t lse = gradient ? 5 : 4;
  for (size_t i = 0; i < (gradient ? 9u : 5u); ++i) {
    attention.strides.push_back(std::make_unique<AttentionStridesT>());
    AttentionStridesT &strides = *attention.strides.back();
    strides.batch = {0}, strides.head = i == lse ? 4 : 8, strides.row = i == lse ? 1 : 2;
  }
  return attention;
}

/// The good program with such a step.
ProgramT withAttention(bool gradient) {
  ProgramT program = twoStages();
  addAttention(program, gradient);
  std::vector<Span> inputs(gradient ? 6 : 3, Span{0, 0, 64}), outputs = {{1, 0, 64}, {2, 0, 64}, {2, 64, 64}};
  outputs.resize(gradient ? 3 : 2);
  addStep(program, *program.classes[0], 0, StepKind::Attention, 0, inputs, outputs, {}, "attention");
  return program;
}

TEST(Verify, AttentionBeyondItsOperands) {
  constexpr int64_t huge = int64_t(1) << 62;
  for (bool gradient : {false, true}) {
    for (const CheckResult &result : check(withAttention(gradient)))
      EXPECT_TRUE(result.ok) << result.detail;
    for (size_t i = 0; i < (gradient ? 9u : 5u); ++i) {
      if (i == (gradient ? 5u : 4u))
        continue; // whose strides are given
      for (int64_t wrong : {int64_t(8), int64_t(-1), huge}) {
        ProgramT program = withAttention(gradient);
        program.attentions[0]->strides[i]->row = wrong;
        expectRefused(program, "well formed", "the attention reaches beyond its operand " + std::to_string(i));
      }
      ProgramT program = withAttention(gradient);
      program.attentions[0]->batch = {2}, program.attentions[0]->strides[i]->batch = {huge};
      expectRefused(program, "well formed", "the attention reaches beyond its operand");
    }
    ProgramT program = withAttention(gradient);
    program.attentions[0]->features = 3;
    expectRefused(program, "well formed", "the attention reaches beyond its operand 0");
  }
}

TEST(Verify, AttentionOfImpossibleSizes) {
  auto refused = [](const std::string &why, auto damage) {
    for (bool gradient : {false, true}) {
      ProgramT program = withAttention(gradient);
      damage(*program.attentions[0]);
      expectRefused(program, "well formed", why);
    }
  };
  std::string impossible = "an attention has impossible sizes";
  refused(impossible, [](AttentionT &a) { a.rows = 0; });
  refused("an attention's rows and keys are not of one sequence", [](AttentionT &a) { a.keys = 3; }); // causal
  refused(impossible, [](AttentionT &a) { a.heads = -1; });
  refused(impossible, [](AttentionT &a) { a.features = int64_t(1) << 62; });
  refused(impossible, [](AttentionT &a) { a.batch = {int64_t(1) << 40, int64_t(1) << 40}; });
  refused("an attention needs a floating-point type", [](AttentionT &a) { a.type = ElementType::I32; });
  refused("operands, not of", [](AttentionT &a) { a.strides.pop_back(); });
  refused("operands, not of", [](AttentionT &a) { a.gradient = !a.gradient; });
  refused("has an operand with strides of 2", [](AttentionT &a) { a.strides[1]->batch = {0, 0}; });
  refused("an attention of 4 rows has lse with strides 5 and 1", [](AttentionT &a) { a.strides[a.gradient ? 5 : 4]->head = 5; });
}

// Causal attention over kept keys: one more operand has the position of the first row.
TEST(Verify, AttentionOverKeptKeys) {
  auto good = [] {
    ProgramT program = twoStages();
    AttentionT &attention = addAttention(program, false);
    attention.other = true, attention.rows = 2;
    attention.strides.insert(attention.strides.begin() + 3, std::make_unique<AttentionStridesT>());
    attention.strides[3]->batch = {0};
    attention.strides[5]->head = 2; // of lse, without gaps
    std::vector<Span> inputs = {{0, 0, 64}, {0, 0, 64}, {0, 0, 64}, {0, 0, 4}}, outputs = {{1, 0, 64}, {2, 0, 64}};
    addStep(program, *program.classes[0], 0, StepKind::Attention, 0, inputs, outputs, {}, "attention");
    return program;
  };
  for (const CheckResult &result : check(good()))
    EXPECT_TRUE(result.ok) << result.detail;
  ProgramT ring = good();
  ring.attentions[0]->ring = true;
  expectRefused(ring, "well formed", "an attention's rows and keys are not of one sequence");
  ProgramT far = good();
  far.attentions[0]->strides[3]->batch = {8}, far.attentions[0]->batch = {2};
  expectRefused(far, "well formed", "the attention reaches beyond its operand");
}

// Over axis 0, of two ranks.
TEST(Verify, AttentionOfPiecesOfASequence) {
  auto withPieces = [](auto change) {
    ProgramT program = withAttention(false);
    AttentionT &a = *program.attentions[0];
    a.rows = 2, a.axes = {0}, a.strides[4]->head = 2;
    change(a);
    return program;
  };
  for (const CheckResult &result : check(withPieces([](AttentionT &) {})))
    EXPECT_TRUE(result.ok) << result.detail;
  auto refused = [&](auto change) {
    expectRefused(withPieces(change), "well formed", "an attention's rows and keys are not of one sequence");
  };
  refused([](AttentionT &a) { a.axes = {7}; });
  refused([](AttentionT &a) { a.step = 2; });
  refused([](AttentionT &a) { a.rows = 1, a.strides[4]->head = 1; }); // four keys, of which two ranks have two
  refused([](AttentionT &a) { a.ring = true; });
  refused([](AttentionT &a) { a.zigzag = 3; });
  refused([](AttentionT &a) { a.zigzag = 1, a.keys = 3; });
}

TEST(Verify, AttentionInSteps) {
  for (auto [gradient, message] :
       {std::pair(false, "strides of 5 operands, not of 6"), {true, "an attention's gradient continues another"}}) {
    ProgramT program = withAttention(gradient);
    program.attentions[0]->continues = true;
    expectRefused(program, "well formed", message);
  }
  ProgramT program = withAttention(false);
  program.attentions[0]->unfinished = true;
  program.attentions[0]->strides.pop_back(); // 4 numbers in a row
  expectRefused(program, "well formed", "an attention of 4 rows has state with strides 8 and 2");
}

TEST(Verify, AttentionWithOtherOperands) {
  ProgramT program = withAttention(false);
  program.attentions.clear();
  expectRefused(program, "well formed", "runs attention 0, which does not exist");
  program = withAttention(false);
  program.attentions.clear();
  addAttention(program, true);
  expectRefused(program, "well formed", "its operands do not match what it does");
}

/// Attention with a bias over queries and keys, of 64 bytes.
ProgramT withScores() {
  ProgramT program = twoStages();
  AttentionT &attention = addAttention(program, false);
  attention.kernels = {0};
  attention.data.push_back(std::make_unique<AttentionDatumT>());
  AttentionDatumT &datum = *attention.data.back();
  datum.batch = {0}, datum.head = 0, datum.query = 4, datum.key = 1, datum.keys = 4, datum.has_query = datum.has_key = true;
  addStep(program, *program.classes[0], 0, StepKind::Attention, 0, {{0, 0, 64}, {0, 0, 64}, {0, 0, 64}, {0, 0, 64}},
          {{1, 0, 64}, {2, 0, 64}}, {}, "attention");
  return program;
}

TEST(Verify, DataOfScores) {
  for (const CheckResult &result : check(withScores()))
    EXPECT_TRUE(result.ok) << result.detail;
  auto refused = [](const std::string &why, auto damage) {
    ProgramT program = withScores();
    damage(*program.attentions[0], *program.attentions[0]->data[0]);
    expectRefused(program, "well formed", why);
  };
  refused("an attention has data of scores and no kernel", [](AttentionT &a, AttentionDatumT &) { a.kernels.clear(); });
  refused("an attention has 2 kernels of scores, not 1", [](AttentionT &a, AttentionDatumT &) { a.kernels = {0, 0}; });
  refused("an attention has a kernel of scores that does not exist", [](AttentionT &a, AttentionDatumT &) { a.kernels = {99}; });
  std::string shape = "an attention has a datum of scores of another shape", beyond = "the attention reaches beyond its operand 3";
  refused(shape, [](AttentionT &, AttentionDatumT &d) { d.batch = {}; });
  refused(shape, [](AttentionT &, AttentionDatumT &d) { d.keys = 5; });
  refused(shape, [](AttentionT &, AttentionDatumT &d) { d.entries = 2; });
  refused(shape, [](AttentionT &, AttentionDatumT &d) { d.entries = -1; });
  refused("an attention has a datum of scores of no type", [](AttentionT &, AttentionDatumT &d) { d.type = ElementType(99); });
  for (int64_t wrong : {int64_t(17), int64_t(-1), int64_t(1) << 62}) {
    refused(beyond, [=](AttentionT &, AttentionDatumT &d) { d.head = wrong; });
    refused(beyond, [=](AttentionT &, AttentionDatumT &d) { d.query = wrong; });
    refused(beyond, [=](AttentionT &, AttentionDatumT &d) { d.key = wrong; });
  }
  refused(beyond, [](AttentionT &, AttentionDatumT &d) { d.has_query = d.has_key = false, d.query = d.key = 0, d.entries = 33; });
  refused("an attention hides keys beyond any sequence", [](AttentionT &a, AttentionDatumT &) { a.back = INT64_MIN; });
}

TEST(Verify, SlopesOfScores) {
  auto refused = [](const std::string &why, auto damage) {
    ProgramT program = withAttention(true);
    AttentionT &attention = *program.attentions[0];
    attention.kernels = {0, 0};
    for (auto *list : {&attention.data, &attention.slopes}) {
      list->push_back(std::make_unique<AttentionDatumT>());
      list->back()->batch = {0}, list->back()->head = 1;
    }
    damage(*attention.slopes[0]);
    expectRefused(program, "well formed", why);
  };
  refused("its operands do not match what it does", [](AttentionDatumT &) {});
  std::string of = "an attention has a slope of no datum, or of another type";
  refused(of, [](AttentionDatumT &d) { d.datum = 1; });
  refused(of, [](AttentionDatumT &d) { d.type = ElementType::F64; });
  refused("an attention has a slope of another shape than its datum", [](AttentionDatumT &d) { d.entries = 2; });
}

} // namespace
} // namespace npar::program
