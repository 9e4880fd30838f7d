// prepare-check: whole-program facts of an nn module that no op's verifier can see.
#include "compiler/Coded.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_PREPARECHECK
#include "compiler/passes/prepare/Passes.h.inc"

namespace {
struct PrepareCheck : impl::PrepareCheckBase<PrepareCheck> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro) {
      getOperation().emitError("the program has no function '@micro'");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      checkPlaces(function);
    checkParameters(micro);
    checkIndices(micro);
    if (failedOnce)
      signalPassFailure();
  }

  bool failedOnce = false;
  InFlightDiagnostic fail(Operation *op) {
    failedOnce = true;
    return op->emitError();
  }

  void checkPlaces(func::FuncOp function) {
    function.walk([&](Operation *op) {
      if (llvm::isa<NnDialect>(op->getDialect()) && !getAt(op))
        fail(op) << "'" << op->getName() << "' has no place in the model (attribute 'at')";
    });
  }

  /// An index that counts an axis must stay inside of what it is looked up in; what inputs hold is checked when there are data.
  void checkIndices(func::FuncOp function) {
    function.walk([&](IndexingOpInterface op) {
      auto index = op.getIndices().getDefiningOp<IndexOp>();
      if (!index)
        return;
      int64_t count = index.getType().getDimSize(0), size = sizeOf(op.getIndexed().getType(), op.getIndexedAxis());
      if (count > size)
        fail(op) << dsl::Code::A4 << "index over '" << axesOf(index.getType())[0].getValue() << "' reaches " << count - 1 << ", but axis '"
                 << op.getIndexedAxis().getValue() << "' has size " << size;
    });
  }

  void checkParameters(func::FuncOp function) {
    llvm::StringSet<> used;
    function.walk([&](ReadOp read) { used.insert(read.getVariable()); });
    int64_t expected = 0;
    for (auto variable : getOperation().getOps<VariableOp>()) {
      if (!variable.isKind(VariableKind::Parameter))
        continue;
      if (int64_t(*variable.getIndex()) != expected)
        fail(variable) << "parameter '" << pathOf(variable) << "' has index " << int64_t(*variable.getIndex()) << " but is number "
                       << expected;
      ++expected;
      if (!used.contains(pathOf(variable)) && variable.isTrained())
        fail(variable) << dsl::Code::A16 << "parameter '" << pathOf(variable) << "' does not affect the loss; use its layer or remove it";
    }
  }
};
} // namespace

std::unique_ptr<Pass> createPrepareCheckPass() { return std::make_unique<PrepareCheck>(); }

} // namespace npar::compiler
