// prepare-check: whole-program facts of an nn module that no op's verifier can see.
#include "compiler/dialects/nn/Nn.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#define GEN_PASS_DEF_PREPARECHECK
#include "compiler/passes/prepare/Passes.h.inc"

using namespace mlir;
using namespace npar::nn;

namespace {
struct PrepareCheck : ::impl::PrepareCheckBase<PrepareCheck> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro) {
      getOperation().emitError("the program has no function '@micro'");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      checkPlaces(function);
    checkParameters(micro);
    checkInputs(micro);
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

  /// The engine feeds rows of one token file: the tokens and, shifted by one, the targets.
  void checkInputs(func::FuncOp function) {
    InputOp first;
    function.walk([&](InputOp input) {
      ArrayRef<StringAttr> axes = axesOf(input.getType());
      if (llvm::isa<FloatType>(getElementTypeOrSelf(input.getType()))) {
        InFlightDiagnostic error = fail(input);
        error << "input '" << input.getName() << "' is of floats, but the data are tokens and targets, of type i32";
        error.attachNote(input.getLoc()) << "help: look up vectors for the tokens: an Embedding of 'tokens: i32[batch, seq]'";
      } else if (input.getName() != "tokens" && input.getName() != "targets") {
        InFlightDiagnostic error = fail(input);
        error << "input '" << input.getName() << "' cannot be fed: the data are 'tokens' and 'targets'";
        error.attachNote(input.getLoc()) << "help: call what is looked up 'tokens' and what the loss compares with 'targets'";
      } else if (axes.size() != 2 || axes.front() != "batch") {
        InFlightDiagnostic error = fail(input);
        error << "input '" << input.getName() << "' is over [" << joined(axes)
              << "], but the data are sequences, one for each of the batch";
        error.attachNote(input.getLoc()) << "help: write 'input tokens, targets: i32[batch, seq]', with the sequence's axis for 'seq'";
      } else if (!first) {
        first = input;
      } else if (axes.back() != axesOf(first.getType()).back()) {
        InFlightDiagnostic error = fail(input);
        error << "input '" << input.getName() << "' is over [" << joined(axes) << "] and input '" << first.getName() << "' over ["
              << joined(axesOf(first.getType())) << "], but both are of the same sequences";
        error.attachNote(first.getLoc()) << "declared here";
      }
    });
  }

  static std::string joined(ArrayRef<StringAttr> names) {
    std::string text;
    for (StringAttr name : names)
      text += (text.empty() ? "" : ", ") + name.str();
    return text;
  }

  void checkParameters(func::FuncOp function) {
    llvm::StringSet<> used;
    function.walk([&](ReadOp read) { used.insert(read.getVariable()); });
    int64_t expected = 0;
    for (auto variable : getOperation().getOps<VariableOp>()) {
      if (!variable.isKind(VariableKind::Parameter))
        continue;
      if (int64_t(*variable.getIndex()) != expected)
        fail(variable) << "parameter '" << variable.getSymName() << "' has index " << int64_t(*variable.getIndex()) << " but is number "
                       << expected;
      ++expected;
      if (!used.contains(variable.getSymName()))
        fail(variable) << "parameter '" << variable.getSymName() << "' does not affect the loss; use its layer or remove it";
    }
  }
};
} // namespace

std::unique_ptr<Pass> npar::createPrepareCheckPass() { return std::make_unique<PrepareCheck>(); }
