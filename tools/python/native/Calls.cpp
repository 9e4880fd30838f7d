#include "Calls.h"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>

namespace npar_python {

/// A text that need not be UTF-8, such as half of a character that a model has generated.
static nb::object textOf(std::string_view text) {
  nb::object made = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!made.is_valid())
    throw nb::python_error();
  return made;
}

static std::atomic<int> callsInProgress{0};
static std::atomic<bool> ending{false};
static std::thread::id endingThread; ///< set before `ending`

/// Raises SystemExit, which ends a thread without a message.
[[noreturn]] static void endThread() {
  PyErr_SetNone(PyExc_SystemExit);
  throw nb::python_error();
}

CallInProgress::CallInProgress() {
  if (mustEnd())
    endThread();
  ++callsInProgress;
}

CallInProgress::~CallInProgress() { --callsInProgress; }

bool CallInProgress::mustEnd() { return ending && std::this_thread::get_id() != endingThread; }

void CallInProgress::countFromZeroInChildren() {
  ::pthread_atfork(nullptr, nullptr, [] { callsInProgress = 0; });
}

void CallInProgress::endAll() {
  endingThread = std::this_thread::get_id();
  ending = true;
  nb::gil_scoped_release unlocked;
  for (int waited = 0; callsInProgress > 0 && waited < 3000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void raise(const npar::Error &error) {
  if (CallInProgress::mustEnd())
    endThread();
  nb::object made =
      nb::module_::import_("npar._errors").attr("exception_of")(static_cast<int>(error.code), textOf(error.text), textOf(error.json));
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

void refuseType(const char *name, nb::handle value) {
  std::string text = nb::cast<std::string>(nb::repr(value).attr("encode")("ascii", "backslashreplace").attr("decode")("ascii"));
  if (text.size() > 60)
    text = text.substr(0, 60) + " ...";
  throw nb::type_error(
      (std::string(name) + " cannot be " + text + " (" + nb::cast<std::string>(value.type().attr("__name__")) + ")").c_str());
}

void refuseRange(const char *name, nb::handle value, const std::string &least, const std::string &most) {
  throw nb::value_error(
      (std::string(name) + " is " + nb::cast<std::string>(nb::str(value)) + ": it must be " + least + " to " + most).c_str());
}

template <typename Body> bool Callbacks::guarded(Body body) {
  if (CallInProgress::mustEnd())
    return false;
  nb::gil_scoped_acquire locked;
  try {
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    body();
    return true;
  } catch (...) {
    if (!raised)
      raised = std::current_exception();
    return false;
  }
}

static nb::dict dictOf(const npar::JudgedPlan &plan) {
  nb::dict dict;
  dict["fits"] = plan.fits;
  dict["plan"] = textOf(plan.plan);
  dict["refusal"] = textOf(plan.refusal);
  dict["milliseconds"] = plan.milliseconds;
  dict["bytes"] = plan.bytes;
  return dict;
}

npar::Observer Callbacks::observer() {
  return [this](const npar::Event &event) {
    return guarded([&] {
      if (hears.is_none())
        return;
      nb::object step = event.step ? nb::object(dictOf(*event.step)) : nb::object(nb::none());
      nb::object candidate = event.candidate ? nb::object(dictOf(*event.candidate)) : nb::object(nb::none());
      hears(static_cast<int>(event.kind), textOf(event.text), event.done, event.total, step, candidate);
    });
  };
}

npar::Imports Callbacks::imports() {
  if (finds.is_none())
    return {};
  return [this](std::string_view name) {
    std::optional<std::string> text;
    guarded([&] {
      nb::object found = finds(textOf(name));
      if (found.is_none())
        return;
      std::string given;
      if (!nb::try_cast(found, given))
        refuseType(("imports: the text of '" + std::string(name) + "'").c_str(), found);
      text = std::move(given);
    });
    return text;
  };
}

void Callbacks::rethrow() {
  if (raised)
    std::rethrow_exception(std::exchange(raised, nullptr));
}

nb::dict dictOf(const npar::StepResult &step) {
  nb::dict dict;
  dict["step"] = step.step;
  dict["loss"] = step.loss;
  dict["grad_norm"] = step.gradNorm;
  dict["learning_rate"] = step.learningRate;
  dict["loss_scale"] = step.lossScale;
  dict["seconds"] = step.seconds;
  dict["skipped"] = step.skipped;
  dict["valid_tokens"] = step.validTokens ? nb::object(nb::int_(*step.validTokens)) : nb::object(nb::none());
  nb::dict losses, counted;
  for (const npar::NamedValue &loss : step.losses) {
    nb::object name = textOf(loss.name);
    losses[name] = loss.value;
    counted[name] = loss.counted ? nb::object(nb::int_(*loss.counted)) : nb::object(nb::none());
  }
  dict["losses"] = losses;
  dict["counted"] = counted;
  return dict;
}

} // namespace npar_python
