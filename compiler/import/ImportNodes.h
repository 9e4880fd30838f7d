// Makes nn operations of a model's nodes, mechanically, as the language's table of nodes says.
#pragma once

#include "compiler/dialects/nn/Nn.h"
#include "dsl/Nodes.h"
#include "dsl/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

class NodeImporter {
public:
  NodeImporter(mlir::MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources, llvm::ArrayRef<int> unrounded);

  /// Names the place in the model that an op belongs to.
  struct At {
    nn::Phase phase;
    llvm::StringRef path;
    int block;
  };

  mlir::Location location(const dsl::Location &at);
  mlir::Type typeOf(program::ElementType type);
  /// Integers are i32 wherever they are computed with.
  mlir::RankedTensorType typeOf(const dsl::TensorType &type);
  /// The type of a parameter's variable. A state is f32 or wider whatever the plan computes in.
  mlir::RankedTensorType typeOf(const dsl::Parameter &parameter);
  int64_t sizeOf(const std::string &axis) const { return sizes.lookup(axis); }

  template <typename Op> Op place(Op op, const dsl::Node &node, nn::Phase phase = nn::Phase::Forward) {
    nn::setAt(op, phase, node.path, node.block);
    return op;
  }
  /// `value`, an f32 or an f64 of the type, where the node is.
  mlir::Value fill(mlir::Location loc, mlir::RankedTensorType type, double value, const dsl::Node &at,
                   nn::Phase phase = nn::Phase::Forward);

  /// Begins a function without operands at the end of the module.
  void beginFunction(mlir::ModuleOp module, llvm::StringRef name);
  void endFunction() { mlir::func::ReturnOp::create(builder, location(model.location)); }

  /// Adds the ops of nodes, in order, and sets their values.
  mlir::LogicalResult addNodes(const std::vector<bool> &needed, llvm::function_ref<At(const dsl::Node &)> where);
  /// The value of targets that do not count in a loss, by its node; null where it ignores none.
  static const int64_t *ignoredTarget(const dsl::Node &loss);
  /// Tells whether some samples may not count: targets that every loss ignores fill up a batch.
  bool fills() const;
  /// Truth values over `batch`: the samples that count, where `at` is. Null if all do. Needs the values of targets.
  mlir::Value countingSamples(const dsl::Node &at);
  /// A text attribute of a node.
  static std::string text(const dsl::Node &node, const std::string &name);

  mlir::OpBuilder builder;
  const dsl::Program &program;
  const dsl::Model &model;
  mlir::Type compute;                    ///< of floats in the function
  llvm::SmallVector<mlir::Value> values; ///< of the nodes that the function needs

private:
  mlir::Attribute attributeOf(dsl::AttributeKind kind, const dsl::Attribute &value);
  std::optional<mlir::NamedAttrList> attributesOf(const dsl::Node &node, const dsl::NodeKind &kind);
  mlir::Type valuesOf(program::ElementType type);
  /// Reads a parameter; the value of a state is converted to the function's type.
  mlir::Value read(const dsl::Node &node, At at);
  mlir::Operation *createOp(const dsl::Node &node, At at);
  /// The value of a `counting` node, with the targets that it needs.
  mlir::Value counting(const dsl::Node &node, llvm::function_ref<At(const dsl::Node &)> where);

  const dsl::Sources &sources;
  llvm::ArrayRef<int> unrounded;
  llvm::StringMap<int64_t> sizes;
  llvm::StringMap<const dsl::Parameter *> states; ///< by their paths
};

} // namespace npar::compiler
