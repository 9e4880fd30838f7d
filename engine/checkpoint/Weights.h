// Parameters from and to safetensors files with the model's own names, whatever plan the session runs.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/Session.h"

namespace npar::engine {

/// Sets every parameter from the file: names equal the variables', perhaps behind "transformer."; stored shape = Variable.stored. Ignores
/// what Hugging Face's GPT-2 files hold besides: "*.attn.bias", "*.attn.masked_bias" (masks) and "lm_head.weight" (the tied head).
/// Everything is checked before anything is applied. Errors name the tensor and both shapes; missing and unknown tensors are listed.
Status loadWeights(Session &session, const program::Program &program, const std::string &path);

/// Writes every parameter (F32, or F64 when that is its type; of 16-bit ones the float32 master) atomically: a failed write leaves the old
/// file as it was.
Status saveWeights(const Session &session, const program::Program &program, const std::string &path);

} // namespace npar::engine
