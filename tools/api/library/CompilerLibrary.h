// Opens libnpar_compiler on the first use: programs that run only compiled files need neither it nor LLVM.
#pragma once

#include "engine/status/Status.h"
#include "tools/api/Seam.h"

#include <string>

namespace npar::api {

/// The functions of the compiler library, which stays open until the process ends. RunFailed, with where it was looked for, if it is not
/// installed beside this library; Usage if it has another version.
engine::Result<const CompilerTable *> compilerLibrary();

/// What a function of the table has given back.
struct CompilerAnswer {
  std::string bytes, warnings = "[]";
  engine::Status status;
  Answer receiver();
};

} // namespace npar::api
