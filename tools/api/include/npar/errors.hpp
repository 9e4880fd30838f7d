/// Errors, results and observers, and the border that exceptions do not cross. Include npar.hpp.
#ifndef NPAR_ERRORS_HPP
#define NPAR_ERRORS_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "npar needs C++17: compile with -std=c++17 or newer"
#endif

#include <npar/npar.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions)
#define NPAR_TRY try
#define NPAR_CATCH_ALL catch (...)
#else
#define NPAR_TRY if (true)
#define NPAR_CATCH_ALL else
#endif

namespace npar {
inline namespace v0 {

// ---- Errors
// ------------------------------------------------------------------------------------------------------------------------------

enum class Code : int32_t {
  Ok = NPAR_OK,
  BadInput = NPAR_BAD_INPUT,       ///< a model text, data, weights, an array or a compiled program
  Usage = NPAR_USAGE,              ///< arguments that do not fit together
  CheckFailed = NPAR_CHECK_FAILED, ///< a check found a difference
  RunFailed = NPAR_RUN_FAILED,     ///< memory, files or processes while something ran
  Timeout = NPAR_TIMEOUT,
  Internal = NPAR_INTERNAL, ///< a fault of npar
  Stopped = NPAR_STOPPED    ///< an observer, a Stop or Trainer::stop() ended it
};

struct Error {
  Code code = Code::Ok;
  std::string text; ///< one sentence, or located errors with file, line, caret and helps; without a newline at its end
  std::string json; ///< the same as data, with fixes as edits: npar_error_json
};

#if defined(__cpp_exceptions)
class Exception : public std::runtime_error {
public:
  explicit Exception(Error error) : std::runtime_error(error.text), held(std::make_shared<Error>(std::move(error))) {}
  const Error &error() const noexcept { return *held; }

private:
  std::shared_ptr<const Error> held;
};
#endif

/// A value or an error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Error error) : failure(std::move(error)) {}
  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }
  /// The value; only if ok().
  T &value() & { return *held; }
  const T &value() const & { return *held; }
  T &&value() && { return std::move(*held); }
  /// The error; its code is Code::Ok if ok().
  const Error &error() const { return failure; }
#if defined(__cpp_exceptions)
  /// The value; throws npar::Exception if there is none.
  T orThrow() && {
    if (!ok())
      throw Exception(std::move(failure));
    return std::move(*held);
  }
  T &orThrow() & {
    if (!ok())
      throw Exception(failure);
    return *held;
  }
  const T &orThrow() const & {
    if (!ok())
      throw Exception(failure);
    return *held;
  }
#endif

private:
  std::optional<T> held;
  Error failure;
};

/// Success or an error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)) {}
  bool ok() const { return failure.code == Code::Ok; }
  explicit operator bool() const { return ok(); }
  const Error &error() const { return failure; }
#if defined(__cpp_exceptions)
  void orThrow() const {
    if (!ok())
      throw Exception(failure);
  }
#endif

private:
  Error failure;
};

/// A result as JSON text; npar.h lists its members.
struct Report {
  std::string json;
  bool ok = true; ///< false: a check of verify() found a difference, which `json` describes
};

// ---- Observers
// ---------------------------------------------------------------------------------------------------------------------------

struct NamedValue {
  std::string name;
  double value = 0;
  std::optional<int64_t> counted; ///< positions of the batch that count; none: all
};

/// One finished step. A program that only goes forward has no gradient norm, learning rate and loss scale: they are 0.
struct StepResult {
  int64_t step = 0; ///< counted from 0
  double loss = 0, gradNorm = 0, learningRate = 0;
  double lossScale = 0; ///< of fp16, else 0
  double seconds = 0;
  std::optional<int64_t> validTokens; ///< targets of the batch that count; none: all
  bool skipped = false;               ///< the gradient norm is not finite, and nothing was updated
  std::vector<NamedValue> losses;
};

/// A plan that a search has compiled and simulated.
struct JudgedPlan {
  bool fits = false;        ///< it fits the machine's memory, or the machine states none
  std::string_view plan;    ///< a text that imports the model; valid during the callback
  std::string_view refusal; ///< why it cannot be compiled or placed; empty: it can, and has figures
  double milliseconds = 0;  ///< predicted for a step
  int64_t bytes = 0;        ///< of the largest rank
};

struct Event {
  enum Kind : int32_t {
    Phase = NPAR_EVENT_PHASE,
    Remark = NPAR_EVENT_REMARK,
    Warning = NPAR_EVENT_WARNING,
    Step = NPAR_EVENT_STEP,
    Evaluated = NPAR_EVENT_EVALUATED,
    Saved = NPAR_EVENT_SAVED,
    Candidate = NPAR_EVENT_CANDIDATE,
    Token = NPAR_EVENT_TOKEN
  };
  Kind kind = Phase;
  std::string_view text;                 ///< valid during the callback
  int64_t done = 0, total = 0;           ///< kernels, candidates or steps; total 0: unknown
  const StepResult *step = nullptr;      ///< of Kind::Step
  const JudgedPlan *candidate = nullptr; ///< of Kind::Candidate
};

/// Asks calls that take a Request to end with Code::Stopped after their current part. Copies ask for the same.
class Stop {
public:
  Stop() : held(made(), &npar_stop_free) {}
  /// Any thread and any signal handler may call it. It holds for later calls, too.
  void request() const noexcept { npar_stop_request(held.get()); }
  /// For calls of npar.h; it belongs to this object.
  npar_stop *raw() const noexcept { return held.get(); }

private:
  static npar_stop *made() {
    npar_stop *stop = nullptr;
    npar_stop_create(&stop, nullptr);
    return stop;
  }
  std::shared_ptr<npar_stop> held;
};

