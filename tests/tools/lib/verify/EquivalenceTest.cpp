// The checks of `npar verify` must fail when something is wrong: on sessions made by hand, one of them wrong on purpose.
#include "tools/lib/verify/Equivalence.h"

#include "tests/engine/program/ProgramBuilder.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace npar;
using verify::Check;
using verify::ErrorMeasure;

namespace {

engine::Observer nobody;

/// Wants to stop at a phase, counted from 1.
class StopAt final : public engine::Observer {
public:
  explicit StopAt(int phase) : left(phase) {}
  void phase(const std::string &) override { --left; }
  bool wantsToStop() override { return left <= 0; }

private:
  int left;
};

/// One parameter "w" of 3 elements with one accumulator.
struct OneParameter {
  flatbuffers::FlatBufferBuilder builder;
  OneParameter() {
    program::ProgramT program = program::emptyProgram({}, 1);
    program.batch = 2;
    for (const char *name : {"w", "w.grad.0"}) {
      program.variables.push_back(std::make_unique<program::VariableT>());
      program.variables.back()->name = name;
      program.variables.back()->shape = {3};
    }
    program.variables[1]->kind = program::VariableKind::Accumulator;
    program.variables[1]->of = 0;
    builder.Finish(program::Program::Pack(builder, &program));
  }
  const program::Program &root() const { return *flatbuffers::GetRoot<program::Program>(builder.GetBufferPointer()); }
};

/// loss = sum of w^3; a step subtracts 0.1 times the gradient from w. `wrong` scales the gradient that is used and reported.
class CubicSession : public engine::Session {
public:
  explicit CubicSession(double wrong = 1) : wrong(wrong) {}
  engine::Result<engine::StepResult> step(const engine::Batch &, int64_t) override {
    double loss = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      loss += w[i] * w[i] * w[i];
      gradient[i] = wrong * 3 * w[i] * w[i];
    }
    for (size_t i = 0; i < w.size(); ++i)
      w[i] -= 0.1 * gradient[i];
    return engine::StepResult{loss, 1, 0.1};
  }
  engine::Status setRun(const engine::RunLength &) override { return {}; }
  engine::Result<std::vector<double>> read(const std::string &name) const override { return name == "w" ? w : gradient; }
  engine::Status visit(const std::string &name, const std::function<void(const double *, size_t)> &take) const override {
    engine::Result<std::vector<double>> values = read(name);
    take(values->data(), values->size());
    return {};
  }
  engine::Status write(const std::string &, const std::vector<double> &values) override {
    w = values;
    return {};
  }
  engine::Result<std::vector<float>> readFloat(const std::string &) const override { return std::vector<float>(); }
  engine::Status writeFloat(const std::string &, const std::vector<float> &) override { return {}; }
  engine::Status writeFrom(const std::string &, const engine::ElementSource &) override { return {}; }
  engine::Result<std::vector<double>> readResult(const std::string &, uint64_t, uint64_t) const override { return std::vector<double>(); }
  engine::Status initialise(const std::string &) override { return {}; }
  engine::Status readPieces(const std::vector<engine::OwnedPiece> &, uint8_t *) const override { return {}; }
  engine::Result<std::vector<engine::HostPiece>> hostPieces(const std::string &) const override { return std::vector<engine::HostPiece>(); }
  engine::Result<std::vector<engine::ElementsHash>> hashPieces(const std::vector<engine::OwnedPiece> &) const override {
    return std::vector<engine::ElementsHash>();
  }
  std::optional<npar::program::ProductOrder> productOrder() const override { return std::nullopt; }
  std::vector<int64_t> ranks() const override { return {0}; }
  std::vector<int64_t> rows() const override { return {0}; }
  void abandon(const engine::Status &) override {}
  engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const override { return {{own}}; }
  std::string parameterHash() const override { return ""; }
  std::string stateHash() const override { return ""; }
  std::vector<engine::ArenaUse> arenaUse() const override { return {{0, 64, used}}; }
  uint64_t used = 64;

private:
  std::vector<double> w = {0.5, -0.25, 1.5}, gradient = {0, 0, 0};
  double wrong;
};

