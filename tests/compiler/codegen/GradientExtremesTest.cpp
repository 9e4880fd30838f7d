// Gradients of functions of one element at the ends of what a type holds (RULES.md#N10), as generated code, against closed forms.
#include "tests/compiler/codegen/RunFunction.h"

#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Gradient.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace mlir;
using namespace npar;
using namespace npar::codegen;

namespace {

/// The text of a function of %x and %dy that returns the gradient of %x, of one that returns %y for %x of type !t.
std::string differentiated(const std::string &types, const std::string &ops, const std::string &result) {
  DialectRegistry registry;
  registerCodegen(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(
      types + "module { func.func @f(%x: !t, %dy: " + result + ") -> !t {\n" + ops + "\nreturn %x : !t\n} }", &context);
  if (!module)
    return "";
  auto function = *module->getOps<func::FuncOp>().begin();
  Block &block = function.front();
  Value x = block.getArgument(0), dy = block.getArgument(1);
  SmallVector<Operation *> forward;
  llvm::DenseSet<Value> active{x};
  for (Operation &op : block.without_terminator()) {
    forward.push_back(&op);
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }) &&
        isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType())))
      active.insert(op.getResult(0));
  }
  llvm::DenseMap<Value, Value> gradients{{forward.back()->getResult(0), dy}};
  OpBuilder builder(block.getTerminator());
  for (Operation *op : llvm::reverse(forward)) {
    Value gradient = gradients.lookup(op->getResult(0));
    auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
    if (!gradient || !active.contains(op->getResult(0)) || !differentiable)
      continue;
    SmallVector<Value> toOperands = differentiable.buildGradients(builder, gradient);
    for (size_t i = toOperands.size(); i-- > 0;)
      if (Value part = toOperands[i]; part && active.contains(op->getOperand(i))) {
        Value &sum = gradients[op->getOperand(i)];
        sum = sum ? nn::AddOp::create(builder, op->getLoc(), part.getType(), part, sum).getResult() : part;
      }
  }
  block.getTerminator()->setOperand(0, gradients.lookup(x));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

template <typename T> std::string typesOf(int64_t size) {
  const char *element = sizeof(T) == 4 ? "f32" : "f64";
  return "!t = " + tensorText("batch=1 embed=" + std::to_string(size), element) +
         "\n!i = " + tensorText("batch=1 embed=" + std::to_string(size), "i32") + "\n!r = " + tensorText("batch=1", element) + "\n";
}

template <typename T> std::vector<T> slopes(const std::string &ops, const std::vector<T> &x, const std::vector<T> &dy) {
  std::string text = differentiated(typesOf<T>(static_cast<int64_t>(x.size())), ops, dy.size() == x.size() ? "!t" : "!r");
  CompiledFunction f(text);
  EXPECT_TRUE(f.ok()) << ops << "\n" << text;
  return f.ok() ? f.run({x, dy})[0].template as<T>() : std::vector<T>(x.size());
}

template <typename T> std::vector<T> extremes() {
  std::vector<T> values;
  for (double size :
       {0.0, 1e-40, 1e-30, 1e-6, 0.3, 1.0, 5.0, 20.0, 60.0, 87.0, 88.0, 89.0, 104.0, 200.0, 709.0, 711.0, 1000.0, 1e10, 1e19, 1e20, 1e30})
    for (double sign : {1.0, -1.0})
      values.push_back(static_cast<T>(sign * size));
  values.push_back(std::numeric_limits<T>::max());
  values.push_back(std::numeric_limits<T>::lowest());
  return values;
}

constexpr double largestAngle = 1e9;                              ///< of sines in generated code (compiler/codegen/loops/Elementary.h)
constexpr double none = std::numeric_limits<double>::quiet_NaN(); ///< no slope is known

struct Function {
  const char *name, *ops;
  double (*slope)(double);
  double absolute = 0;      ///< of the smallest numbers that steps in between hold, where one of them underflows
  bool madeOfSlope = false; ///< the gradient is a product with the slope, which a number has to hold
};

double step(double x) { return x > 0; }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double logisticSlope(double x) { return x < -700 ? std::exp(x) : logistic(x) * (x > 0 ? std::exp(-x) * logistic(x) : 1 - logistic(x)); }

