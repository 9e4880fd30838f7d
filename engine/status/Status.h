// Success or a message with its kind: how the engine reports what went wrong, without exceptions.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace npar::engine {

/// Kinds follow the driver's exit codes: 1 the input is wrong, 3 a check failed, 4 the run failed, 5 timeout, 6 internal error.
enum class Code { Ok = 0, BadInput = 1, CheckFailed = 3, RunFailed = 4, Timeout = 5, Internal = 6 };

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : status(code), text(std::move(message)) {}
  static Status badInput(std::string message) { return {Code::BadInput, std::move(message)}; }
  static Status runFailed(std::string message) { return {Code::RunFailed, std::move(message)}; }
  bool ok() const { return status == Code::Ok; }
  Code code() const { return status; }
  const std::string &message() const { return text; }

private:
  Code status = Code::Ok;
  std::string text;
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
