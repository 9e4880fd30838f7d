// Keeps the fields of one event at a time: a trace as a tree would be ten times its file.
#include "engine/show/TraceText.h"

#include "engine/json/Json.h"

#include <fmt/format.h>

namespace npar::show {
namespace {

constexpr int deepest = 64;

class Reader {
public:
  Reader(TraceText &result, const std::function<std::string(const TracedStep &)> &take) : result(result), take(take) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool binary(Json::binary_t &) { return true; }
  bool number_integer(int64_t value) { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string &) { return number(value); }

  bool number_unsigned(uint64_t value) {
    if (depth == 1 && name == "droppedEvents")
      result.dropped = value;
    if (inEvent() && name == "pid")
      keep(step.rank, value, HasRank);
    if (inArguments() && name == "task")
      keep(step.task, value, HasTask);
    if (inArguments() && name == "step")
      keep(step.step, value, HasStep);
    if (inArguments() && name == "training_step")
      keep(step.trainingStep, value, HasTrainingStep);
    return number(static_cast<double>(value));
  }

  bool string(std::string &value) {
    if (inEvent() && name == "ph")
      isStep = value == "X";
    if (inEvent() && name == "name")
      keep(step.name, value, HasName);
    return true;
  }

  bool start_object(size_t) {
    if (inList && depth == 2)
      step = {}, has = 0, isStep = false;
    if (depth == 3)
      argumentsAreOpen = inEvent() && name == "args";
    return enter();
  }
  bool end_object() {
    --depth;
    if (depth == 3)
      argumentsAreOpen = false;
    return !inList || depth != 2 || !isStep || finish();
  }
  bool start_array(size_t) {
    if (depth == 1 && name == "traceEvents")
      inList = result.isTrace = true;
    return depth > 0 && enter();
  }
  bool end_array() {
    inList = --depth > 1 && inList;
    return true;
  }
  bool key(std::string &value) {
    name = std::move(value);
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) { return false; }

private:
  enum Field : unsigned {
    HasRank = 1,
    HasTask = 2,
    HasStep = 4,
    HasTrainingStep = 8,
    HasName = 16,
    HasBegin = 32,
    HasLength = 64,
    HasAll = 127
  };

  bool inEvent() const { return inList && depth == 3; }
  bool inArguments() const { return inList && depth == 4 && argumentsAreOpen; }
  bool enter() { return ++depth <= deepest; }

  template <typename T, typename V> void keep(T &field, const V &value, Field flag) { field = value, has |= flag; }

  bool number(double value) {
    if (inEvent() && name == "ts")
      keep(step.begin, value * 1e-6, HasBegin);
    if (inEvent() && name == "dur")
      keep(length, value * 1e-6, HasLength);
    return true;
  }

  bool finish() {
    if (has != HasAll)
      result.problem = fmt::format("is no trace of a run: event {} lacks pid, ts, dur, task, step or training_step", taken);
    else if (step.begin < 0 || length < 0 || step.begin > 1e9 || length > 1e9)
      result.problem = fmt::format("is no trace of a run: event {} lasts {} s from {} s", taken, length, step.begin);
    step.end = step.begin + length;
    if (result.problem.empty())
      result.problem = take(step);
    ++taken;
    return result.problem.empty();
  }

  TraceText &result;
  const std::function<std::string(const TracedStep &)> &take;
  TracedStep step;
  double length = 0;
  unsigned has = 0;
  bool inList = false, isStep = false, argumentsAreOpen = false;
  int depth = 0; ///< 1: in the object, 2: in `traceEvents`, 3: in an event, 4: in its `args`
  std::string name;
  size_t taken = 0;
};

} // namespace

TraceText readTraceText(const std::string &text, const std::function<std::string(const TracedStep &)> &take) {
  TraceText result;
  bool whole = text.find('\0') == std::string::npos; // which the scanner takes for the end of the text
  Reader reader(result, take);
  whole = whole && Json::sax_parse(text, &reader);
  result.isTrace = result.isTrace && (whole || !result.problem.empty());
  return result;
}

} // namespace npar::show
