// Between libnpar and libnpar_compiler: one exported function, a table behind it, and answers by callback, so that neither library frees
// what the other has allocated. Both are built from one tree; the versions must be equal.
#pragma once

#include "npar/npar.h"

#include <cstddef>
#include <cstdint>

namespace npar::api {

/// Receives what a function of the table comes to. Everything is copied during the call.
struct Answer {
  void *user = nullptr;
  void (*bytes)(void *user, const void *data, size_t size) = nullptr; ///< the program, or the JSON
  void (*warnings)(void *user, npar_str json) = nullptr;              ///< diagnostics of a text without errors
  void (*error)(void *user, npar_code code, npar_str text, npar_str diagnostics) = nullptr;
};

/// No function throws. Each returns the code that it gave to Answer::error, or NPAR_OK.
struct CompilerTable {
  npar_str version; ///< npar_version() of the library
  npar_code (*compile)(const npar_request &request, const Answer &answer);
  npar_code (*verify)(const npar_request &request, const npar_verify_options &options, const Answer &answer);
  npar_code (*simulate)(const npar_request &request, const npar_simulate_options &options, const Answer &answer);
  npar_code (*plan)(const npar_request &request, const npar_plan_options &options, const Answer &answer);
};

} // namespace npar::api

extern "C" NPAR_API const npar::api::CompilerTable *npar_compiler_table(void);
