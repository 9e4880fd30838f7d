// Every function of the C interface runs behind a fence: an exception never reaches the caller, and an error is an object of the caller.
#pragma once

#include "engine/device/ProcessorFeatures.h"
#include "engine/status/Thrown.h"
#include "npar/npar.h"

#include <string>

struct npar_error {
  npar_code code = NPAR_OK;
  std::string text, json;
};

namespace npar::api {

/// Gives the caller an error object, unless `error` is null, and returns its code. Never throws: without memory for it, the caller gets an
/// object that exists already. `diagnostics`: JSON array of located messages; empty: none.
npar_code give(npar_error **error, const engine::Status &status, const std::string &diagnostics = "") noexcept;
npar_code giveNoMemory(npar_error **error) noexcept;

/// Runs a body that returns a Status, and converts everything that it throws. On a processor that is too old, gives an error instead.
template <typename Body> npar_code fenced(npar_error **error, Body body) noexcept {
  try {
    static const engine::Status processor = engine::checkProcessor();
    engine::Status status = processor.ok() ? body() : processor;
    return status.ok() ? NPAR_OK : give(error, status, status.diagnostics());
  } catch (const std::bad_alloc &) {
    return giveNoMemory(error);
  } catch (...) {
    try {
      return give(error, engine::statusOfThrown());
    } catch (...) { // there was no memory for its words
      return giveNoMemory(error);
    }
  }
}

} // namespace npar::api
