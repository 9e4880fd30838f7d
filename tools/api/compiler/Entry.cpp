// The table of the compiler library. Every function runs behind a fence and gives its result through the answer.
#include "tools/api/Seam.h"
#include "tools/api/Texts.h"
#include "tools/api/compiler/Functions.h"

#include "engine/json/Json.h"
#include "engine/status/OptionNames.h"
#include "engine/status/Thrown.h"

namespace npar::api {

void giveReport(const Answer &answer, const OrderedJson &json) {
  give(answer, "report", json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

namespace {

using engine::Status;

/// Messages of this library speak of members.
[[maybe_unused]] const bool namedAtStart = engine::optionsAreMembers = true;

npar_code answered(const Answer &answer, const Status &status) {
  auto code = static_cast<npar_code>(status.code());
  if (code != NPAR_OK)
    answer.error(answer.user, code, strOf(status.message()), strOf(status.diagnostics()));
  return code;
}

template <auto function, typename... Arguments> npar_code fenced(Arguments... arguments, const Answer &answer) noexcept {
  try {
    return answered(answer, function(arguments..., answer));
  } catch (...) {
    return answered(answer, engine::statusOfThrown());
  }
}

const CompilerTable table = {
    {NPAR_VERSION, sizeof NPAR_VERSION - 1},
    [](const npar_request &request, const Answer &answer) { return fenced<compile, const npar_request &>(request, answer); },
    [](const npar_request &request, const npar_verify_options &options, const Answer &answer) {
      return fenced<verify, const npar_request &, const npar_verify_options &>(request, options, answer);
    },
    [](const npar_request &request, const npar_simulate_options &options, const Answer &answer) {
      return fenced<simulate, const npar_request &, const npar_simulate_options &>(request, options, answer);
    },
    [](const npar_request &request, int64_t prompt, int64_t count, const Answer &answer) {
      return fenced<generate, const npar_request &, int64_t, int64_t>(request, prompt, count, answer);
    },
    [](const npar_request &request, const npar_plan_options &options, const Answer &answer) {
      return fenced<plan, const npar_request &, const npar_plan_options &>(request, options, answer);
    },
    [](const Answer &answer) { return fenced<library>(answer); },
    [](const npar_request &request, const npar_simulate_options &options, npar_format format, const Answer &answer) {
      return fenced<draw, const npar_request &, const npar_simulate_options &, npar_format>(request, options, format, answer);
    },
    [](const npar_request &request, const npar_explain_options &options, const Answer &answer) {
      return fenced<explain, const npar_request &, const npar_explain_options &>(request, options, answer);
    },
    [](const npar_request &request, const Answer &answer) { return fenced<annotate, const npar_request &>(request, answer); }};

} // namespace
} // namespace npar::api

const npar::api::CompilerTable *npar_compiler_table(void) { return &npar::api::table; }
