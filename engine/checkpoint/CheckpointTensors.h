// The variables of a program that a checkpoint stores, their names, and the pieces that each rank contributes.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/program/OwnedPieces.h"
#include "engine/program/Program_generated.h"

#include <vector>

namespace npar::engine {

/// A variable as a checkpoint holds it.
struct CheckpointTensor {
  ManifestTensor tensor; ///< without pieces
  uint32_t variable = 0; ///< whose pieces are stored: of a parameter in 16 bits its master
  uint32_t written = 0;  ///< that resuming writes: the parameter, with which its master goes
};

/// Parameters, then state, each in the program's order. A parameter in 16 bits is stored as its float32 master, under its own name: plans
/// of any type read it, and nothing is there twice.
std::vector<CheckpointTensor> checkpointTensors(const program::Program &program);

/// The pieces that these ranks store, rank by rank.
std::vector<program::OwnedPiece> checkpointPieces(const program::Program &program, const std::vector<int64_t> &ranks);

/// Bytes of these pieces: the memory that a snapshot takes.
uint64_t bytesOf(const program::Program &program, const std::vector<program::OwnedPiece> &pieces);

/// XXH3-128 over names and stored shapes of the parameters.
std::string modelHash(const program::Program &program);

/// The index of a state of the training as a whole, such as "good_steps", the counter that the learning rate of fp16 goes by; -1: there is
/// none.
int64_t findState(const program::Program &program, const std::string &slot);

} // namespace npar::engine
