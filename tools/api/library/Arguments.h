// Checks what a caller hands over: null pointers with a count, texts that hide a zero byte, and numbers that mean nothing. Every message
// names the struct and its member, or the function and its argument.
#pragma once

#include "engine/status/Status.h"
#include "npar/npar.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::api {

constexpr int64_t mostThreads = 4096;

/// Checks the members of one struct, or the arguments of one function. The first that is wrong makes the status, which is Usage.
class Arguments {
public:
  /// `owner`: the struct or function, as npar.h calls it.
  explicit Arguments(std::string owner) : owner(std::move(owner)) {}

  /// Not null, if it has a length, and without zero bytes: a path or a name would end there.
  Arguments &text(npar_str value, const std::string &member);
  /// The same for a text that must not be empty.
  Arguments &filled(npar_str value, const std::string &member);
  /// Not null, if it has a length. It may have zero bytes.
  Arguments &content(npar_str value, const std::string &member);
  /// `count` elements, which are not at null.
  Arguments &array(const void *elements, size_t count, const std::string &member);
  /// Texts, each as `text` takes it.
  Arguments &texts(const npar_str *elements, size_t count, const std::string &member);
  Arguments &whole(int64_t value, const std::string &member, int64_t least = 0, int64_t most = INT64_MAX);
  /// A finite number.
  Arguments &number(double value, const std::string &member, double least = 0, double most = 1e300);

  /// Numbers from 0 to `most`.
  Arguments &numbers(const double *elements, size_t count, const std::string &member, double most);

  const engine::Status &status() const { return first; }

private:
  Arguments &require(bool holds, const std::string &member, const std::string &problem);

  std::string owner;
  engine::Status first;
};

/// The request of a caller, checked. `function`: the one that was called.
engine::Result<npar_request> requestOf(const npar_request *given, const char *function);

} // namespace npar::api
