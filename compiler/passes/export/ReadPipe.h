// Reads the pipe dialect into the model for memory allocation: fragments of actions over values, variables per stage, timed tasks.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/pipe/Pipe.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/memory/Allocate.h"

#include "llvm/ADT/MapVector.h"

namespace npar::compiler {

/// The tables that fragments refer to, filled as they are read.
struct Tables {
  explicit Tables(mlir::ModuleOp module);
  program::ProgramT program;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  dist::MeshAttr mesh;
  mlir::StringAttr pipelineAxis;                ///< null without a pipeline
  llvm::StringMap<uint32_t> variables, kernels; ///< by name
  std::vector<uint32_t> spanningEvents;         ///< events of the collectives across stages, by their order in a stage's program
  uint32_t nextEvent = 0;
  cost::Machine machine;                                 ///< as one rank sees it; an uneven one has only links
  double together = 1;                                   ///< ranks that share its cores ...
  cost::LinkLevel pipelineLevel = cost::LinkLevel::Host; ///< between neighbours of the pipeline
  double capacity = 1;                                   ///< ... and how many cores' work these do at once
  /// Reads the mesh of the program, and how many of its ranks share a machine.
  void setMesh(dist::MeshAttr mesh);
  /// Machines as one rank sees them.
  std::vector<cost::Machine> asRanksFind(std::vector<cost::Machine> machines) const;
  llvm::DenseMap<mlir::Attribute, uint32_t> rules; ///< labels of the plan's rules, by their named locations
  uint32_t addLabel(llvm::StringRef name, mlir::Operation *op);
  /// The label of a rule of the plan: its text and its line.
  uint32_t addRule(mlir::NameLoc rule);
};

/// The state of a class while its fragments are read.
struct ClassReader {
  memory::ClassModel model;
  std::vector<cost::Machine> machines;         ///< the machines that its ranks run on, as the ranks see them
  llvm::StringMap<uint32_t> variables, inputs; ///< names to places in the model
  uint32_t spanning = 0;                       ///< collectives that join stages, so far
};

/// Reads the body of a fragment of the class's given chunk. Variables and inputs are added to the class when they first occur.
mlir::LogicalResult readFragment(pipe::FragmentOp fragment, uint32_t chunk, Tables &tables, ClassReader &reader);

/// The place of a variable in the class's model.
uint32_t variableIn(ClassReader &reader, Tables &tables, llvm::StringRef name);

/// Reads a scheduled module whose arithmetic is outlined: one model per stage, tasks with planned times.
mlir::FailureOr<std::vector<memory::ClassModel>> readPipe(Tables &tables);

/// Gives all tasks their planned begin and end from the steps' costs, over all stages together. The update is timed as if it received
/// nothing (`timeUpdates`). Ranks on one machine share its cores.
void timeTasks(const Tables &tables, mlir::MutableArrayRef<memory::ClassModel> classes);

} // namespace npar::compiler
