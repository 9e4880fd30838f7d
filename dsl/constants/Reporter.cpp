// Reports with the layers on the way, once per place.
#include "dsl/constants/Reporter.h"

namespace npar::dsl {

bool Reporter::first(Location at) { return at.line == 0 || reported.insert({at.file, at.line, at.column}).second; }

void Reporter::checkCount() const {
  constexpr size_t most = 50;
  if (diagnostics.errorCount() >= most)
    throw Abort{};
}

void Reporter::addFrames(Diagnostic &diagnostic) const {
  constexpr size_t most = 8; // the nearest, and the one in the model
  for (size_t i = frames.size(); i-- > 0;)
    if (frames.size() - i < most || i == 0)
      diagnostic.note(frames[i].at, frames[i].what);
  if (!frames.empty() && frames.front().made) // a wrong argument is there, in the model's own text
    diagnostic.note(*frames.front().made, "made here");
}

void Reporter::addHelps(Diagnostic &diagnostic, Location at, const Helps &helps) const {
  for (const Help &help : helps) {
    diagnostic.help(at, help.text);
    if (!help.wrong.empty())
      diagnostics.offer(diagnostic, at, help.wrong, help.right);
    if (!help.line.empty())
      diagnostics.offerLine(diagnostic, at.file, help.line);
  }
}

void Reporter::error(Code code, Location at, const std::string &message, const Helps &helps) {
  if (!first(at))
    return;
  Diagnostic &d = diagnostics.error(code, at, message);
  addFrames(d);
  addHelps(d, at, helps);
  checkCount();
}

void Reporter::error(Code code, Location at, const std::string &message, Location noteAt, const std::string &note, const Helps &helps) {
  if (!first(at))
    return;
  Diagnostic &d = diagnostics.error(code, at, message).note(noteAt, note);
  addFrames(d);
  addHelps(d, at, helps);
  checkCount();
}

void Reporter::warning(Location at, const std::string &message, const Helps &helps) {
  if (!first(at))
    return;
  Diagnostic &d = diagnostics.warning(at, message);
  addFrames(d);
  addHelps(d, at, helps);
}

void Reporter::fail(Code code, Location at, const std::string &message, const Helps &helps) {
  error(code, at, message, helps);
  throw Stop{};
}

void Reporter::abort(Code code, Location at, const std::string &message, const Helps &helps) {
  error(code, at, message, helps);
  throw Abort{};
}

void Reporter::work(Location at) {
  constexpr int64_t most = 20'000'000;
  if (++units > most)
    abort(Code::L3, at, "the model is too large: elaborating it takes more than " + std::to_string(most) + " steps");
}

} // namespace npar::dsl
