// Success or an error with its kind: how all libraries report what went wrong, without exceptions and without printing.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace npar::engine {

/// The numbers are the driver's exit codes.
enum class Code {
  Ok = 0,
  BadInput = 1, ///< model text, data, weights or program file
  Usage = 2,    ///< the caller asked for things that do not fit together
  CheckFailed = 3,
  RunFailed = 4,
  Timeout = 5,
  Internal = 6, ///< a bug of npar
  Stopped = 7   ///< an observer wanted the work to end; the driver, whose signals end it, reports that in other ways
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : status(code), text(std::move(message)) {}
  static Status badInput(std::string message) { return {Code::BadInput, std::move(message)}; }
  static Status usage(std::string message) { return {Code::Usage, std::move(message)}; }
  static Status runFailed(std::string message) { return {Code::RunFailed, std::move(message)}; }
  static Status internal(std::string message) { return {Code::Internal, std::move(message)}; }
  /// `work` is what did not finish: "the compilation".
  static Status stopped(const std::string &work) { return {Code::Stopped, work + " was stopped"}; }
  /// Errors of a text with their locations, several lines that are ready to be printed as they are. `diagnostics`: the same for programs, a
  /// JSON array as dsl/DiagnosticsJson.h makes it; may be empty.
  static Status located(Code code, std::string report, std::string diagnostics = "") {
    Status status(code, std::move(report));
    status.ready = true;
    status.json = std::move(diagnostics);
    return status;
  }
  /// An error that the user has read already, or will read once the processes of a job have compared their errors: it is only passed on.
  static Status printed(Code code, std::string message = "already printed") {
    Status status(code, std::move(message));
    status.said = true;
    return status;
  }
  bool ok() const { return status == Code::Ok; }
  Code code() const { return status; }
  const std::string &message() const { return text; }
  /// The message has locations of its own and needs no "error:" in front.
  bool isLocated() const { return ready; }
  bool isPrinted() const { return said; }
  /// The located errors as a JSON array; empty for other errors.
  const std::string &diagnostics() const { return json; }

private:
  Code status = Code::Ok;
  std::string text, json;
  bool ready = false, said = false;
};

/// A value or the Status that explains its absence.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::move(value)) {}
  Result(Status status) : state(std::move(status)) {}
  bool ok() const { return content.has_value(); }
  const Status &status() const { return state; }
  T &operator*() { return *content; }
  const T &operator*() const { return *content; }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

private:
  std::optional<T> content;
  Status state;
};

} // namespace npar::engine

/// `TRY(auto graph, makeGraph(program))`: the value of a Result, or a return of its Status from this function.
#define TRY(declaration, ...) NPAR_TRY(declaration, NPAR_JOIN(tried, __LINE__), __VA_ARGS__)
#define NPAR_TRY(declaration, result, ...)                                                                                                 \
  auto &&result = (__VA_ARGS__);                                                                                                           \
  if (!result.ok())                                                                                                                        \
    return result.status();                                                                                                                \
  declaration = std::move(*result)
#define NPAR_JOIN(left, right) NPAR_JOINED(left, right)
#define NPAR_JOINED(left, right) left##right

/// `TRY_STATUS(check(program))`: returns a Status that is not good from this function.
#define TRY_STATUS(...)                                                                                                                    \
  if (::npar::engine::Status tried = (__VA_ARGS__); !tried.ok())                                                                           \
  return tried