/// Returns true to continue, false to end the work after its current part with Code::Stopped. It runs on the thread that called.
using Observer = std::function<bool(const Event &)>;
/// Looks up the text of an `import` by its name, before the folders and the standard library.
using Imports = std::function<std::optional<std::string>(std::string_view)>;

namespace detail {

inline npar_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view viewOf(npar_str text) { return {text.ptr ? text.ptr : "", text.len}; }
inline std::string textOf(npar_str text) { return std::string(viewOf(text)); }

/// Owns the error object of a call.
class Failure {
public:
  Failure() = default;
  Failure(const Failure &) = delete;
  Failure &operator=(const Failure &) = delete;
  ~Failure() { npar_error_free(error); }
  npar_error **out() { return &error; }
  Error take(npar_code code) const { return {static_cast<Code>(code), textOf(npar_error_text(error)), textOf(npar_error_json(error))}; }
  Result<void> result(npar_code code) const { return code == NPAR_OK ? Result<void>() : Result<void>(take(code)); }

private:
  npar_error *error = nullptr;
};

inline Error usage(std::string text) { return {Code::Usage, std::move(text), {}}; }
inline Error movedFrom(const char *what) {
  return usage(std::string("the ") + what + " was moved to another object, and this one is empty");
}

/// Does the library that was loaded fit this header? It is asked once.
inline const Result<void> &abi() {
  static const Result<void> fits = [] {
    Failure failure;
    return failure.result(npar_check_abi(NPAR_ABI, failure.out()));
  }();
  return fits;
}

inline StepResult stepOf(const npar_step_result &from) {
  StepResult to;
  to.step = from.step, to.loss = from.loss, to.gradNorm = from.grad_norm, to.learningRate = from.learning_rate;
  to.lossScale = from.loss_scale, to.seconds = from.seconds, to.skipped = from.skipped != 0;
  if (from.valid_tokens >= 0)
    to.validTokens = from.valid_tokens;
  for (size_t i = 0; i < from.loss_count; ++i) {
    const npar_named_value &loss = from.losses[i];
    to.losses.push_back({textOf(loss.name), loss.value, loss.counted >= 0 ? std::optional<int64_t>(loss.counted) : std::nullopt});
  }
  return to;
}

/// The host's functions while the library may call them, and what they threw: no exception may cross C frames.
class Border {
public:
  explicit Border(Observer observer = {}, Imports imports = {}) : hears(std::move(observer)), finds(std::move(imports)) {}
  Border(const Border &) = delete;
  Border &operator=(const Border &) = delete;
  npar_observer observer() { return {hears ? &Border::hear : nullptr, this}; }
  npar_import import() const { return finds ? &Border::find : nullptr; }
  /// Throws what a function of the host threw during the call that has ended.
  void rethrow() {
#if defined(__cpp_exceptions)
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
#endif
  }

private:
  static int hear(void *user, const npar_event *event) noexcept {
    auto &self = *static_cast<Border *>(user);
    NPAR_TRY {
      Event told{static_cast<Event::Kind>(event->kind), viewOf(event->text), event->done, event->total};
      StepResult step;
      if (event->step) {
        step = stepOf(*event->step);
        told.step = &step;
      }
      JudgedPlan candidate;
      if (event->candidate) {
        candidate = {event->candidate->fits != 0, viewOf(event->candidate->plan), viewOf(event->candidate->refusal),
                     event->candidate->milliseconds, event->candidate->bytes};
        told.candidate = &candidate;
      }
      return self.hears(told) ? 0 : 1;
    }
    NPAR_CATCH_ALL { self.keep(); }
    return 1;
  }
  static int find(void *user, npar_str name, npar_str *text) noexcept {
    auto &self = *static_cast<Border *>(user);
    NPAR_TRY {
      std::optional<std::string> found = self.finds(viewOf(name));
      if (!found)
        return 0;
      *text = str(self.texts.emplace_back(std::move(*found)));
      return 1;
    }
    NPAR_CATCH_ALL { self.keep(); }
    return 0;
  }
  void keep() noexcept {
    if (!thrown)
      thrown = std::current_exception();
  }

  Observer hears;
  Imports finds;
  std::list<std::string> texts; ///< of imports, until the call ends
  std::exception_ptr thrown;
};

/// Makes a call that fills a buffer, and takes its text.
template <typename Call> Result<Report> report(Border *border, Call call) {
  npar_buffer *buffer = nullptr;
  Failure failure;
  npar_code code = call(&buffer, failure.out());
  std::unique_ptr<npar_buffer, decltype(&npar_buffer_free)> held(buffer, &npar_buffer_free);
  if (border)
    border->rethrow();
  if (code != NPAR_OK)
    return failure.take(code);
  return Report{textOf(npar_buffer_data(held.get())), npar_buffer_ok(held.get()) != 0};
}

template <typename T> T options() {
  T made = {};
  made.struct_size = sizeof made;
  return made;
}

inline std::vector<npar_str> strsOf(const std::vector<std::string> &texts) {
  std::vector<npar_str> strs;
  for (const std::string &text : texts)
    strs.push_back(str(text));
  return strs;
}

} // namespace detail
} // namespace v0
} // namespace npar

#undef NPAR_TRY
#undef NPAR_CATCH_ALL

#endif
