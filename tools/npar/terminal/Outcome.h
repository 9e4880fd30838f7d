// A value, or the exit code of an error that is already printed: what the steps of a command return. Libraries return Result.
#pragma once

#include "tools/npar/terminal/Talk.h"

#include <optional>
#include <utility>

namespace npar::driver {

template <typename T> class [[nodiscard]] Outcome {
public:
  Outcome(T value) : content(std::move(value)) {}
  Outcome(ExitCode code) : exit(code) {}
  bool ok() const { return content.has_value(); }
  ExitCode code() const { return exit; }
  T &operator*() { return *content; }
  const T &operator*() const { return *content; }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

private:
  std::optional<T> content;
  ExitCode exit = ExitCode::Good;
};

/// Prints the error of a failed Result.
template <typename T> Outcome<T> reported(engine::Result<T> result) {
  if (!result.ok())
    return fail(result.status());
  return std::move(*result);
}
inline ExitCode reported(const engine::Status &status) { return status.ok() ? ExitCode::Good : fail(status); }

/// The Status of an exit code whose error is printed, for libraries that call the driver back.
inline engine::Status statusOf(ExitCode code) {
  return code == ExitCode::Good ? engine::Status() : engine::Status::printed(static_cast<engine::Code>(static_cast<int>(code)));
}

} // namespace npar::driver
