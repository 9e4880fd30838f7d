// All attributes that import, passes, export and codegen pass to each other on the module and on operations. Their names occur only here
// (tests/end_to_end/test_layering.py checks it); ClauseAttributes.h and TableAttributes.h read and write those with fields as structs.
#pragma once

#include "compiler/attributes/TypedAttribute.h"

namespace npar::dist {
class MeshAttr;
class RuleAttr;
} // namespace npar::dist

namespace npar::nn {
class AtAttr;
} // namespace npar::nn

namespace npar::attributes {

//===- The program, on the module -------------------------------------------------------------------------------------------===//

/// Names of the declarations in the user's text.
inline constexpr Text model{"npar.model"}, plan{"npar.plan"}, train{"npar.train"};
/// Samples per training step.
inline constexpr Integer batch{"npar.batch"};
/// Micro-batches per training step.
inline constexpr Integer microCount{"npar.micro_count"};
/// The bits of the unsigned seed.
inline constexpr Integer seed{"npar.seed"};
/// Blocks that the model repeats; 0 if it repeats none.
inline constexpr Integer blocks{"npar.blocks"};
/// Groups of parameters in the train block, if there are several.
inline constexpr List<mlir::StringAttr> groups{"npar.groups"};
/// Says what the program is for; autodiff-forward sets it, and training programs lack it.
inline constexpr Word<program::ProgramKind> kind{"npar.kind"};
/// Floating-point operations of the model's products in a training step.
inline constexpr Real flops{"npar.flops"};
/// The machine that times are planned for: read and written by dialects/dist/ModuleMachine.h.
inline constexpr Value<mlir::DictionaryAttr> machine{"npar.machine"};
/// Left by autodiff-forward on a module whose text does not show that positions depend on earlier ones only: generation must test it.
inline constexpr Mark untestedPositions{"npar.untested_positions"};
/// Lists and blocks whose fields TableAttributes.h has as structs.
inline constexpr List<mlir::DictionaryAttr> inputs{"npar.inputs"}, measures{"npar.measures"}, predictions{"npar.predictions"},
    checkpointRules{"npar.checkpoint"}, savedValues{"npar.saved"}, routings{"npar.routings"};
inline constexpr Value<mlir::DictionaryAttr> dataBlock{"npar.data"}, productFlops{"npar.products"};

//===- Training, on the module ----------------------------------------------------------------------------------------------===//

/// The terms of the loss: read and written by dialects/nn/LossTerms.h.
inline constexpr List<mlir::DictionaryAttr> losses{"nn.losses"};
/// The train block's own optimizer, then those of rules, by their numbers on `nn.variable`: dialects/nn/OptimizerAttributes.h.
inline constexpr List<mlir::Attribute> optimizers{"nn.optimizers"};
/// The learning rates of the same, and the epochs that the train block asks for: what a run must know of them.
inline constexpr List<mlir::DictionaryAttr> rates{"npar.rates"};
inline constexpr Real epochs{"npar.epochs"};
/// The largest norm of the gradients.
inline constexpr Real clip{"nn.clip"};
/// Gives the line that declares each axis of the model.
inline constexpr Value<mlir::DictionaryAttr> axisLines{"nn.axis_lines"};

//===- The plan, on the module ----------------------------------------------------------------------------------------------===//

inline constexpr Value<dist::MeshAttr> mesh{"dist.mesh"};
/// The lines that declare the axes of the mesh, in its order.
inline constexpr List<mlir::LocationAttr> meshLines{"dist.mesh_lines"};
/// The rules of `split`, in the plan's order.
inline constexpr List<dist::RuleAttr> rules{"dist.rules"};
/// Largest number of bytes of a bucket of reductions.
inline constexpr Integer bucketBytes{"dist.bucket"};
/// Reductions over several mesh axes are scattered over the last one first.
inline constexpr Mark hierarchical{"dist.hierarchical"};
/// A library may add up in its own order.
inline constexpr Mark librarySums{"dist.library"};
/// Names the order of products of bf16; absent if it is the processor's.
inline constexpr Word<program::ProductOrder> productOrder{"npar.product_order"};
/// Sums of 16-bit floats between ranks round after each addition.
inline constexpr Mark roundedSums{"dist.rounded_sums"};
/// Gives the number of ranks of each axis that is in zigzag order in memory: `{seq = 4}`.
inline constexpr Value<mlir::DictionaryAttr> zigzag{"dist.zigzag"};
/// The name of a schedule kind, or of the file whose text `scheduleText` is.
inline constexpr Text schedule{"pipe.schedule"}, scheduleText{"pipe.schedule_text"};
/// The mesh axis of the pipeline.
inline constexpr Text pipelineAxis{"pipe.axis"};
/// Parts of the model per stage; 0 for the schedule's own number.
inline constexpr Integer chunks{"pipe.chunks"};
/// Blocks of each part along the chain.
inline constexpr Value<mlir::DenseI64ArrayAttr> partSizes{"pipe.counts"};
/// Largest number of micro-batches that a stage holds at once, and the line that states it.
inline constexpr Real live{"pipe.live"};
inline constexpr Value<mlir::LocationAttr> liveLine{"pipe.live_loc"};
/// Clauses whose fields ClauseAttributes.h has as structs.
inline constexpr List<mlir::DictionaryAttr> stores{"dist.stores"}, tiers{"npar.tiers"};
inline constexpr Value<mlir::DictionaryAttr> recompute{"npar.recompute"}, precision{"nn.precision"}, limits{"npar.require"},
    placement{"npar.place"}, expertBuffer{"npar.experts"}, servers{"dist.servers"};

//===- On operations --------------------------------------------------------------------------------------------------------===//

/// On a moving operation: the rules and clauses of the plan that ask for it, each the text as the user would write it at its line. Kept
/// through all phases, for `npar inspect why`.
inline constexpr List<mlir::NameLoc> causingRules{"dist.rule"};
/// Lists the data of an attention, or of its gradient, that have both queries and keys, by number.
inline constexpr Value<mlir::DenseI64ArrayAttr> pairedData{"nn.paired"};
/// Gives the place in the chain of an op's part, between schedule-stages and schedule-fragments.
inline constexpr Integer partPlace{"pipe.place"};
/// Marks a backward op that belongs to W if the backward of its part is split, in the same passes.
inline constexpr Mark weightGradient{"pipe.weight"};
/// Marks an input that a rank sends to the rank that computes its loss, between schedule-servers and schedule-fragments.
inline constexpr Mark sentInput{"pipe.sent"};
/// Numbers the buckets of an update. The reductions of a bucket are adjacent and carry its number.
inline constexpr Integer bucket{"pipe.bucket"};
/// Marks a loop over vectors of terms that can be added in any order because their sums are exact; teams share its iterations.
inline constexpr Mark anyOrder{"npar.any_order"};

/// Numbers the routing and the round of an op on rows of experts that come in rounds, and of its gradients.
inline constexpr Value<mlir::DenseI64ArrayAttr> round{"npar.round"};

/// Where an operation comes from, read and written by dialects/nn/base/Base.h.
inline constexpr Value<nn::AtAttr> at{"at"};
/// On an nn.variable: the stages where it is stored, ascending.
inline constexpr List<mlir::IntegerAttr> stages{"stages"};
/// On an nn.square_sums: for each gradient the mesh axes along which only coordinate 0 counts.
inline constexpr List<mlir::ArrayAttr> owners{"owners"};

} // namespace npar::attributes
