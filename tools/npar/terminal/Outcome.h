// A value, or the exit code of an error that was printed already: what the driver's own steps return.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

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

} // namespace npar::driver
