// Definitions for all passes of this phase: the pipeline that a plan asks for, its schedule, and the attributes of ops and variables.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/pipe/Pipe.h"
#include "compiler/schedules/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/AnalysisManager.h"

namespace npar::compiler {

/// Module attributes `pipe.axis`, `pipe.schedule`, `pipe.chunks`, `pipe.live`, `pipe.schedule_text`, `pipe.counts`, `npar.micro_count`.
struct Pipeline {
  mlir::StringAttr axis; ///< null without a pipeline
  std::string schedule;  ///< name of a schedule kind, or of the file if `text` is set
  mlir::StringAttr text; ///< the text of the schedule; null: the kind makes it
  int64_t stages = 1;
  int64_t micros = 1;
  int64_t chunks = 0;                ///< per stage; 0: the schedule's own number
  double live = 0;                   ///< most micro-batches that a stage holds at once; 0: no limit
  llvm::SmallVector<int64_t> counts; ///< blocks of each part along the chain, as the plan has them; empty: balanced by cost
};

/// Returns whether an op belongs to the backward of a micro-batch.
inline bool isBackward(mlir::Operation *op) {
  nn::AtAttr at = nn::getAt(op);
  return at && at.getPhase() == nn::Phase::Backward;
}

/// Fails with an error at the module when the attributes make no sense.
mlir::FailureOr<Pipeline> pipelineOf(mlir::ModuleOp module);

/// A read in @micro of a sum over all samples of a step (prepare-totals), or null.
nn::ReadOp readOfTotal(mlir::func::FuncOp micro);

/// Whether no stage holds more micro-batches than the plan allows; fails with an error at its number. A forward-only program holds none.
mlir::LogicalResult checkLive(mlir::ModuleOp module, const Pipeline &pipeline, const schedules::Schedule &schedule);

/// The module's pipe.program; fails with an error at the module when there is none.
mlir::FailureOr<pipe::ProgramOp> programOf(mlir::ModuleOp module);

/// Makes the schedules that passes ask for, or reads them, each once: a search takes long, and a file may be long. As an analysis it lasts
/// from pass to pass; what passes change makes nothing in it wrong, for a schedule follows from the arguments alone.
class ScheduleMaker {
public:
  explicit ScheduleMaker(mlir::Operation *) {}
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

  /// The schedule of this name, or the one in `text` (may be null), made for a request and checked. Fails with an error at `op`.
  mlir::FailureOr<schedules::Schedule> make(mlir::Operation *op, llvm::StringRef name, mlir::StringAttr text, schedules::Request request);

private:
  struct Entry {
    const schedules::ScheduleKind *kind;
    schedules::Request request;
    schedules::Schedule schedule;
  };
  std::vector<Entry> made;                                         ///< schedules that were made and checked
  llvm::DenseMap<mlir::StringAttr, schedules::ReadSchedule> texts; ///< texts that were read and checked

  mlir::FailureOr<schedules::Schedule> read(mlir::Operation *op, llvm::StringRef name, mlir::StringAttr text,
                                            const schedules::Request &request);
};

/// Returns whether the module's program has no backward and no update; reads the kind that autodiff-forward has set.
bool isForwardOnly(mlir::ModuleOp module);

/// The name of a fragment, such as `F3`: phase and place in the chain; S (the prologue) and U have their stage as number.
std::string fragmentName(pipe::Phase phase, int64_t placeOrStage);

/// The parts that @count has ops for, ascending: each has a fragment C, its stage a fragment S. Empty without a prologue.
llvm::SmallVector<int64_t> countedParts(mlir::ModuleOp module);

} // namespace npar::compiler
