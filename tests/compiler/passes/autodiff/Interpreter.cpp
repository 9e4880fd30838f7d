// One rule: a result element is the sum of a scalar function over the axes that the result lacks.
#include "tests/compiler/passes/autodiff/Interpreter.h"

#include "compiler/dialects/nn/ops/Chain.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace npar::nn;

namespace npar::test {
namespace {

using Scalar = std::function<double(const Index &)>;

void forEach(const Shape &shape, size_t depth, Index &index, const std::function<void()> &body) {
  if (depth == shape.size())
    return body();
  for (int64_t i = 0; i < shape[depth].size; ++i) {
    index[shape[depth].name.getAsOpaquePointer()] = i;
    forEach(shape, depth + 1, index, body);
  }
}

Tensor sumOver(const Shape &result, const Shape &reduced, const Scalar &scalar) {
  Tensor tensor = filled(result);
  Shape loops = result;
  for (const Axis &axis : reduced)
    if (llvm::none_of(loops, [&](const Axis &each) { return each.name == axis.name; }))
      loops.push_back(axis);
  Index index;
  forEach(loops, 0, index, [&] { tensor.data[tensor.offset(index)] += scalar(index); });
  return tensor;
}

Tensor renamed(Tensor tensor, StringAttr from, StringAttr to) {
  for (Axis &axis : tensor.shape)
    if (axis.name == from)
      axis.name = to;
  return tensor;
}

int64_t sizeIn(const Shape &shape, StringAttr name) {
  for (const Axis &axis : shape)
    if (axis.name == name)
      return axis.size;
  return -1;
}

double gelu(double x, bool tanhForm) {
  return tanhForm ? 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
                  : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

double geluSlope(double x, bool tanhForm) {
  if (!tanhForm)
    return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  double c = std::sqrt(2 / M_PI), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

/// Some fixed pseudo-random number in [0, 1) of a site and an element.
double uniform(StringRef site, int64_t element) {
  uint64_t state = static_cast<uint64_t>(element) * 0x9e3779b97f4a7c15ULL;
  for (char c : site)
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<double>((state ^ (state >> 29)) * 0xbf58476d1ce4e5b9ULL >> 11) / 9007199254740992.0;
}

} // namespace

int64_t Tensor::offset(const Index &index) const {
  int64_t place = 0;
  for (const Axis &axis : shape)
    place = place * axis.size + index.at(axis.name.getAsOpaquePointer());
  return place;
}

Shape shapeOf(Type type) {
  Shape shape;
  for (StringAttr name : axesOf(type))
    shape.push_back({name, sizeOf(type, name)});
  return shape;
}

Tensor filled(Shape shape, double value) {
  size_t count = 1;
  for (const Axis &axis : shape)
    count *= static_cast<size_t>(axis.size);
  return {std::move(shape), std::vector<double>(count, value)};
}

bool Interpreter::run(func::FuncOp function) {
  for (Operation &op : function.front().without_terminator())
    if (!elementwise(&op) && !shapes(&op) && !layers(&op))
      return false;
  return true;
}

bool Interpreter::elementwise(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  auto x = [&](const Index &i) { return value(op->getOperand(0)).at(i); };
  auto y = [&](const Index &i) { return value(op->getOperand(1)).at(i); };
  Scalar scalar =
      llvm::TypeSwitch<Operation *, Scalar>(op)
          .Case([&](FillOp fill) { return [v = fill.getValue().convertToDouble()](const Index &) { return v; }; })
          .Case([&](ScaleOp scale) { return [=, v = scale.getFactor().convertToDouble()](const Index &i) { return x(i) * v; }; })
          .Case([&](ShiftOp shift) { return [=, v = shift.getValue().convertToDouble()](const Index &i) { return x(i) + v; }; })
          .Case([&](AddOp) { return [=](const Index &i) { return x(i) + y(i); }; })
          .Case([&](SubOp) { return [=](const Index &i) { return x(i) - y(i); }; })
          .Case<ChainOp, ChainMulOp>([&](Operation *) { return [=](const Index &i) { return x(i) * y(i); }; })
          .Case<ChainDivOp, LogGradOp>([&](Operation *) { return [=](const Index &i) { return x(i) / y(i); }; })
          .Case([&](DivGradOp) {
            auto b = [&](const Index &i) { return value(op->getOperand(2)).at(i); };
            return [=](const Index &i) { return x(i) * y(i) / b(i); };
          })
          .Case([&](MulOp) { return [=](const Index &i) { return x(i) * y(i); }; })
          .Case([&](DivOp) { return [=](const Index &i) { return x(i) / y(i); }; })
          .Case([&](Max2Op) { return [=](const Index &i) { return std::max(x(i), y(i)); }; })
          .Case([&](ExpOp) { return [=](const Index &i) { return std::exp(x(i)); }; })
          .Case([&](LogOp) { return [=](const Index &i) { return std::log(x(i)); }; })
          .Case([&](RsqrtOp) { return [=](const Index &i) { return 1 / std::sqrt(x(i)); }; })
          .Case([&](TanhOp) { return [=](const Index &i) { return std::tanh(x(i)); }; })
          .Case([&](ReluOp) { return [=](const Index &i) { return std::max(x(i), 0.0); }; })
          .Case([&](ConvertOp) { return [=](const Index &i) { return x(i); }; })
          .Case([&](BroadcastOp) { return [=](const Index &i) { return x(i); }; })
          .Case([&](SiluOp) { return [=](const Index &i) { return x(i) / (1 + std::exp(-x(i))); }; })
          .Case([&](SiluGradOp) {
            return [=](const Index &i) {
              double s = 1 / (1 + std::exp(-x(i)));
              return y(i) * (s + x(i) * s * (1 - s));
            };
          })
          .Case([&](GeluOp g) { return [=, t = g.getApproximate() == "tanh"](const Index &i) { return gelu(x(i), t); }; })
          .Case([&](GeluGradOp g) { return [=, t = g.getApproximate() == "tanh"](const Index &i) { return geluSlope(x(i), t) * y(i); }; })
          .Case([&](ReluGradOp) { return [=](const Index &i) { return x(i) > 0 ? y(i) : 0; }; })
          .Case([&](TanhGradOp) { return [=](const Index &i) { return (1 - x(i) * x(i)) * y(i); }; })
          .Case([&](DropoutOp d) {
            const Tensor *whole = &value(op->getOperand(0));
            double rate = d.getRate().convertToDouble();
            return [=, site = d.getSite()](const Index &i) { return uniform(site, whole->offset(i)) >= rate ? x(i) / (1 - rate) : 0; };
          })
          .Default(Scalar());
  if (!scalar)
    return false;
  set(op->getResult(0), sumOver(shapeOf(op->getResult(0).getType()), {}, scalar));
  return true;
}

bool Interpreter::shapes(Operation *op) {
  Shape result = op->getNumResults() ? shapeOf(op->getResult(0).getType()) : Shape();
  auto operand = [&](unsigned i) -> const Tensor & { return value(op->getOperand(i)); };
  auto hits = [](const Tensor &idx, StringAttr axis, const Index &i) {
    return static_cast<int64_t>(idx.at(i)) == i.at(axis.getAsOpaquePointer());
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ReadOp read) { return set(read, variables.at(read.getVariable().str())), true; })
      .Case([&](InputOp input) { return set(input, inputs.at(input.getName().str())), true; })
      .Case([&](AccumulateOp accumulate) {
        Tensor &sum = variables.at(accumulate.getVariable().str());
        const Tensor &more = value(accumulate.getValue());
        for (size_t i = 0; i < sum.data.size(); ++i)
          sum.data[i] += more.data[i];
        return true;
      })
      .Case([&](IndexOp index) {
        const void *axis = result.front().name.getAsOpaquePointer();
        return set(index, sumOver(result, {}, [&](const Index &i) { return static_cast<double>(i.at(axis)); })), true;
      })
      .Case([&](EinsumOp e) {
        Shape reduced = operand(0).shape;
        reduced.insert(reduced.end(), operand(1).shape.begin(), operand(1).shape.end());
        return set(e, sumOver(result, reduced, [&](const Index &i) { return operand(0).at(i) * operand(1).at(i); })), true;
      })
      .Case([&](SumOp s) { return set(s, sumOver(result, operand(0).shape, [&](const Index &i) { return operand(0).at(i); })), true; })
      .Case([&](MaxOp m) {
        Tensor largest = filled(result, -std::numeric_limits<double>::infinity());
        sumOver(operand(0).shape, {}, [&](const Index &i) {
          double &found = largest.data[static_cast<size_t>(largest.offset(i))];
          return found = std::max(found, operand(0).at(i));
        });
        return set(m, largest), true;
      })
      .Case([&](IsMaxOp m) {
        return set(m, sumOver(result, {}, [&](const Index &i) { return operand(0).at(i) == operand(1).at(i) ? 1.0 : 0.0; })), true;
      })
      .Case([&](GatherOp g) {
        return set(g, sumOver(result, operand(0).shape,
                              [&](const Index &i) { return hits(operand(1), g.getAxisAttr(), i) ? operand(0).at(i) : 0; })),
               true;
      })
      .Case([&](ScatterAddOp s) {
        return set(s, sumOver(result, operand(1).shape,
                              [&](const Index &i) { return hits(operand(0), s.getAxisAttr(), i) ? operand(1).at(i) : 0; })),
               true;
      })
      .Case([&](PickOp p) {
        return set(p, sumOver(result, operand(0).shape,
                              [&](const Index &i) { return hits(operand(1), p.getAxisAttr(), i) ? operand(0).at(i) : 0; })),
               true;
      })
      .Case([&](OneHotOp o) {
        return set(o, sumOver(result, {}, [&](const Index &i) { return hits(operand(0), o.getAxisAttr(), i) ? 1.0 : 0.0; })), true;
      })
      .Case([&](SelectOp s) {
        const void *axis = s.getAxisAttr().getAsOpaquePointer();
        int64_t chosen = static_cast<int64_t>(s.getIndex());
        return set(s, sumOver(result, operand(0).shape, [&](const Index &i) { return i.at(axis) == chosen ? operand(0).at(i) : 0; })), true;
      })
      .Case([&](StackOp s) {
        const void *axis = s.getAxisAttr().getAsOpaquePointer();
        return set(s, sumOver(result, {}, [&](const Index &i) { return operand(static_cast<unsigned>(i.at(axis))).at(i); })), true;
      })
      .Case([&](RenameOp r) { return set(r, renamed(operand(0), r.getFromAttr(), r.getToAttr())), true; })
      .Default(false);
}

bool Interpreter::layers(Operation *op) {
  auto shape = [&](unsigned i) { return shapeOf(op->getResult(i).getType()); };
  if (auto norm = llvm::dyn_cast<LayerNormOp>(op)) {
    const Tensor &x = value(norm.getX()), &gamma = value(norm.getGamma()), &beta = value(norm.getBeta());
    double n = static_cast<double>(sizeIn(x.shape, norm.getAxisAttr())), epsilon = norm.getEpsilon().convertToDouble();
    Tensor mean = sumOver(shape(1), x.shape, [&](const Index &i) { return x.at(i) / n; });
    Tensor rstd = sumOver(shape(2), x.shape, [&](const Index &i) { return (x.at(i) - mean.at(i)) * (x.at(i) - mean.at(i)) / n; });
    for (double &each : rstd.data)
      each = 1 / std::sqrt(each + epsilon);
    set(norm.getY(), sumOver(shape(0), {}, [&](const Index &i) { return (x.at(i) - mean.at(i)) * rstd.at(i) * gamma.at(i) + beta.at(i); }));
    set(norm.getMean(), mean);
    set(norm.getRstd(), rstd);
    return true;
  }
  if (auto grad = llvm::dyn_cast<LayerNormGradOp>(op)) {
    const Tensor &x = value(grad.getX()), &gamma = value(grad.getGamma()), &mean = value(grad.getMean()), &rstd = value(grad.getRstd()),
                 &dy = value(grad.getDy());
    double n = static_cast<double>(sizeIn(x.shape, grad.getAxisAttr()));
    auto hat = [&](const Index &i) { return (x.at(i) - mean.at(i)) * rstd.at(i); };
    Tensor first = sumOver(mean.shape, x.shape, [&](const Index &i) { return dy.at(i) * gamma.at(i) / n; });
    Tensor second = sumOver(mean.shape, x.shape, [&](const Index &i) { return dy.at(i) * gamma.at(i) * hat(i) / n; });
    set(grad.getDx(),
        sumOver(shape(0), {}, [&](const Index &i) { return rstd.at(i) * (dy.at(i) * gamma.at(i) - first.at(i) - hat(i) * second.at(i)); }));
    set(grad.getDgamma(), sumOver(shape(1), x.shape, [&](const Index &i) { return dy.at(i) * hat(i); }));
    set(grad.getDbeta(), sumOver(shape(2), x.shape, [&](const Index &i) { return dy.at(i); }));
    return true;
  }
  if (auto norm = llvm::dyn_cast<RmsNormOp>(op)) {
    const Tensor &x = value(norm.getX()), &gamma = value(norm.getGamma());
    double n = static_cast<double>(sizeIn(x.shape, norm.getAxisAttr())), epsilon = norm.getEpsilon().convertToDouble();
    Tensor rstd = sumOver(shape(1), x.shape, [&](const Index &i) { return x.at(i) * x.at(i) / n; });
    for (double &each : rstd.data)
      each = 1 / std::sqrt(each + epsilon);
    set(norm.getY(), sumOver(shape(0), {}, [&](const Index &i) { return x.at(i) * rstd.at(i) * gamma.at(i); }));
    set(norm.getRstd(), rstd);
    return true;
  }
  if (auto grad = llvm::dyn_cast<RmsNormGradOp>(op)) {
    const Tensor &x = value(grad.getX()), &gamma = value(grad.getGamma()), &rstd = value(grad.getRstd()), &dy = value(grad.getDy());
    double n = static_cast<double>(sizeIn(x.shape, grad.getAxisAttr()));
    Tensor mean = sumOver(rstd.shape, x.shape, [&](const Index &i) { return dy.at(i) * gamma.at(i) * x.at(i) * rstd.at(i) / n; });
    set(grad.getDx(),
        sumOver(shape(0), {}, [&](const Index &i) { return rstd.at(i) * (dy.at(i) * gamma.at(i) - x.at(i) * rstd.at(i) * mean.at(i)); }));
    set(grad.getDgamma(), sumOver(shape(1), x.shape, [&](const Index &i) { return dy.at(i) * x.at(i) * rstd.at(i); }));
    return true;
  }
  auto softmax = [&](const Tensor &x, StringAttr axis) {
    Shape rest;
    llvm::copy_if(x.shape, std::back_inserter(rest), [&](const Axis &each) { return each.name != axis; });
    Tensor sum = sumOver(rest, x.shape, [&](const Index &i) { return std::exp(x.at(i)); });
    return sumOver(x.shape, {}, [&](const Index &i) { return std::exp(x.at(i)) / sum.at(i); });
  };
  auto softmaxGrad = [&](const Tensor &y, const Tensor &dy, StringAttr axis) {
    Shape rest;
    llvm::copy_if(y.shape, std::back_inserter(rest), [&](const Axis &each) { return each.name != axis; });
    Tensor sum = sumOver(rest, y.shape, [&](const Index &i) { return y.at(i) * dy.at(i); });
    return sumOver(y.shape, {}, [&](const Index &i) { return y.at(i) * (dy.at(i) - sum.at(i)); });
  };
  if (auto soft = llvm::dyn_cast<SoftmaxOp>(op))
    return set(soft, softmax(value(soft.getX()), soft.getAxisAttr())), true;
  if (auto grad = llvm::dyn_cast<SoftmaxGradOp>(op))
    return set(grad, softmaxGrad(value(grad.getY()), value(grad.getDy()), grad.getAxisAttr())), true;
  if (auto attention = llvm::dyn_cast<AttentionOp>(op)) {
    StringAttr seq = attention.getSeqAttr(), key = attention.getKeyAttr();
    const Tensor &q = value(attention.getQ());
    Tensor k = renamed(value(attention.getK()), seq, key), v = renamed(value(attention.getV()), seq, key);
    double scale = attention.getScale().convertToDouble();
    Tensor scores = sumOver(shape(1), q.shape, [&](const Index &i) { return scale * q.at(i) * k.at(i); });
    if (attention.getCausal())
      scores = sumOver(scores.shape, {}, [&](const Index &i) {
        return i.at(key.getAsOpaquePointer()) > i.at(seq.getAsOpaquePointer()) ? -1e30 : scores.at(i);
      });
    Tensor probs = softmax(scores, key);
    set(attention.getOut(), sumOver(shape(0), v.shape, [&](const Index &i) { return probs.at(i) * v.at(i); }));
    set(attention.getProbs(), probs);
    return true;
  }
  if (auto grad = llvm::dyn_cast<AttentionGradOp>(op)) {
    StringAttr seq = grad.getSeqAttr(), key = grad.getKeyAttr();
    const Tensor &q = value(grad.getQ()), &probs = value(grad.getProbs()), &dout = value(grad.getDout());
    Tensor k = renamed(value(grad.getK()), seq, key), v = renamed(value(grad.getV()), seq, key);
    double scale = grad.getScale().convertToDouble();
    Tensor dprobs = sumOver(probs.shape, dout.shape, [&](const Index &i) { return dout.at(i) * v.at(i); });
    Tensor dscores = softmaxGrad(probs, dprobs, key);
    set(grad.getDq(), sumOver(shape(0), probs.shape, [&](const Index &i) { return scale * dscores.at(i) * k.at(i); }));
    set(grad.getDk(), renamed(sumOver(k.shape, probs.shape, [&](const Index &i) { return scale * dscores.at(i) * q.at(i); }), key, seq));
    set(grad.getDv(), renamed(sumOver(v.shape, probs.shape, [&](const Index &i) { return probs.at(i) * dout.at(i); }), key, seq));
    return true;
  }
  auto isTarget = [&](const Tensor &targets, StringAttr axis, const Index &i) {
    return static_cast<int64_t>(targets.at(i)) == i.at(axis.getAsOpaquePointer());
  };
  auto numberOf = [](std::optional<llvm::APFloat> number) { return number ? number->convertToDouble() : 0; };
  auto classesOf = [](Value logits, StringAttr axis) { return static_cast<double>(sizeOf(logits.getType(), axis)); };
  if (auto loss = llvm::dyn_cast<CrossEntropyOp>(op)) {
    const Tensor &x = value(loss.getLogits()), &targets = value(loss.getTargets());
    Tensor lse = sumOver(shape(1), x.shape, [&](const Index &i) { return std::exp(x.at(i)); });
    for (double &each : lse.data)
      each = std::log(each);
    Tensor chosen = sumOver(shape(0), x.shape, [&](const Index &i) { return isTarget(targets, loss.getAxisAttr(), i) ? x.at(i) : 0; });
    Tensor all = sumOver(shape(0), x.shape, [&](const Index &i) { return x.at(i); });
    double smoothing = numberOf(loss.getSmoothing()), zLoss = numberOf(loss.getZLoss()),
           classes = classesOf(loss.getLogits(), loss.getAxisAttr());
    set(loss.getLoss(), sumOver(shape(0), {}, [&](const Index &i) {
          return lse.at(i) - (1 - smoothing) * chosen.at(i) - smoothing / classes * all.at(i) + zLoss * lse.at(i) * lse.at(i);
        }));
    set(loss.getLse(), lse);
    return true;
  }
  if (auto grad = llvm::dyn_cast<CrossEntropyGradOp>(op)) {
    const Tensor &x = value(grad.getLogits()), &targets = value(grad.getTargets()), &lse = value(grad.getLse()),
                 &dloss = value(grad.getDloss());
    double smoothing = numberOf(grad.getSmoothing()), zLoss = numberOf(grad.getZLoss()),
           classes = classesOf(grad.getLogits(), grad.getAxisAttr());
    return set(grad, sumOver(shape(0), {},
                             [&](const Index &i) {
                               double probability = std::exp(x.at(i) - lse.at(i)) * (1 + 2 * zLoss * lse.at(i));
                               double target = (1 - smoothing) * isTarget(targets, grad.getAxisAttr(), i) + smoothing / classes;
                               return (probability - target) * dloss.at(i);
                             })),
           true;
  }
  return false;
}

} // namespace npar::test
