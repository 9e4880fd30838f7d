// The meaning of nn ops in the plainest possible way, on doubles: the reference that gradients are compared with.
#pragma once

#include "compiler/dialects/nn/Nn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>

namespace npar::test {

struct Axis {
  mlir::StringAttr name;
  int64_t size;
};
using Shape = std::vector<Axis>;

/// An index for each axis name.
using Index = std::map<const void *, int64_t>;

struct Tensor {
  Shape shape;
  std::vector<double> data;
  int64_t offset(const Index &index) const;
  double at(const Index &index) const { return data[offset(index)]; }
};

Shape shapeOf(mlir::Type type);
/// A tensor of one value.
Tensor filled(Shape shape, double value = 0);

/// Runs a function of nn ops. Variables keep their values; accumulators are to be zeroed before.
class Interpreter {
public:
  std::map<std::string, Tensor> variables, inputs;
  /// False when an op is unknown to it.
  bool run(mlir::func::FuncOp function);

private:
  std::map<void *, Tensor> values;
  const Tensor &value(mlir::Value of) { return values.at(of.getAsOpaquePointer()); }
  void set(mlir::Value of, Tensor tensor) { values[of.getAsOpaquePointer()] = std::move(tensor); }
  bool elementwise(mlir::Operation *op);
  bool shapes(mlir::Operation *op);
  bool layers(mlir::Operation *op);
};

} // namespace npar::test
