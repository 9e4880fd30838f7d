// The answers that ops give to the phases through their interfaces (NnInterfaces.td asks the questions).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace npar::nn {

class Lowering; // Meaning.h

/// How placing may treat a loop of an op (RULES.md#P1). Internal: reduced inside the op although a result has it (softmax); it can be
/// split, and the expansion communicates. Context: a plan can split it with a rule that states how (`by gather`, `by ring`). Window: walked
/// together with an axis of a result to address an operand, as a convolution's kernel is; cannot be split. Whole: any other loop that needs
/// all of its axis; cannot be split either.
enum class LoopKind { Parallel, Reduce, Internal, Context, Window, Whole };
llvm::StringRef stringifyLoopKind(LoopKind kind);

struct LoopAxis {
  mlir::StringAttr name;
  LoopKind kind;
};

/// Whether a result is zero in the padding of an axis (RULES.md#P8). Unknown: may be anything. WhereOperandsAre: zero if all operands with
/// that axis are zero there.
enum class ZeroPadding { Unknown, WhereOperandsAre, Always };

/// Where the value of an op comes from. Computed: from its operands, so that it is kept for later uses. Nothing: from no data, as indices
/// are. Memory: from data that stay there, as parameters do. Operand: it is the operand's own data under another name or in more bits.
enum class Origin { Computed, Nothing, Memory, Operand };

/// The work per element, for fusion. None: every user computes it for itself. Little: cheaper to recompute than to store. Much: must not be
/// recomputed for each row of a larger space.
enum class Effort { None, Little, Some, Much };

/// The loops that an op runs in. Shared: the loops of its kernel. Alone: its own, in a kernel by itself. Own: a nest that
/// codegen writes for this op alone, instead of walking its scalar formula.
enum class Nest { Shared, Alone, Own };

} // namespace npar::nn
