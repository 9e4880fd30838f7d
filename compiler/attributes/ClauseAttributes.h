// The clauses of a plan that have several fields, as structs: import writes them to the module, the phases that apply them read them.
// Texts are views of the attributes, or, for writing, of the caller's strings.
#pragma once

#include "engine/program/Enums_generated.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::attributes {

/// `dist.stores` = [{what = "gradients", mesh = ["dp"], per_step, loc}]: what is dealt out flat over mesh axes (RULES.md#P7).
struct StoreClause {
  llvm::StringRef what; ///< "parameters", "gradients", "optimizer" or "secondary"
  llvm::SmallVector<mlir::StringAttr> mesh;
  bool perStep = false;   ///< gradients are dealt out once per step, not in each micro-batch
  mlir::LocationAttr loc; ///< null if unknown, here and below
};
llvm::SmallVector<StoreClause> getStores(mlir::ModuleOp module);
void setStores(mlir::ModuleOp module, llvm::ArrayRef<StoreClause> clauses);

/// `npar.tiers` = [{what = "optimizer", tier = "host", share = 1.0, folder, loc}]: what is stored outside of the device, and how much of it.
struct TierClause {
  llvm::StringRef what; ///< "parameters" or "optimizer"
  program::Tier tier = program::Tier::Host;
  double share = 1;
  llvm::StringRef folder; ///< of files
  mlir::LocationAttr loc;
};
llvm::SmallVector<TierClause> getTiers(mlir::ModuleOp module);
void setTiers(mlir::ModuleOp module, llvm::ArrayRef<TierClause> clauses);

/// `npar.recompute` = {kind = "attention" | "block" | "every" | "layers", k, layers, loc}.
struct RecomputeClause {
  llvm::StringRef kind;
  std::optional<int64_t> every;              ///< `k`: blocks per segment
  llvm::SmallVector<llvm::StringRef> layers; ///< patterns
  mlir::LocationAttr loc;
};
std::optional<RecomputeClause> getRecompute(mlir::ModuleOp module);
void setRecompute(mlir::ModuleOp module, const RecomputeClause &clause);

/// `npar.experts` = {buffer = 2.0, loc}: the rows that ranks reserve for experts, as a multiple of those of a balanced load.
struct ExpertBufferClause {
  double buffer = 0;
  mlir::LocationAttr loc;
};
std::optional<ExpertBufferClause> getExpertBuffer(mlir::ModuleOp module);
void setExpertBuffer(mlir::ModuleOp module, const ExpertBufferClause &clause);

/// `dist.servers` = {axis = "dp", loc}: the first rank along the axis holds the optimizer of all ranks along it (`central`).
struct ServersClause {
  mlir::StringAttr axis;
  mlir::LocationAttr loc;
};
std::optional<ServersClause> getServers(mlir::ModuleOp module);
void setServers(mlir::ModuleOp module, const ServersClause &clause);

/// `keep WHAT in TYPE`: a group of operations, a kind of operation, or the operations of a layer.
struct KeepClause {
  llvm::StringRef what;
  bool layer = false; ///< `what` is the pattern of a layer
  mlir::Type type;
  mlir::LocationAttr loc;
};

/// `nn.precision` = {compute = bf16, gradients = f32, reduce = f32, keep = [{what, layer, type, loc}]}. Types are null if not given.
struct PrecisionClause {
  mlir::Type compute, gradients, reduce;
  std::vector<KeepClause> keeps;
};
std::optional<PrecisionClause> getPrecision(mlir::ModuleOp module);
void setPrecision(mlir::ModuleOp module, const PrecisionClause &clause);

/// `npar.require` = {memory, memory_loc, bubble, bubble_loc}: the limits that the plan sets.
struct LimitsClause {
  std::optional<int64_t> memory; ///< bytes per rank
  std::optional<double> bubble;  ///< share of a step, 0 to 1
  mlir::LocationAttr memoryLoc, bubbleLoc;
};
std::optional<LimitsClause> getLimits(mlir::ModuleOp module);
void setLimits(mlir::ModuleOp module, const LimitsClause &clause);

/// `npar.place` = {order = ["pp", "dp"], inside = ["tp"], loc}: mesh axes in the order in which ranks take the slots of hosts, and those
/// whose groups stay inside a host.
struct PlaceClause {
  std::vector<std::string> order, inside;
  mlir::LocationAttr loc;
};
std::optional<PlaceClause> getPlace(mlir::ModuleOp module);
void setPlace(mlir::ModuleOp module, const PlaceClause &clause);

} // namespace npar::attributes
