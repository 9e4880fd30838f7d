// Reads the requests of npar.h.
#pragma once

#include "dsl/machine/Machine.h"
#include "engine/status/Observer.h"
#include "npar/npar.h"
#include "tools/api/StopHandle.h"
#include "tools/api/Texts.h"
#include "tools/lib/models/ModelOptions.h"

#include <optional>
#include <string>

namespace npar::api {

/// Passes on what happens, and keeps warnings for the program that the library makes.
class RequestObserver final : public engine::Observer {
public:
  explicit RequestObserver(const npar_request &request) : host(request.observer), stop(request.stop) {}
  void begin(const std::string &activity) override { tell(NPAR_EVENT_PHASE, activity); }
  void phase(const std::string &name) override { tell(NPAR_EVENT_PHASE, name); }
  void remark(const std::string &sentence) override { tell(NPAR_EVENT_REMARK, sentence); }
  void warn(const std::string &report) override { tell(NPAR_EVENT_WARNING, withoutEnd(report)); }
  void diagnosed(const std::string &json) override { diagnostics = json; }
  bool wantsToStop() override { return stopped || (stop && stop->requested); }
  void tell(npar_event_kind kind, const std::string &text);
  void tell(const npar_event &event);

  std::string diagnostics = "[]"; ///< warnings of the text, a JSON array

private:
  npar_observer host;
  const npar_stop *stop; ///< may be null
  bool stopped = false;
};

/// The model that a checked request (library/Arguments.h) names, with the machine to plan for. Usage for a target that npar has no kernels
/// for.
engine::Result<models::ModelOptions> modelOf(const npar_request &request, engine::Observer &observer);

} // namespace npar::api
