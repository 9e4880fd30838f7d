// Matrix products of 16-bit floats: blocks of the operands are converted, multiplied in float32, rounded once.
#pragma once

#include "engine/backends/cpu/Matmul.h"

namespace npar::engine {

/// For a shape whose operands are BF16 or F16. Blocks of at most 256 x 1024, 1024 x 256 and 256 x 256 bound the scratch memory to 2.3 MB
/// and what the library needs for one of them; the sum over k is carried in float32 from block to block, in ascending order.
template <typename Narrow> Result<std::shared_ptr<Matmul>> createConvertedMatmul(const MatmulShape &shape);

} // namespace npar::engine
