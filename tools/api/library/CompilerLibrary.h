// Opens libnpar_compiler on the first use: programs that run only compiled files need neither it nor LLVM.
#pragma once

#include "engine/program/Loader.h"
#include "engine/status/Status.h"
#include "tools/api/Seam.h"

#include <map>
#include <string>

namespace npar::api {

/// The functions of the compiler library, which stays open until the process ends. RunFailed, with where it was looked for, if it is not
/// installed in the folder of this library; Usage if it has another version.
engine::Result<const CompilerTable *> compilerLibrary();

/// Collects the result of a function of the table.
struct CompilerAnswer {
  std::map<std::string, std::string> parts; ///< by name (Seam.h)
  engine::Status status;
  Answer receiver();
  /// A compiled program that is one of the parts, checked; null if there is no such part.
  engine::Result<program::ProgramPointer> program(const std::string &name) const;
};

} // namespace npar::api
