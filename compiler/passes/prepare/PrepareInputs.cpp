// prepare-inputs: which values each input may have, from the axes that operations look up with them.
#include "compiler/dialects/nn/Nn.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define GEN_PASS_DEF_PREPAREINPUTS
#include "compiler/passes/prepare/Passes.h.inc"

using namespace mlir;
using namespace npar::nn;

namespace {
struct PrepareInputs : ::impl::PrepareInputsBase<PrepareInputs> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    SmallVector<Attribute> inputs;
    for (auto input : micro.getOps<InputOp>())
      inputs.push_back(describe(input));
    getOperation()->setAttr("npar.inputs", ArrayAttr::get(&getContext(), inputs));
    getOperation()->removeAttr("nn.axis_lines");
  }

  Attribute describe(InputOp input) {
    StringAttr axis;
    int64_t classes = 0;
    for (Operation *user : input->getUsers()) // in any order: of equally long axes the one with the lesser name counts
      if (auto indexing = llvm::dyn_cast<IndexingOpInterface>(user); indexing && indexing.getIndices() == input.getResult()) {
        StringAttr candidate = indexing.getIndexedAxis();
        int64_t size = sizeOf(indexing.getIndexed().getType(), candidate);
        if (!axis || size < classes || (size == classes && candidate.getValue() < axis.getValue()))
          axis = candidate, classes = size;
      }
    Builder builder(&getContext());
    NamedAttrList result;
    result.set("name", input.getNameAttr());
    result.set("classes", builder.getI64IntegerAttr(classes));
    result.set("axis", axis ? axis : builder.getStringAttr(""));
    auto lines = getOperation()->getAttrOfType<DictionaryAttr>("nn.axis_lines");
    if (Attribute source = lines && axis ? lines.get(axis) : Attribute())
      result.set("source", source);
    return result.getDictionary(&getContext());
  }
};
} // namespace

std::unique_ptr<Pass> npar::createPrepareInputsPass() { return std::make_unique<PrepareInputs>(); }
