// The stand-in's collectives: adds or concatenates the data that all processes of a communicator have sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::standin::nccl {

enum class Kind : uint8_t { Message, AllReduce, ReduceScatter, AllGather };

/// ncclDataType_t, as far as the stand-in knows it.
enum class Type : int { Int8 = 0, Uint8 = 1, Float16 = 6, Float32 = 7, Float64 = 8, BFloat16 = 9 };

/// Bytes of an element; 0: the stand-in does not know the type.
size_t sizeOf(int type);

/// A process's part, after ncclAllReduce and the like.
struct Collective {
  Kind kind = Kind::AllReduce;
  Type type = Type::Float32;
  uint64_t input = 0, output = 0;                  ///< of the device
  size_t count = 0;                                ///< elements of a process's piece: of the smaller side
  std::vector<std::vector<uint8_t>> received = {}; ///< by process: what it has sent; empty for this one

  size_t inputBytes(int processes) const;
  size_t outputBytes(int processes) const;
  /// Writes what becomes of it. `inputs`: by process, this one's too; `output` may be this one's input. Sums go round the processes, as
  /// round a ring, from another one on for each part of the elements, and 16-bit floats are rounded after each addition. So their order is
  /// not that of the processes, and it is the same everywhere.
  void finish(const std::vector<const uint8_t *> &inputs, int process, uint8_t *output) const;
};

} // namespace npar::standin::nccl