const Function functions[] = {
    {"exp", "%y = nn.exp %x : (!t) -> !t", [](double x) { return std::exp(x); }, 0, true},
    {"log", "%y = nn.log %x : (!t) -> !t", [](double x) { return x > 0 ? 1 / x : none; }},
    {"sqrt", "%y = nn.sqrt %x : (!t) -> !t", [](double x) { return x > 0 ? 0.5 / std::sqrt(x) : none; }},
    {"tanh", "%y = nn.tanh %x : (!t) -> !t", [](double x) { return std::abs(x) > 300 ? 0 : std::pow(std::cosh(x), -2); }, 1e-6},
    {"relu", "%y = nn.relu %x : (!t) -> !t", step},
    {"abs", "%y = nn.abs %x : (!t) -> !t", [](double x) { return double((x > 0) - (x < 0)); }},
    {"silu", "%y = nn.silu %x : (!t) -> !t", [](double x) { return x < -700  ? 0
                                                                   : x > 700 ? 1
                                                                             : logistic(x) + x * logisticSlope(x); },
     1e-36},
    {"gelu", "%y = nn.gelu %x : (!t) -> !t",
     [](double x) {
       return 0.5 * std::erfc(-x / std::sqrt(2.0)) + (std::abs(x) > 100 ? 0 : x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI));
     },
     1e-6},
    {"gelu by tanh", "%y = nn.gelu %x {approximate = \"tanh\"} : (!t) -> !t",
     [](double x) {
       double u = 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x), slope = 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
       return std::abs(x) > 100 ? step(x) : logistic(u) + x * logisticSlope(u) * slope;
     },
     1e-6},
    {"cos", "%y = nn.cos %x : (!t) -> !t", [](double x) { return std::abs(x) > largestAngle ? none : -std::sin(x); }, 1e-5},
    {"sin", "%y = nn.sin %x : (!t) -> !t", [](double x) { return std::abs(x) > largestAngle ? none : std::cos(x); }, 1e-5},
    {"x * x", "%y = nn.mul %x, %x : (!t, !t) -> !t", [](double x) { return 2 * x; }},
    {"1 / x", "%1 = nn.fill 1.0 : !t\n%y = nn.div %1, %x : (!t, !t) -> !t", [](double x) { return x == 0 ? none : -1 / x / x; }},
    {"x / 1e-40", "%1 = nn.fill 1.0e-40 : !t\n%y = nn.div %x, %1 : (!t, !t) -> !t", [](double) { return 1e40; }},
    {"0 / x", "%1 = nn.fill 0.0 : !t\n%y = nn.div %1, %x : (!t, !t) -> !t", [](double x) { return x == 0 ? none : 0.0; }},
    {"1 / (1 + exp(-x))",
     "%n = nn.scale %x by -1.0 : (!t) -> !t\n%e = nn.exp %n : (!t) -> !t\n%s = nn.shift %e by 1.0 : (!t) -> !t\n%1 = nn.fill 1.0 : !t\n"
     "%y = nn.div %1, %s : (!t, !t) -> !t",
     logisticSlope, 1e-18},
    {"exp(-exp(x))", "%e = nn.exp %x : (!t) -> !t\n%n = nn.scale %e by -1.0 : (!t) -> !t\n%y = nn.exp %n : (!t) -> !t",
     [](double x) { return x > 7 ? 0 : -std::exp(x - std::exp(x)); }, 1e-30},
    {"tanh(exp(x))", "%e = nn.exp %x : (!t) -> !t\n%y = nn.tanh %e : (!t) -> !t",
     [](double x) { return x > 6 ? 0 : std::exp(x) * std::pow(std::cosh(std::exp(x)), -2); }, 1e-5},
    {"where(x > 0, log(x), 0)",
     "%0 = nn.fill 0.0 : !t\n%c = nn.compare \"less\" %0, %x : (!t, !t) -> !i\n%l = nn.log %x : (!t) -> !t\n"
     "%y = nn.where %c, %l, %0 : (!i, !t, !t) -> !t",
     [](double x) { return x > 0 ? 1 / x : 0; }},
    {"where(x > 0, x * log(x), 0)",
     "%0 = nn.fill 0.0 : !t\n%c = nn.compare \"less\" %0, %x : (!t, !t) -> !i\n%l = nn.log %x : (!t) -> !t\n%p = nn.mul %x, %l : (!t, !t) "
     "-> !t\n%y = nn.where %c, %p, %0 : (!i, !t, !t) -> !t",
     [](double x) { return x > 1e36 ? none
                           : x > 0  ? std::log(x) + 1
                                    : 0; }, 1.1},
    {"where(x > 0, sqrt(x), 0)",
     "%0 = nn.fill 0.0 : !t\n%c = nn.compare \"less\" %0, %x : (!t, !t) -> !i\n%l = nn.sqrt %x : (!t) -> !t\n"
     "%y = nn.where %c, %l, %0 : (!i, !t, !t) -> !t",
     [](double x) { return x > 0 ? 0.5 / std::sqrt(x) : 0; }},
    {"where(x < 20, log(1 + exp(x)), x)",
     "%0 = nn.fill 20.0 : !t\n%c = nn.compare \"less\" %x, %0 : (!t, !t) -> !i\n%e = nn.exp %x : (!t) -> !t\n%s = nn.shift %e by 1.0 : "
     "(!t) -> "
     "!t\n%l = nn.log %s : (!t) -> !t\n%y = nn.where %c, %l, %x : (!i, !t, !t) -> !t",
     [](double x) { return x < -700  ? 0
                           : x >= 20 ? 1
                                     : logistic(x); }, 1e-7},
};

} // namespace