/// loss = mean of relu(x w) over 260,000 vectors x, plus a sine. `wrong` scales the gradient that is reported.
class ReluSession : public CubicSession {
public:
  explicit ReluSession(double wrong) : wrong(wrong) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0, 30);
    for (size_t i = 0; i < units; ++i)
      x.push_back({normal(random), normal(random), normal(random)});
  }
  engine::Result<engine::StepResult> step(const engine::Batch &, int64_t) override {
    double loss = std::sin(w[0]);
    gradient = {std::cos(w[0]), 0, 0};
    for (const std::array<double, 3> &one : x)
      if (double value = one[0] * w[0] + one[1] * w[1] + one[2] * w[2]; value > 0) {
        loss += value / units;
        for (size_t i = 0; i < 3; ++i)
          gradient[i] += one[i] / units;
      }
    for (double &entry : gradient)
      entry *= wrong;
    return engine::StepResult{loss, 1, 0.1};
  }
  engine::Result<std::vector<double>> read(const std::string &name) const override { return name == "w" ? w : gradient; }
  engine::Status write(const std::string &, const std::vector<double> &values) override {
    w = values;
    return {};
  }

private:
  static constexpr size_t units = 260'000;
  std::vector<std::array<double, 3>> x;
  std::vector<double> w = {0.02, -0.01, 0.005}, gradient;
  double wrong;
};

/// A cubic loss. If `chooses`, it jumps by 0.25 where w[0] reaches the first value written to it, like a choice between two equal values.
class ChoiceSession : public CubicSession {
public:
  explicit ChoiceSession(bool chooses) : chooses(chooses) {}
  engine::Status write(const std::string &name, const std::vector<double> &values) override {
    if (!tie)
      tie = values[0];
    first = values[0];
    return CubicSession::write(name, values);
  }
  engine::Result<engine::StepResult> step(const engine::Batch &batch, int64_t number) override {
    engine::Result<engine::StepResult> result = CubicSession::step(batch, number);
    if (chooses && first >= *tie)
      result->loss += 0.25;
    return result;
  }

private:
  bool chooses;
  std::optional<double> tie;
  double first = 0;
};

const Check &named(const std::vector<Check> &checks, const std::string &name) {
  for (const Check &check : checks)
    if (check.name == name)
      return check;
  ADD_FAILURE() << "no check " << name;
  return checks.front();
}

} // namespace

TEST(ErrorMeasure, IsRelativeToTheTensorWithAFloorFromItsKind) {
  ErrorMeasure measure("gradients");
  measure.add("large", {1000}, {1000});
  measure.add("zero in theory", {1e-12}, {2e-12}); // against 1e-3 * 1000, not against itself
  Check check = measure.check();
  EXPECT_TRUE(check.ok) << check.detail;
  EXPECT_NEAR(*check.maxRelativeError, 1e-12, 1e-15);
  measure.add("small", {2.0}, {2.0 + 1e-8});
  check = measure.check();
  EXPECT_FALSE(check.ok);
  EXPECT_NE(check.detail.find("'small'"), std::string::npos) << check.detail;
}

TEST(ErrorMeasure, AllowsWhatRoundingAloneMakes) {
  ErrorMeasure measure("gradients");
  measure.add("zero in theory", {1e-17}, {-3e-18});
  EXPECT_FALSE(measure.check().ok);
  measure.allow(verify::gradientNoise(0.125, 0x1p-49));
  EXPECT_TRUE(measure.check().ok) << measure.check().detail;
  measure.add("wrong", {1e-14}, {0});
  EXPECT_FALSE(measure.check().ok);
}

TEST(ErrorMeasure, FailsOnWhatIsNoNumberAndOnMissingEntries) {
  ErrorMeasure nan("loss"), both("loss"), size("loss"), infinite("loss"), beside("loss");
  nan.add("loss", {NAN}, {1});
  both.add("loss", {NAN}, {NAN});
  size.add("loss", {1, 2}, {1});
  EXPECT_FALSE(nan.check().ok);
  EXPECT_FALSE(both.check().ok);
  EXPECT_FALSE(size.check().ok);
  infinite.add("loss", {1, INFINITY}, {1, INFINITY}); // nothing was compared there
  EXPECT_FALSE(infinite.check().ok);
  beside.add("good", {1}, {1});
  beside.add("infinite", {5}, {INFINITY}); // nor do infinities make other errors small
  beside.add("wrong", {2}, {1});
  EXPECT_FALSE(beside.check().ok);
  EXPECT_TRUE(std::isinf(*beside.check().maxRelativeError));
  EXPECT_NE(beside.check().detail.find("'infinite'"), std::string::npos) << beside.check().detail;
}

// An infinity on both sides passed for equal, and as the largest entry of its kind it made every other error 0.
TEST(ErrorMeasure, FailsOnInfinitiesThatAgree) {
  ErrorMeasure alone("loss"), beside("gradients");
  alone.add("loss", {INFINITY}, {INFINITY});
  EXPECT_FALSE(alone.check().ok);
  beside.add("wrong", {1}, {2});
  beside.add("infinite", {INFINITY, 1}, {INFINITY, 1});
  EXPECT_FALSE(beside.check().ok);
  EXPECT_NE(beside.check().detail.find("'infinite'"), std::string::npos) << beside.check().detail;
}

