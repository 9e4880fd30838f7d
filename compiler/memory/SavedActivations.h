// What the backward of a micro-batch needs of the forward, per rank: the accounting of Korthikanti et al., Reducing Activation
// Recomputation in Large Transformer Models (2022), section 4. The engine's own arena may be smaller: it draws masks again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::memory {

struct SavedActivations {
  /// A tensor counts 2 bytes per element, as in a model that computes in 16 bits, and 4 where it is wider than the model's own type;
  /// a mask counts 1 byte per element; a statistic (a few numbers per row) nothing.
  enum class As { Tensor, Mask, Statistic };

  /// A value that one part of the model keeps. It counts once, regardless of how many gradients use it.
  struct Value {
    std::string operation; ///< the operation whose result it is
    std::string path;      ///< layer
    As as;
    int64_t block;    ///< the first block whose backward uses it there: -1 before the chain of blocks, `blocks` after it
    int64_t part;     ///< place in the chain of parts
    int64_t elements; ///< elements per rank and micro-batch
    int64_t bytes;    ///< in the convention above
  };

  struct Stage {
    std::vector<int64_t> parts; ///< the parts of the chain on this stage
    int64_t mostMicros = 0;     ///< largest number of forwards, over all its parts, that wait for their backward
    int64_t mostBytes = 0;      ///< largest number of bytes that these keep at once
    int64_t mostSentBytes = 0;  ///< largest number of bytes of outputs that only other parts keep once they are sent
  };

  /// Products alone, of one rank and micro-batch: as the model has them, and again in the backward for what is recomputed.
  struct Flops {
    double forward = 0, backward = 0, repeated = 0;
  };

  /// The rows of a layer's experts on a rank, per micro-batch.
  struct Routing {
    std::string path;
    std::string way;                             ///< "all_to_all", "gather", or "whole" where ranks share no experts
    int64_t experts = 0, ranks = 1, choices = 1; ///< of the layer; that share them; of a position
    int64_t worstRows = 0, balancedRows = 0;     ///< that can come; if all experts get as many rows
    int64_t rounds = 1, bufferRows = 0;          ///< in which they come; reserved for one
    int64_t bufferBytes = 0;                     ///< of values over the rows of a round that its backward makes again; 0 if they are kept
    int64_t worstBytes = 0, balancedBytes = 0;   ///< of values over rows that the backward keeps
    int64_t dispatchBytes = 0;  ///< what a dispatch moves: a row per choice, or the positions of all ranks that gather them
    int64_t elsewhereBytes = 0; ///< the part of it that leaves the rank, or comes from others
  };

  int64_t blocks = 0;
  std::vector<Value> values;
  std::vector<Routing> routings;
  std::vector<Stage> stages;
  Flops flops;
};

} // namespace npar::memory
