// Phase schedule: stages, fragments, transfers, and the order of tasks (RULES.md#P9, N2).
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace npar::compiler {

std::unique_ptr<mlir::Pass> createScheduleStagesPass();
std::unique_ptr<mlir::Pass> createScheduleRecomputePass();
std::unique_ptr<mlir::Pass> createScheduleRepeatPass();
std::unique_ptr<mlir::Pass> createScheduleServersPass();
std::unique_ptr<mlir::Pass> createScheduleFragmentsPass();
std::unique_ptr<mlir::Pass> createScheduleTasksPass();
std::unique_ptr<mlir::Pass> createScheduleBucketsPass();
std::unique_ptr<mlir::Pass> createVerifyPipePass();

/// The phase only as far as parts and orders: @micro and @update stay.
void buildTaskPipeline(mlir::OpPassManager &manager);

/// The phase: placed program in (@micro and @update), pipe program out. `verified`: end with `verify-pipe`.
void buildSchedulePipeline(mlir::OpPassManager &manager, bool verified = true);

/// Registers the passes and the pipeline `schedule` for npar-opt.
void registerSchedulePasses();

} // namespace npar::compiler
