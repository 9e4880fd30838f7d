// Errors during elaboration: each place once, with the layers on the way as notes, then out of the statement.
#pragma once

#include "dsl/Diagnostics.h"
#include "dsl/Suggestions.h"

#include <optional>
#include <set>
#include <tuple>

namespace npar::dsl {

/// Thrown after a report to abandon the statement; evaluation continues with the next one.
struct Stop {};
/// Thrown to abandon the whole elaboration when continuing makes no sense.
struct Abort {};

class Reporter {
public:
  explicit Reporter(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  /// Reports once per place (unrolled blocks repeat their errors). `helps` may be empty.
  void error(Code code, Location at, const std::string &message, const Helps &helps = {});
  /// The same, with a note at another place.
  void error(Code code, Location at, const std::string &message, Location noteAt, const std::string &note, const Helps &helps = {});
  void warning(Location at, const std::string &message, const Helps &helps = {});
  [[noreturn]] void fail(Code code, Location at, const std::string &message, const Helps &helps = {});
  [[noreturn]] void abort(Code code, Location at, const std::string &message, const Helps &helps = {});

  size_t errorCount() const { return diagnostics.errorCount(); }

  /// Counts one unit of work; ends elaboration when a small text asks for too much of it.
  void work(Location at);

  /// One layer on the way: `what` such as "in layer 'h.0.attn', called here", and where the layer was made if that is another place.
  class Frame {
  public:
    Frame(Reporter &reporter, Location at, std::string what, std::optional<Location> made = std::nullopt) : reporter(reporter) {
      reporter.frames.push_back({at, std::move(what), made});
    }
    ~Frame() { reporter.frames.pop_back(); }
    Frame(const Frame &) = delete;

  private:
    Reporter &reporter;
  };

private:
  bool first(Location at);
  /// Ends elaboration when enough errors were reported.
  void checkCount() const;
  void addFrames(Diagnostic &diagnostic) const;
  void addHelps(Diagnostic &diagnostic, Location at, const Helps &helps) const;

  Diagnostics &diagnostics;
  struct OnTheWay {
    Location at;
    std::string what;
    std::optional<Location> made;
  };
  std::vector<OnTheWay> frames;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> reported;
  int64_t units = 0;
};

} // namespace npar::dsl
