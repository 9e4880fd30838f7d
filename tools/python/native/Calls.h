// Calls npar from Python: without the interpreter's lock, with Python's observers and signals, and with exceptions for errors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <npar/npar.hpp>

#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace npar_python {

namespace nb = nanobind;

/// Raises the exception that npar._errors.exception_of makes of an error; SystemExit where CallInProgress::mustEnd().
[[noreturn]] void raise(const npar::Error &error);

template <typename T> T valueOf(npar::Result<T> &&result) {
  if (!result.ok())
    raise(result.error());
  return std::move(result).value();
}
inline void check(const npar::Result<void> &result) {
  if (!result.ok())
    raise(result.error());
}

/// Raises TypeError: an argument has a value of a type that it cannot take, or text that is no Unicode.
[[noreturn]] void refuseType(const char *name, nb::handle value);
/// Raises ValueError: an integer is out of range.
[[noreturn]] void refuseRange(const char *name, nb::handle value, const std::string &least, const std::string &most);

template <typename T> struct Contained { using Type = T; };
template <typename T> struct Contained<std::optional<T>> { using Type = T; };

/// Sets a member from the dictionary's value of that name, if it has one.
template <typename T> void take(const nb::dict &given, const char *name, T &member) {
  if (!given.contains(name))
    return;
  nb::object value = given[name];
  T found{};
  if (!nb::try_cast(value, found)) {
    using Number = typename Contained<T>::Type;
    if constexpr (std::is_integral_v<Number>)
      if (PyLong_Check(value.ptr()))
        refuseRange(name, value, std::to_string(std::numeric_limits<Number>::min()), std::to_string(std::numeric_limits<Number>::max()));
    refuseType(name, value);
  }
  member = std::move(found);
}

/// Counts the calls of npar in progress. The interpreter waits for them before it ends, because it would end their threads by unwinding
/// them, which ends the process with an error.
class CallInProgress {
public:
  /// Raises SystemExit if the interpreter is ending and another thread than the one that ends it calls.
  CallInProgress();
  ~CallInProgress();
  CallInProgress(const CallInProgress &) = delete;
  CallInProgress &operator=(const CallInProgress &) = delete;

  /// Makes a process that is forked forget the calls of its parent, whose threads it does not have. Call it once.
  static void countFromZeroInChildren();
  /// True if the interpreter is ending and this is not the thread that ends it.
  static bool mustEnd();
  /// Ends the calls of other threads after their current parts, and waits for them, for 30 seconds at most. Python calls it at its end.
  static void endAll();
};

/// Runs a call of npar without the interpreter's lock, so that other Python threads continue.
template <typename Call> auto released(Call call) {
  CallInProgress counted; // until this thread has the lock again
  nb::gil_scoped_release unlocked;
  return call();
}

/// The Python functions that npar may call, and what they raised: it is raised again only after npar has returned. Python's pending signals
/// are handled whenever npar tells something, so Ctrl-C stops the work after its current part.
class Callbacks {
public:
  /// `observer`: called with (kind, text, done, total, step or None, candidate or None), or None. `imports`: called with a name, returns a
  /// text or None.
  explicit Callbacks(nb::object observer, nb::object imports = nb::none()) : hears(std::move(observer)), finds(std::move(imports)) {}
  Callbacks(const Callbacks &) = delete;
  Callbacks &operator=(const Callbacks &) = delete;

  npar::Observer observer();
  /// Empty without a function.
  npar::Imports imports();
  /// Raises what a function or a signal has raised since the last call. Needs the interpreter's lock.
  void rethrow();

private:
  template <typename Body> bool guarded(Body body);

  nb::object hears, finds;
  std::exception_ptr raised; ///< the first one
};

/// A finished step as a dictionary.
nb::dict dictOf(const npar::StepResult &step);

void addPrograms(nb::module_ &module);
void addTensors(nb::module_ &module);
void addTrainers(nb::module_ &module);

} // namespace npar_python
