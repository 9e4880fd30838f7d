// Parameters from and to safetensors files with the model's own names, whatever plan the session runs.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/Session.h"

namespace npar::engine {

/// Sets every parameter from the file: names are the variables', or what the program's checkpoint rules make of them; stored shape =
/// Variable.stored; values are finite in the parameter's type. Everything is checked before anything is applied. Errors name the tensor
/// and both shapes, or the first bad value and its index; missing and unknown tensors are listed. Returns the number of parameters that are
/// not in the file, may be so (`fresh`) and keep their initial values.
Result<size_t> loadWeights(Session &session, const program::Program &program, const std::string &path);

/// Writes every parameter (F32, or F64 when that is its type; of 16-bit ones the float32 master) atomically: a failed write leaves the old
/// file as it was.
Status saveWeights(const Session &session, const program::Program &program, const std::string &path);

} // namespace npar::engine
