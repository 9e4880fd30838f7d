// What the compiler library does for npar.h; results go to the answer, errors are returned.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/Loader.h"
#include "engine/status/Status.h"
#include "tools/api/Seam.h"

#include <string>

namespace npar::api {

engine::Status compile(const npar_request &request, const Answer &answer);
engine::Status generate(const npar_request &request, int64_t prompt, int64_t count, const Answer &answer);
engine::Status verify(const npar_request &request, const npar_verify_options &options, const Answer &answer);
engine::Status simulate(const npar_request &request, const npar_simulate_options &options, const Answer &answer);
engine::Status draw(const npar_request &request, const npar_simulate_options &options, npar_format format, const Answer &answer);
engine::Status plan(const npar_request &request, const npar_plan_options &options, const Answer &answer);
engine::Status explain(const npar_request &request, const npar_explain_options &options, const Answer &answer);
engine::Status annotate(const npar_request &request, const Answer &answer);
engine::Status library(const Answer &answer);

inline void give(const Answer &answer, const char *name, const std::string &text) {
  answer.part(answer.user, name, text.data(), text.size());
}
inline void give(const Answer &answer, const char *name, const program::LoadedProgram &program) {
  answer.part(answer.user, name, program.data().data(), program.data().size());
}
void giveReport(const Answer &answer, const OrderedJson &json);

} // namespace npar::api
