// The objects behind the handles of npar.h.
#pragma once

#include "engine/program/Loader.h"
#include "engine/status/Observer.h"
#include "npar/npar.h"
#include "tools/api/Texts.h"
#include "tools/api/library/KeptRequest.h"

#include <atomic>
#include <memory>
#include <string>

struct npar_buffer {
  std::string text;
  bool ok = true; ///< false: a verification that found a difference
};

struct npar_program {
  npar::program::ProgramPointer program;
  std::string warnings = "[]";
  std::string origin;                                    ///< Origin.h; empty: the program was opened, not compiled
  std::shared_ptr<const npar::api::KeptRequest> request; ///< null: the program was opened, not compiled
  std::atomic<int> references{1};
};

namespace npar::api {

/// Gives the caller a text.
inline void give(npar_buffer **result, std::string text, bool ok = true) { *result = new npar_buffer{std::move(text), ok}; }

/// Tells the host's observer what npar's libraries tell theirs, and asks it whether to continue.
class HostObserver final : public engine::Observer {
public:
  explicit HostObserver(npar_observer observer) : host(observer) {}
  void begin(const std::string &activity) override { tell(NPAR_EVENT_PHASE, activity); }
  void phase(const std::string &name) override { tell(NPAR_EVENT_PHASE, name); }
  void remark(const std::string &sentence) override { tell(NPAR_EVENT_REMARK, sentence); }
  void warn(const std::string &report) override { tell(NPAR_EVENT_WARNING, withoutEnd(report)); }
  bool wantsToStop() override { return stopped; }
  void tell(npar_event_kind kind, const std::string &text, int64_t done = 0, int64_t total = 0, const npar_step_result *step = nullptr) {
    if (!host.call)
      return;
    tell({sizeof(npar_event), kind, {text.data(), text.size()}, done, total, step, nullptr});
  }
  void tell(const npar_event &event) { stopped = (host.call && host.call(host.user, &event) != 0) || stopped; }

private:
  npar_observer host;
  bool stopped = false;
};

} // namespace npar::api
