// What a library tells its caller while it works. Results and errors are return values; libraries print nothing.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::engine {

/// Ignores everything; a caller overrides what it wants to hear. Calls come from the thread that called the library.
class Observer {
public:
  virtual ~Observer() = default;
  /// Work starts that can take seconds, such as "compiling 'gpt2'". Activities nest.
  virtual void begin(const std::string & /*activity*/) {}
  /// A part of the innermost activity starts.
  virtual void phase(const std::string & /*name*/) {}
  /// The innermost activity is over.
  virtual void end() {}
  /// A sentence that the user should read.
  virtual void remark(const std::string & /*sentence*/) {}
  /// Warnings about a text with their locations: lines that are ready to be printed as they are.
  virtual void warn(const std::string & /*report*/) {}
  /// The same for programs: a JSON array (dsl/DiagnosticsJson.h).
  virtual void diagnosed(const std::string & /*diagnostics*/) {}
  /// Tells whether the work is to end with Code::Stopped. It is asked between the parts of the work and while no lock is held.
  virtual bool wantsToStop() { return false; }
};

/// Stopped if the observer wants `work` ("the verification") to end.
inline Status stopIfAsked(Observer &observer, const std::string &work) { return observer.wantsToStop() ? Status::stopped(work) : Status(); }

/// An activity from construction to destruction.
class Activity {
public:
  Activity(Observer &observer, const std::string &what) : observer(observer) { observer.begin(what); }
  ~Activity() { observer.end(); }
  Activity(const Activity &) = delete;
  void phase(const std::string &name) { observer.phase(name); }

private:
  Observer &observer;
};

} // namespace npar::engine