TEST(CompareSessions, FindsAWrongGradient) {
  OneParameter program;
  CubicSession right, alike, wrong(1 + 1e-8);
  std::vector<Check> checks;
  ASSERT_TRUE(verify::compareSessions(right, alike, program.root(), 3, 1, nobody, checks).ok());
  for (const Check &check : checks)
    EXPECT_TRUE(check.ok) << check.name << ": " << check.detail;

  CubicSession reference;
  checks.clear();
  ASSERT_TRUE(verify::compareSessions(wrong, reference, program.root(), 3, 1, nobody, checks).ok());
  EXPECT_TRUE(named(checks, "initial parameters").ok);
  EXPECT_FALSE(named(checks, "gradients").ok);
  EXPECT_FALSE(named(checks, "parameters").ok);
}

// A model whose own numbers are not finite is wrong input, not a plan that differs.
TEST(CompareSessions, NeedsAFiniteReference) {
  OneParameter program;
  CubicSession session, reference(INFINITY);
  std::vector<Check> checks;
  ASSERT_TRUE(verify::compareSessions(session, session, program.root(), 3, 1, nobody, checks).ok());
  engine::Status status = verify::compareSessions(session, reference, program.root(), 3, 1, nobody, checks);
  EXPECT_EQ(status.code(), engine::Code::BadInput);
  EXPECT_NE(status.message().find("is not finite: there is nothing to compare"), std::string::npos) << status.message();
}

// A smooth loss changes as little as the parameters do; a choice between equal values makes it jump at any change, however small.
TEST(Sensitivity, TellsAChoiceFromWhatIsSmooth) {
  OneParameter program;
  for (double change : {1e-13, 1e-8})
    for (bool chooses : {false, true}) {
      engine::Result<double> moved = verify::sensitivityOf(
          [&]() -> engine::Result<std::unique_ptr<engine::Session>> {
            return std::unique_ptr<engine::Session>(new ChoiceSession(chooses));
          },
          program.root(), 3, 1, change);
      ASSERT_TRUE(moved.ok());
      if (chooses)
        EXPECT_GT(*moved, 0.01);
      else
        EXPECT_LT(*moved, 100 * change);
    }
}

// An observer ends the comparison before the step that it stops at; no check is made up from the steps before.
TEST(CompareSessions, CanBeStopped) {
  OneParameter program;
  for (int phase : {1, 3}) {
    CubicSession session, reference;
    StopAt observer(phase);
    std::vector<Check> checks;
    EXPECT_EQ(verify::compareSessions(session, reference, program.root(), 3, 1, observer, checks).code(), engine::Code::Stopped);
    EXPECT_TRUE(checks.empty());
  }
}

TEST(FiniteDifferences, CanBeStopped) {
  OneParameter program;
  CubicSession session;
  StopAt observer(1);
  std::vector<Check> checks;
  EXPECT_EQ(verify::checkFiniteDifferences(session, program.root(), 1, observer, checks).code(), engine::Code::Stopped);
  EXPECT_TRUE(checks.empty());
}

TEST(FiniteDifferences, AcceptRightGradientsAndFindWrongOnes) {
  OneParameter program;
  for (double wrong : {1.0, 1.0001}) {
    CubicSession session(wrong);
    std::vector<Check> checks;
    ASSERT_TRUE(verify::checkFiniteDifferences(session, program.root(), 1, nobody, checks).ok());
    EXPECT_EQ(named(checks, "finite differences").ok, wrong == 1.0) << checks[0].detail;
  }
}

// Every large stride contains kinks of relu: they are distinguished from a wrong gradient.
TEST(FiniteDifferences, TellKinksFromWrongGradients) {
  OneParameter program;
  for (double wrong : {1.0, 1.00003, 0.9992}) {
    ReluSession session(wrong);
    std::vector<Check> checks;
    ASSERT_TRUE(verify::checkFiniteDifferences(session, program.root(), 1, nobody, checks).ok());
    EXPECT_EQ(named(checks, "finite differences").ok, wrong == 1.0) << checks[0].detail;
  }
}

TEST(MemoryUse, MustBeExactlyThePlanned) {
  CubicSession session;
  EXPECT_TRUE(verify::checkMemoryUse(session.arenaUse()).ok);
  session.used = 60;
  EXPECT_FALSE(verify::checkMemoryUse(session.arenaUse()).ok);
}