template <typename T> struct Extremes : testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Extremes, Elements);

// Gradients are finite wherever the type can hold the mathematical gradient, and close to it unless a step underflows.
TYPED_TEST(Extremes, AreNumbersWhereTheSlopeIsOne) {
  using T = TypeParam;
  std::vector<T> x, dy; // all in one kernel
  for (double factor : {1.0, -3.0, 1e-10})
    for (T each : extremes<T>())
      x.push_back(each), dy.push_back(static_cast<T>(factor));
  for (const Function &function : functions) {
    std::vector<T> dx = slopes<T>(function.ops, x, dy);
    for (size_t i = 0; i < x.size(); ++i) {
      const double slope = function.slope(static_cast<double>(x[i])), factor = static_cast<double>(dy[i]), expected = factor * slope;
      const double most = 0.999 * static_cast<double>(std::numeric_limits<T>::max());
      if (std::isnan(expected) || std::abs(expected) > most || (function.madeOfSlope && std::abs(slope) > most))
        continue;
      EXPECT_TRUE(std::isfinite(dx[i])) << function.name << " at " << x[i] << ", dy " << factor << ", expected " << expected;
      double tolerance = (sizeof(T) == 4 ? 2e-5 : 1e-6) * std::abs(expected) + function.absolute * std::abs(factor) +
                         4 * static_cast<double>(std::numeric_limits<T>::min());
      EXPECT_NEAR(static_cast<double>(dx[i]), expected, tolerance) << function.name << " at " << x[i] << ", dy " << factor;
    }
  }
}

// An incoming gradient of 0 stays 0, however steep the function is, and where it has no value.
TYPED_TEST(Extremes, StayZeroWhereNothingArrives) {
  using T = TypeParam;
  std::vector<T> x = extremes<T>();
  for (T more : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
    x.push_back(more);
  for (const Function &function : functions) {
    std::vector<T> dx = slopes<T>(function.ops, x, std::vector<T>(x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(dx[i], T(0)) << function.name << " at " << x[i];
  }
}

// The length of nothing: its slope is infinite, and what it is multiplied by 0.
TYPED_TEST(Extremes, ALengthOfZeroHasTheSlopeZero) {
  using T = TypeParam;
  std::vector<T> dx = slopes<T>("%p = nn.mul %x, %x : (!t, !t) -> !t\n%s = nn.sum %p : (!t) -> !r\n%y = nn.sqrt %s : (!r) -> !r",
                                std::vector<T>(5), {T(2)});
  for (T each : dx)
    EXPECT_EQ(each, T(0));
}

// A value that has overflowed is reported by its gradient, though the steps after it have the slope 0.
TYPED_TEST(Extremes, OverflowIsNotHidden) {
  using T = TypeParam;
  const std::vector<T> x = {T(1000), std::numeric_limits<T>::infinity()}, dy = {T(1), T(1)};
  for (const char *last : {"%y = nn.log %e : (!t) -> !t", "%y = nn.sqrt %e : (!t) -> !t"})
    for (T each : slopes<T>(std::string("%e = nn.exp %x : (!t) -> !t\n") + last, x, dy))
      EXPECT_FALSE(std::isfinite(each)) << last;
}

// The largest entries share the gradient evenly, also where it is infinite; the others have none of it.
TYPED_TEST(Extremes, TheLargestShareWhatArrives) {
  using T = TypeParam;
  const T most = std::numeric_limits<T>::max(), infinity = std::numeric_limits<T>::infinity();
  const std::string ops = "%y = nn.max %x : (!t) -> !r";
  EXPECT_EQ(slopes<T>(ops, {most, 1, most, -most}, {T(1)}), (std::vector<T>{T(0.5), 0, T(0.5), 0}));
  EXPECT_EQ(slopes<T>(ops, {T(0), T(-0.0), T(-1)}, {T(1)}), (std::vector<T>{T(0.5), T(0.5), 0}));
  EXPECT_EQ(slopes<T>(ops, {2, 1, 0}, {infinity}), (std::vector<T>{infinity, 0, 0}));
}
