// The order of the phase's passes, and their registration.
#include "compiler/passes/schedule/Schedule.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace npar::compiler {

void buildTaskPipeline(mlir::OpPassManager &manager) {
  manager.addPass(createScheduleStagesPass());
  manager.addPass(createScheduleRecomputePass());
  manager.addPass(createScheduleTasksPass());
}

void buildSchedulePipeline(mlir::OpPassManager &manager, bool verified) {
  buildTaskPipeline(manager);
  manager.addPass(createScheduleRepeatPass());
  manager.addPass(createScheduleServersPass());
  manager.addPass(createScheduleFragmentsPass());
  manager.addPass(createScheduleBucketsPass());
  if (verified)
    manager.addPass(createVerifyPipePass());
}

void registerSchedulePasses() {
  mlir::registerPass(createScheduleStagesPass);
  mlir::registerPass(createScheduleRecomputePass);
  mlir::registerPass(createScheduleRepeatPass);
  mlir::registerPass(createScheduleTasksPass);
  mlir::registerPass(createScheduleServersPass);
  mlir::registerPass(createScheduleFragmentsPass);
  mlir::registerPass(createScheduleBucketsPass);
  mlir::registerPass(createVerifyPipePass);
  mlir::PassPipelineRegistration<>("schedule", "stages, order of tasks, fragments, buckets",
                                   [](mlir::OpPassManager &manager) { buildSchedulePipeline(manager); });
}

} // namespace npar::compiler
