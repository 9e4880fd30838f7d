// Compiled programs, and what is done without training: requests come as dictionaries, reports leave as JSON text.
#include "Calls.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <vector>

namespace npar_python {

namespace {

npar::Request requestOf(const nb::dict &given, Callbacks &callbacks) {
  npar::Request request;
  take(given, "text", request.text), take(given, "file", request.file), take(given, "folder", request.folder);
  take(given, "name", request.name), take(given, "plan", request.plan), take(given, "train", request.train);
  take(given, "config", request.config), take(given, "machine", request.machine);
  take(given, "settings", request.settings), take(given, "targets", request.targets);
  take(given, "without_kernels", request.withoutKernels);
  if (given.contains("kind"))
    request.kind = static_cast<npar::Kind>(nb::cast<int>(given["kind"]));
  request.imports = callbacks.imports();
  request.observer = callbacks.observer();
  return request;
}

npar::Program compile(const nb::dict &given, nb::object observer, nb::object imports) {
  Callbacks callbacks(std::move(observer), std::move(imports));
  npar::Request request = requestOf(given, callbacks);
  npar::Result<npar::Program> made = released([&] { return npar::compile(request); });
  callbacks.rethrow();
  return valueOf(std::move(made));
}

/// Makes one of the reports on a request: its JSON, and whether its checks hold. `options`: of the function, if it has any.
template <typename Function, typename... Options>
std::pair<std::string, bool> report(const nb::dict &given, nb::object observer, nb::object imports, Function function,
                                    const Options &...options) {
  Callbacks callbacks(std::move(observer), std::move(imports));
  npar::Request request = requestOf(given, callbacks);
  npar::Result<npar::Report> made = released([&] { return function(request, options...); });
  callbacks.rethrow();
  npar::Report whole = valueOf(std::move(made));
  return {std::move(whole.json), whole.ok};
}

std::pair<std::string, bool> verify(const nb::dict &given, const nb::dict &chosen, nb::object observer, nb::object imports) {
  npar::VerifyOptions options;
  take(chosen, "threads", options.threads), take(chosen, "seed", options.seed), take(chosen, "any_size", options.anySize);
  return report(given, std::move(observer), std::move(imports), npar::verify, options);
}

npar::SimulateOptions simulateOptionsOf(const nb::dict &chosen) {
  npar::SimulateOptions options;
  take(chosen, "hosts", options.hosts), take(chosen, "jitter", options.jitter), take(chosen, "jitter_samples", options.jitterSamples);
  take(chosen, "jitter_seed", options.jitterSeed), take(chosen, "total_tokens", options.totalTokens);
  take(chosen, "slow", options.slow), take(chosen, "slow_links", options.slowLinks);
  take(chosen, "device_mtbf", options.deviceMtbf), take(chosen, "host_mtbf", options.hostMtbf);
  take(chosen, "checkpoint_seconds", options.checkpointSeconds), take(chosen, "restart_seconds", options.restartSeconds);
  take(chosen, "devices", options.devices), take(chosen, "place", options.place);
  take(chosen, "task_times", options.taskTimes), take(chosen, "rows_sent", options.rowsSent);
  take(chosen, "post_validated", options.postValidated), take(chosen, "overlapped_gathers", options.overlappedGathers);
  take(chosen, "unfused_sums", options.unfusedSums), take(chosen, "unmoved_work", options.unmovedWork);
  return options;
}

std::pair<std::string, bool> simulate(const nb::dict &given, const nb::dict &chosen, nb::object observer, nb::object imports) {
  return report(given, std::move(observer), std::move(imports), npar::simulate, simulateOptionsOf(chosen));
}

std::string simulateDraw(const nb::dict &given, const nb::dict &chosen, int format, nb::object observer, nb::object imports) {
  Callbacks callbacks(std::move(observer), std::move(imports));
  npar::Request request = requestOf(given, callbacks);
  npar::SimulateOptions options = simulateOptionsOf(chosen);
  npar::Result<std::string> made = released([&] { return npar::simulateDraw(request, options, static_cast<npar::Format>(format)); });
  callbacks.rethrow();
  return valueOf(std::move(made));
}

std::pair<std::string, bool> plan(const nb::dict &given, const nb::dict &chosen, nb::object observer, nb::object imports) {
  npar::PlanOptions options;
  take(chosen, "jobs", options.jobs), take(chosen, "hosts", options.hosts), take(chosen, "batch", options.batch);
  take(chosen, "budget", options.budget), take(chosen, "goal", options.goal);
  return report(given, std::move(observer), std::move(imports), npar::plan, options);
}

std::pair<std::string, bool> explain(const nb::dict &given, const nb::dict &chosen, nb::object observer, nb::object imports) {
  npar::ExplainOptions options;
  take(chosen, "jobs", options.jobs), take(chosen, "hosts", options.hosts), take(chosen, "batch", options.batch);
  return report(given, std::move(observer), std::move(imports), npar::explain, options);
}

/// Takes options like the other reports, but has none.
std::pair<std::string, bool> annotate(const nb::dict &given, const nb::dict &, nb::object observer, nb::object imports) {
  return report(given, std::move(observer), std::move(imports), npar::annotate);
}

std::string describe(const npar::Program &program, int view, int format, const nb::dict &chosen) {
  npar::ViewOptions options;
  take(chosen, "width", options.width), take(chosen, "hosts", options.hosts), take(chosen, "ranks_per_host", options.ranksPerHost);
  return valueOf(released([&] { return program.describe(static_cast<npar::View>(view), static_cast<npar::Format>(format), options); }));
}

} // namespace

void addPrograms(nb::module_ &module) {
  nb::class_<npar::Program>(module, "Program")
      .def("describe", &describe)
      .def("save", [](const npar::Program &program, const std::string &path) { check(released([&] { return program.save(path); })); })
      .def("bytes", [](const npar::Program &program) { return nb::bytes(program.bytes().data(), program.bytes().size()); })
      .def("warnings", &npar::Program::warnings);
  module.def("open", [](const std::string &path) { return valueOf(released([&] { return npar::Program::open(path); })); });
  module.def("from_bytes", [](nb::bytes bytes) {
    return valueOf(released([&] { return npar::Program::fromBytes({static_cast<const char *>(bytes.data()), bytes.size()}); }));
  });
  module.def("library", [] { return valueOf(released([] { return npar::library(); })).json; });
  module.def("compile", &compile, nb::arg("request"), nb::arg("observer").none(), nb::arg("imports").none());
  module.def("verify", &verify, nb::arg("request"), nb::arg("options"), nb::arg("observer").none(), nb::arg("imports").none());
  module.def("simulate", &simulate, nb::arg("request"), nb::arg("options"), nb::arg("observer").none(), nb::arg("imports").none());
  module.def("simulate_draw", &simulateDraw, nb::arg("request"), nb::arg("options"), nb::arg("format"), nb::arg("observer").none(),
             nb::arg("imports").none());
  module.def("annotate", &annotate, nb::arg("request"), nb::arg("options"), nb::arg("observer").none(), nb::arg("imports").none());
  module.def("explain", &explain, nb::arg("request"), nb::arg("options"), nb::arg("observer").none(), nb::arg("imports").none());
  module.def("plan", &plan, nb::arg("request"), nb::arg("options"), nb::arg("observer").none(), nb::arg("imports").none());
}

} // namespace npar_python
