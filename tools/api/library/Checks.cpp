// Verification, simulation, search and explanation of plans: the compiler library makes their reports.
#include "engine/json/Document.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/CompilerLibrary.h"
#include "tools/api/library/Fence.h"
#include "tools/api/library/Handles.h"

using namespace npar;
using npar::engine::Status;

namespace npar::api {

/// The driver's limit for hosts, and for devices of a host.
constexpr int64_t mostHosts = int64_t{1} << 20;

static Status check(const npar_verify_options &options) {
  return Arguments("npar_verify_options").whole(options.threads, "threads", 0, mostThreads).status();
}

static Status check(const npar_simulate_options &options) {
  return Arguments("npar_simulate_options")
      .whole(options.hosts, "hosts", 0, mostHosts)
      .number(options.jitter, "jitter", 0, 10)
      .whole(options.jitter_samples, "jitter_samples", 0, 1000000)
      .number(options.total_tokens, "total_tokens")
      .texts(options.slow, options.slow_count, "slow")
      .texts(options.slow_links, options.slow_link_count, "slow_links")
      .number(options.device_mtbf, "device_mtbf", 0, 1e12)
      .number(options.host_mtbf, "host_mtbf", 0, 1e12)
      .number(options.checkpoint_seconds, "checkpoint_seconds")
      .number(options.restart_seconds, "restart_seconds")
      .whole(options.devices, "devices", 0, mostHosts)
      .text(options.place, "place")
      .numbers(options.task_times, options.task_times ? 4 : 0, "task_times", 1e9)
      .numbers(options.rows_sent, options.rows_sent ? 2 : 0, "rows_sent", 1)
      .status();
}

static Status check(const npar_plan_options &options) {
  return Arguments("npar_plan_options")
      .whole(options.jobs, "jobs", 0, mostThreads)
      .whole(options.hosts, "hosts", 0, mostHosts)
      .whole(options.batch, "batch")
      .number(options.budget, "budget")
      .text(options.goal, "goal")
      .status();
}

static Status check(const npar_explain_options &options) {
  return Arguments("npar_explain_options")
      .whole(options.jobs, "jobs", 0, mostThreads)
      .whole(options.hosts, "hosts", 0, mostHosts)
      .whole(options.batch, "batch")
      .status();
}

/// Gives the report that a call of the compiler library makes to the caller, with the number of the report's schema.
template <typename Call> static Status giveReport(const npar_request &request, npar_buffer **json, Call call) {
  TRY(const CompilerTable *compiler, compilerLibrary());
  KeptRequest kept(request);
  CompilerAnswer answer;
  call(*compiler, kept.recording(), answer.receiver());
  TRY_STATUS(kept.imported());
  TRY_STATUS(answer.status);
  auto report = OrderedJson::parse(answer.parts["report"]);
  bool ok = report.value("ok", true);
  give(json, json::documentText(std::move(report)), ok);
  return {};
}

template <typename Options, typename Function>
static npar_code reported(const npar_request *request, const Options *options, const char *name, Function CompilerTable::*function,
                          npar_buffer **json, npar_error **error) {
  return fenced(error, [&]() -> Status {
    TRY(npar_request given, requestOf(request, name));
    TRY_STATUS(needs(json, name, "json"));
    TRY(Options chosen, optionsOf(options, (std::string(name) + "_options").c_str()));
    TRY_STATUS(check(chosen));
    return giveReport(given, json, [&](const CompilerTable &compiler, const npar_request &kept, const Answer &answer) {
      (compiler.*function)(kept, chosen, answer);
    });
  });
}

} // namespace npar::api

extern "C" {

npar_code npar_verify(const npar_request *request, const npar_verify_options *options, npar_buffer **json, npar_error **error) {
  return api::reported(request, options, "npar_verify", &api::CompilerTable::verify, json, error);
}

npar_code npar_simulate(const npar_request *request, const npar_simulate_options *options, npar_buffer **json, npar_error **error) {
  return api::reported(request, options, "npar_simulate", &api::CompilerTable::simulate, json, error);
}

npar_code npar_simulate_draw(const npar_request *request, const npar_simulate_options *options, npar_format format, npar_buffer **picture,
                             npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY(npar_request given, api::requestOf(request, "npar_simulate_draw"));
    TRY_STATUS(api::needs(picture, "npar_simulate_draw", "picture"));
    TRY(npar_simulate_options chosen, api::optionsOf(options, "npar_simulate_options"));
    TRY_STATUS(api::check(chosen));
    if (format != NPAR_SVG && format != NPAR_JSON && format != NPAR_HTML)
      return Status::usage("npar_simulate_draw: format is " + std::to_string(format) + ": NPAR_SVG, NPAR_JSON or NPAR_HTML");
    TRY(const api::CompilerTable *compiler, api::compilerLibrary());
    api::KeptRequest kept(given);
    api::CompilerAnswer answer;
    compiler->draw(kept.recording(), chosen, format, answer.receiver());
    TRY_STATUS(kept.imported());
    TRY_STATUS(answer.status);
    api::give(picture, answer.parts["picture"]);
    return {};
  });
}

npar_code npar_library(npar_buffer **json, npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(json, "npar_library", "json"));
    TRY(const api::CompilerTable *compiler, api::compilerLibrary());
    api::CompilerAnswer answer;
    compiler->library(answer.receiver());
    TRY_STATUS(answer.status);
    api::give(json, json::documentText(OrderedJson::parse(answer.parts["report"])));
    return {};
  });
}

npar_code npar_plan(const npar_request *request, const npar_plan_options *options, npar_buffer **json, npar_error **error) {
  return api::reported(request, options, "npar_plan", &api::CompilerTable::plan, json, error);
}

npar_code npar_explain(const npar_request *request, const npar_explain_options *options, npar_buffer **json, npar_error **error) {
  return api::reported(request, options, "npar_explain", &api::CompilerTable::explain, json, error);
}

npar_code npar_annotate(const npar_request *request, npar_buffer **json, npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY(npar_request given, api::requestOf(request, "npar_annotate"));
    TRY_STATUS(api::needs(json, "npar_annotate", "json"));
    return api::giveReport(given, json, [](const api::CompilerTable &compiler, const npar_request &kept, const api::Answer &answer) {
      compiler.annotate(kept, answer);
    });
  });
}
}
