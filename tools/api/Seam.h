// The interface between libnpar and libnpar_compiler: one exported function returns a table of functions, which answer by callback, so that
// neither library frees what the other has allocated. Both are built from one tree; the versions must be equal.
#pragma once

#include "npar/npar.h"

#include <cstddef>
#include <cstdint>

namespace npar::api {

/// Receives what a function of the table comes to. Everything is copied during the call.
struct Answer {
  void *user = nullptr;
  /// A part of the result by its name: "program", "warnings" (diagnostics as JSON), "origin" (Origin.h), "report" (JSON).
  void (*part)(void *user, const char *name, const void *data, size_t size) = nullptr;
  void (*error)(void *user, npar_code code, npar_str text, npar_str diagnostics) = nullptr;
};

/// No function throws. Each returns the code that it gave to Answer::error, or NPAR_OK.
struct CompilerTable {
  npar_str version; ///< npar_version() of the library
  npar_code (*compile)(const npar_request &request, const Answer &answer);
  npar_code (*verify)(const npar_request &request, const npar_verify_options &options, const Answer &answer);
  npar_code (*simulate)(const npar_request &request, const npar_simulate_options &options, const Answer &answer);
  /// The programs that generate text with the request's model: "step" and perhaps "prompt", with caches of keys and values for sequences of
  /// up to "length" tokens (a decimal number), or "whole". `prompt` tokens are followed by up to `count` more.
  npar_code (*generate)(const npar_request &request, int64_t prompt, int64_t count, const Answer &answer);
  npar_code (*plan)(const npar_request &request, const npar_plan_options &options, const Answer &answer);
  npar_code (*library)(const Answer &answer);
  npar_code (*draw)(const npar_request &request, const npar_simulate_options &options, npar_format format, const Answer &answer);
  npar_code (*explain)(const npar_request &request, const npar_explain_options &options, const Answer &answer);
  npar_code (*annotate)(const npar_request &request, const Answer &answer);
};

} // namespace npar::api

extern "C" NPAR_API const npar::api::CompilerTable *npar_compiler_table(void);
