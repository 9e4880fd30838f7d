// Reads layouts off the types of operations.
#include "compiler/PlacedValues.h"

#include "compiler/MlirDiagnostics.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/passes/export/LayoutText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar::compiler {
namespace {

class ListPlacedValues : public PassWrapper<ListPlacedValues, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListPlacedValues)

  ListPlacedValues(const dsl::Sources &sources, std::vector<PlacedValue> &values) : sources(sources), values(values) {}
  StringRef getArgument() const override { return "list-placed-values"; }

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      nn::AtAttr at = nn::getAt(op);
      if (!at || at.getPhase() != program::Phase::Forward || op->getNumResults() == 0)
        return;
      auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
      if (!type || !dist::layoutOf(type))
        return;
      PlacedValue value;
      value.at = toUserText(op->getLoc(), sources);
      value.path = at.getPath().str();
      value.layout = layoutText(type);
      value.shape.assign(type.getShape().begin(), type.getShape().end());
      value.bytes = type.getNumElements() * static_cast<int64_t>((type.getElementTypeBitWidth() + 7) / 8);
      if (value.at.line != 0)
        values.push_back(std::move(value));
    });
    markAllAnalysesPreserved();
  }

private:
  const dsl::Sources &sources;
  std::vector<PlacedValue> &values;
};

} // namespace

std::unique_ptr<Pass> createListPlacedValues(const dsl::Sources &sources, std::vector<PlacedValue> &values) {
  return std::make_unique<ListPlacedValues>(sources, values);
}

} // namespace npar::compiler
