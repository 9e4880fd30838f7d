// Conversions between the C types of npar.h and C++.
#pragma once

#include "engine/status/Status.h"
#include "npar/npar.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace npar::api {

inline std::string textOf(npar_str text) { return text.ptr ? std::string(text.ptr, text.len) : std::string(); }
inline npar_str strOf(const std::string &text) { return {text.data(), text.size()}; }

/// The lines of a text without the end of the last one: npar.h gives no text with a newline at its end, except whole files.
inline std::string withoutEnd(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

constexpr size_t largestOptions = 1 << 16; ///< bytes; a larger size was never set

/// Usage if an argument that a function needs is null.
inline engine::Status needs(const void *argument, const char *function, const char *name) {
  return argument ? engine::Status() : engine::Status::usage(std::string(function) + ": " + name + " is null");
}

/// The options of a caller whose header may be older or newer: what it does not have is zero. Usage for a struct without a size, or with
/// members that this library does not know and that are not zero. `given` may be null, which means all defaults.
template <typename Options> engine::Result<Options> optionsOf(const Options *given, const char *name) {
  Options options;
  std::memset(&options, 0, sizeof options);
  if (given) {
    size_t size = given->struct_size;
    if (size < sizeof(uint32_t) || size > largestOptions)
      return engine::Status::usage(std::string(name) + ": struct_size is " + std::to_string(size) + "; set it to sizeof(" + name + ")");
    std::memcpy(static_cast<void *>(&options), given, std::min(size, sizeof options));
    const auto *bytes = reinterpret_cast<const unsigned char *>(given);
    for (size_t i = sizeof options; i < size; ++i)
      if (bytes[i] != 0)
        return engine::Status::usage(std::string(name) + " has members that this version of npar does not know");
  }
  options.struct_size = sizeof options;
  return options;
}

} // namespace npar::api
