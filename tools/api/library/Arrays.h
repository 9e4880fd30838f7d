// Arrays of npar.h as the engine takes them.
#pragma once

#include "engine/runtime/BorrowedArrays.h"
#include "npar/npar.h"

namespace npar::api {

/// Usage for a type, a size or a null pointer that no array has. `what`: what the array is for, "input 'tokens'".
engine::Result<engine::BorrowedArray> borrowedOf(const npar_array &array, const std::string &what);

npar_dtype dtypeOf(program::ElementType type);

} // namespace npar::api
