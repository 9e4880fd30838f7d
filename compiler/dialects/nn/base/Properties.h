// The answers that ops give to the phases through their interfaces (NnInterfaces.td asks the questions).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace npar::nn {

class Lowering; // Meaning.h

/// How placing may treat a loop of an op (RULES.md#P1). Internal: reduced inside the op, and a result has it (softmax); splitting is legal,
/// the expansion communicates. Context: may be split by a rule that says how (`by gather`, `by ring`). Window: walked beside an axis of
/// a result to address an operand, as a convolution's kernel is; not to be split, like Whole, which is any other loop that needs all of
/// its axis.
enum class LoopKind { Parallel, Reduce, Internal, Context, Window, Whole };
llvm::StringRef stringifyLoopKind(LoopKind kind);

struct LoopAxis {
  mlir::StringAttr name;
  LoopKind kind;
};

/// Whether a result is zero in the padding of an axis (RULES.md#P8): not known, where all operands that have the axis are zero there, or
/// always.
enum class ZeroPadding { Unknown, WhereOperandsAre, Always };

/// Where the value of an op comes from. Computed: from its operands, so that it is kept for later uses. Nothing: from no data, as indices
/// are. Memory: from data that stay there, as parameters do. Operand: it is the operand's own data under another name or in more bits.
enum class Origin { Computed, Nothing, Memory, Operand };

/// The work of one element, for fusion. None: each user makes it for itself. Little: rather done again than stored. Much: not to be done
/// again for each row of a larger space.
enum class Effort { None, Little, Some, Much };

/// The loops that an op runs in: those of its kernel's other ops too, its own (a kernel by itself), or a nest that codegen writes for
/// this op alone instead of walking its scalar meaning.
enum class Nest { Shared, Alone, Own };

} // namespace npar::nn
