// Finds segments by kind of operation, by block or by layer path, and refuses plans that name nothing of the model.
#include "compiler/passes/autodiff/Segments.h"

#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LayerPattern.h"

using namespace mlir;
using namespace npar;
using namespace npar::compiler;
using namespace npar::nn;

/// An attention, or the gradient of one.
static bool isAttention(Operation *op) { return isa<AttentionOp, AttentionGradOp>(op); }

static bool keepsProbabilities(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return !attention.keepsLse();
  auto gradient = dyn_cast<AttentionGradOp>(op);
  return gradient && !gradient.keepsLse();
}

FailureOr<Segments> Segments::read(ModuleOp module, func::FuncOp micro, const attributes::RecomputeClause &clause) {
  Segments segments;
  Location loc = clause.loc ? Location(clause.loc) : module.getLoc();
  StringRef name = clause.kind;
  segments.blocks = attributes::blocks.get(module).value_or(0);

  if (name == "block" || name == "every") {
    segments.every = name == "every" ? clause.every.value_or(1) : 1;
    if (segments.every < 1)
      return emitError(loc) << dsl::Code::M7 << "recompute every " << segments.every << ": a segment has at least 1 block";
    if (segments.blocks == 0)
      return emitError(loc) << dsl::Code::M7 << "nothing to recompute: the model repeats no block";
    return segments;
  }
  if (name == "attention") {
    segments.kind = Kind::Attention;
    if (llvm::none_of(micro.getOps(), [](Operation &op) { return isAttention(&op); }))
      return emitError(loc) << dsl::Code::M7 << "nothing to recompute: the model has no operation 'attention'";
    return segments;
  }
  if (name == "layers") {
    segments.kind = Kind::Layers;
    segments.patterns = clause.layers;
    for (StringRef pattern : segments.patterns)
      if (llvm::none_of(micro.getOps(), [&](Operation &op) { return getAt(&op) && matchesLayer(pattern, getAt(&op).getPath()); }))
        return emitError(loc) << dsl::Code::M7 << "nothing to recompute: no layer of the model matches '" << pattern << "'";
    return segments;
  }
  return emitError(loc) << dsl::Code::M7 << "'" << name << "' is nothing that can be recomputed";
}

std::optional<unsigned> Segments::of(Operation *op) {
  std::string name = nameOf(op);
  if (name.empty())
    return std::nullopt;
  return numbers.try_emplace(name, static_cast<unsigned>(numbers.size())).first->second;
}

std::string Segments::nameOf(Operation *op) const {
  AtAttr at = getAt(op);
  if (!at)
    return "";
  StringRef path = at.getPath();
  switch (kind) {
  case Kind::Blocks:
    return at.getBlock() < 0 || at.getBlock() >= blocks ? "" : std::to_string(at.getBlock() / every);
  case Kind::Attention: // what keeps lse makes the probabilities again as it is: to repeat it would save a number per row
    return keepsProbabilities(op) ? ("attention of " + path).str() : "";
  case Kind::Layers: {
    StringRef outermost;
    for (StringRef pattern : patterns)
      if (StringRef layer = matchedLayer(pattern, path); !layer.empty() && (outermost.empty() || layer.size() < outermost.size()))
        outermost = layer;
    return outermost.str();
  }
  }
  return "";
}
