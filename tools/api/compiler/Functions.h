// What the compiler library does for npar.h; results go to the answer, errors are returned.
#pragma once

#include "engine/status/Status.h"
#include "tools/api/Seam.h"

namespace npar::api {

engine::Status compile(const npar_request &request, const Answer &answer);
engine::Status verify(const npar_request &request, const npar_verify_options &options, const Answer &answer);
engine::Status simulate(const npar_request &request, const npar_simulate_options &options, const Answer &answer);
engine::Status plan(const npar_request &request, const npar_plan_options &options, const Answer &answer);

} // namespace npar::api
