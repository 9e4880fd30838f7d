// prepare-inputs: what the engine has to know of each input: its values, from the axes that operations look up with them and the losses
// that compare them with 0 and 1, and what a stream of tokens gives it.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_PREPAREINPUTS
#include "compiler/passes/prepare/Passes.h.inc"

namespace {
struct PrepareInputs : impl::PrepareInputsBase<PrepareInputs> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    auto inputs = llvm::to_vector(micro.getOps<InputOp>());
    findStream(inputs);
    std::vector<attributes::InputEntry> described;
    for (InputOp input : inputs)
      described.push_back(describe(input));
    attributes::setInputs(getOperation(), described);
    attributes::axisLines.remove(getOperation());
  }

  InputOp stream, shifted; ///< null: none

  static bool isInteger(InputOp input) { return getElementTypeOrSelf(input.getType()).isInteger(); }

  /// The loss that compares its logits with the input; null if `use` is no such use.
  static CrossEntropyOp lossOf(OpOperand &use) {
    auto loss = llvm::dyn_cast<CrossEntropyOp>(use.getOwner());
    return loss && use.getOperandNumber() == loss.getTargetsMutable().getOperandNumber() ? loss : CrossEntropyOp();
  }

  /// Returns whether an input is only compared: with the logits of a loss and, in conditions, with numbers or predictions.
  static bool isCompared(InputOp input) {
    auto compares = [](OpOperand &use) { return lossOf(use) || isa<CompareOp, KeepValidOp>(use.getOwner()); };
    return llvm::all_of(input->getUses(), compares) && llvm::any_of(input->getUses(), [](OpOperand &use) { return bool(lossOf(use)); });
  }

  /// A stream of tokens feeds integers over [batch, SEQ]: the input that is only compared with logits gets the shifted tokens, the other
  /// one the tokens. If several inputs qualify, none is chosen.
  void findStream(ArrayRef<InputOp> inputs) {
    SmallVector<InputOp> compared, others;
    for (InputOp input : inputs)
      if (isInteger(input) && input.getType().getRank() == 2)
        (isCompared(input) ? compared : others).push_back(input);
    if (compared.size() == 1)
      llvm::erase_if(others, [&](InputOp input) { return input.getType().getEncoding() != compared[0].getType().getEncoding(); });
    if (compared.size() > 1 || others.size() > 1 || (others.empty() && inputs.size() > 1))
      return;
    shifted = compared.empty() ? InputOp() : compared[0];
    stream = others.empty() ? InputOp() : others[0];
  }

  /// The op that states a bound for the input's integers although they index no axis; null if no op does.
  static ToFloatOp boundOf(InputOp input) {
    for (Operation *user : input->getUsers())
      if (auto target = llvm::dyn_cast<ToFloatOp>(user); target && target.getBelow())
        return target;
    return {};
  }

  attributes::InputEntry describe(InputOp input) {
    StringAttr axis;
    IntegerAttr ignore;
    int64_t classes = 0;
    LocationAttr source;
    if (ToFloatOp target = boundOf(input))
      axis = StringAttr::get(&getContext(), ""), classes = static_cast<int64_t>(*target.getBelow()), source = target.getLoc();
    for (OpOperand &use : input->getUses()) { // in any order: of equally long axes the one with the lesser name counts
      auto indexing = llvm::dyn_cast<IndexingOpInterface>(use.getOwner());
      if (!indexing || indexing.getIndices() != input.getResult())
        continue;
      StringAttr candidate = indexing.getIndexedAxis();
      int64_t size = sizeOf(indexing.getIndexed().getType(), candidate);
      if (!axis || size < classes || (size == classes && candidate.getValue() < axis.getValue()))
        axis = candidate, classes = size;
      if (CrossEntropyOp loss = lossOf(use); loss && loss.getIgnoreAttr())
        ignore = loss.getIgnoreAttr();
    }
    if (ignore)
      checkIgnored(input, ignore.getInt());
    Builder builder(&getContext());
    attributes::InputEntry result;
    result.name = input.getNameAttr();
    result.type = input.getValues() ? withElement(input.getType(), *input.getValues()) : Type(input.getType());
    result.classes = classes;
    result.axis = axis ? axis : builder.getStringAttr("");
    if (auto lines = attributes::axisLines.get(getOperation()); axis && !axis.empty())
      source = lines ? lines.getAs<LocationAttr>(axis) : LocationAttr();
    result.source = source;
    if (input == stream || input == shifted)
      result.role = builder.getStringAttr(
          npar::program::wordOf(input == stream ? npar::program::InputRole::Stream : npar::program::InputRole::Shifted));
    result.ignore = ignore;
    return result;
  }

  /// A value that the loss leaves out must be an entry of every other axis that the input is looked up on.
  void checkIgnored(InputOp input, int64_t value) {
    for (OpOperand &use : input->getUses()) {
      auto indexing = llvm::dyn_cast<IndexingOpInterface>(use.getOwner());
      CrossEntropyOp loss = lossOf(use);
      if (!indexing || indexing.getIndices() != input.getResult() || (loss && loss.getIgnore()))
        continue;
      int64_t size = sizeOf(indexing.getIndexed().getType(), indexing.getIndexedAxis());
      if (value >= 0 && value < size)
        continue;
      InFlightDiagnostic error = use.getOwner()->emitError() << dsl::Code::A16;
      error << "input '" << input.getName() << "' is looked up here on axis '" << indexing.getIndexedAxis().getValue() << "' of size "
            << size << ", but can have the value " << value << ", which the loss ignores";
      error.attachNote(input.getLoc()) << "help: use a separate input for the loss's targets, or ignore one of 0 to " << size - 1;
      return signalPassFailure();
    }
  }
};
} // namespace

std::unique_ptr<Pass> createPrepareInputsPass() { return std::make_unique<PrepareInputs>(); }

} // namespace npar::compiler
