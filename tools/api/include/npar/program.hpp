/// Requests, compiled programs, and what is done without training. Include npar.hpp.
#ifndef NPAR_PROGRAM_HPP
#define NPAR_PROGRAM_HPP

#include <npar/errors.hpp>

namespace npar {
inline namespace v0 {

enum class Kind : int32_t {
  Training = NPAR_TRAINING,
  Evaluation = NPAR_EVALUATION, ///< forward only: losses, metrics, outputs
  Generation = NPAR_GENERATION  ///< forward only: logits of the next token
};

/// What to compile: exactly one of `text`, `file` and `folder`. All other members have defaults.
struct Request {
  std::string text;   ///< a model text
  std::string file;   ///< path of a model text or of a compiled program, or the name of a model of the standard library
  std::string folder; ///< a Hugging Face folder, or a folder of checkpoints that npar wrote
  std::string name;   ///< what messages call `text`; default "<text>"
  Imports imports;
  std::string plan, train, config; ///< names; default: the text's only one. plan "none": one rank
  std::vector<std::pair<std::string, std::string>> settings;
  Kind kind = Kind::Training;
  std::string machine;              ///< name, path or text (with braces), such as "dgx-a100"; default: the reference machine, one host
  std::vector<std::string> targets; ///< further devices to compile for: "cuda:sm_80", "cuda:sm_86", "cuda:sm_89" or "cuda:sm_90"
  bool withoutKernels = false;      ///< a program to look at, which cannot run
  Observer observer;
  std::optional<Stop> stop; ///< ends the call from another thread or from a signal handler
};

enum class View : int32_t {
  Summary = NPAR_VIEW_SUMMARY,       ///< numbers of parameters; sizes, work and communication of each class of ranks: text, JSON
  Why = NPAR_VIEW_WHY,               ///< the reason of each collective, the largest first: text, JSON
  Bytes = NPAR_VIEW_BYTES,           ///< bytes per parameter: text, JSON
  Hosts = NPAR_VIEW_HOSTS,           ///< traffic between hosts: text, JSON
  Timeline = NPAR_VIEW_TIMELINE,     ///< the planned step: SVG, JSON (trace events of Chrome and Perfetto)
  Page = NPAR_VIEW_PAGE,             ///< a page to explore: HTML
  Inputs = NPAR_VIEW_INPUTS,         ///< names, types, shapes, and those of the outputs: JSON
  Parameters = NPAR_VIEW_PARAMETERS, ///< names, types, shapes, what splits them, their stages and optimizer states: JSON
  Mesh = NPAR_VIEW_MESH              ///< axes, their sizes, number of ranks, ranks of each pipeline stage: JSON
};

enum class Format : int32_t { Text = NPAR_TEXT, Json = NPAR_JSON, Svg = NPAR_SVG, Html = NPAR_HTML };

struct ViewOptions {
  int32_t width = 0;        ///< columns of text; default 100
  int64_t hosts = 0;        ///< View::Hosts: number of hosts, at most one per rank; default 1
  int64_t ranksPerHost = 0; ///< default: the ranks divided by the hosts
};

namespace detail {

/// A request as the C interface takes it. It refers to the Request, which must live as long.
class RawRequest {
public:
  explicit RawRequest(const Request &from) : border(from.observer, from.imports), targets(strsOf(from.targets)) {
    for (const auto &[key, value] : from.settings)
      settings.push_back({str(key), str(value)});
    raw = options<npar_request>();
    raw.kind = static_cast<npar_kind>(from.kind);
    raw.text = from.text.empty() ? npar_str{} : str(from.text);
    raw.name = str(from.name), raw.file = str(from.file), raw.folder = str(from.folder), raw.machine = str(from.machine);
    raw.plan = str(from.plan), raw.train = str(from.train), raw.config = str(from.config);
    raw.settings = settings.data(), raw.setting_count = settings.size();
    raw.targets = targets.data(), raw.target_count = targets.size();
    raw.without_kernels = from.withoutKernels;
    raw.import = border.import(), raw.import_user = &border, raw.observer = border.observer();
    raw.stop = from.stop ? from.stop->raw() : nullptr;
  }
  RawRequest(const RawRequest &) = delete;
  RawRequest &operator=(const RawRequest &) = delete;

  Border border;
  npar_request raw;

private:
  std::vector<npar_setting> settings;
  std::vector<npar_str> targets;
};

} // namespace detail

/// A compiled program, which never changes. Copies share it.
class Program {
public:
  /// Opens a compiled program (.npx). It holds native code: open only what you would execute.
  static Result<Program> open(const std::string &path) {
    return made(nullptr, [&](npar_program **program, npar_error **error) { return npar_program_open(detail::str(path), program, error); });
  }
  /// The same from memory, which is copied.
  static Result<Program> fromBytes(std::string_view bytes) {
    return made(nullptr, [&](npar_program **program, npar_error **error) {
      return npar_program_from_bytes(bytes.data(), bytes.size(), program, error);
    });
  }

  /// The bytes of the .npx file; they belong to the program.
  std::string_view bytes() const { return detail::viewOf(npar_program_bytes(raw())); }
  /// Writes the .npx file: whole, or not at all.
  Result<void> save(const std::string &path) const {
    if (!held)
      return detail::movedFrom("program");
    detail::Failure failure;
    return failure.result(npar_program_save(raw(), detail::str(path), failure.out()));
  }
  /// The warnings of its compilation as a JSON array; [] for an opened program.
  std::string warnings() const { return detail::textOf(npar_program_warnings(raw())); }
  /// Describes the program without running it. Usage: the view has no such format.
  Result<std::string> describe(View view, Format format, const ViewOptions &options = {}) const {
    if (!held)
      return detail::movedFrom("program");
    auto given = detail::options<npar_view_options>();
    given.width = options.width, given.hosts = options.hosts, given.ranks_per_host = options.ranksPerHost;
    Result<Report> report = detail::report(nullptr, [&](npar_buffer **result, npar_error **error) {
      return npar_program_describe(raw(), static_cast<npar_view>(view), static_cast<npar_format>(format), &given, result, error);
    });
    return report.ok() ? Result<std::string>(std::move(report.value().json)) : Result<std::string>(report.error());
  }
  /// {inputs: [{name, dtype, axes, shape}], outputs: [{name, dtype, shape}]}
  Result<std::string> inputs() const { return describe(View::Inputs, Format::Json); }
  /// {parameters: [{name, dtype, axes, shape, frozen, split_by, stages, states}]}
  Result<std::string> parameters() const { return describe(View::Parameters, Format::Json); }
  /// {mesh: [{name, size}], ranks, stages: [{stage, ranks}]}
  Result<std::string> mesh() const { return describe(View::Mesh, Format::Json); }
  /// For calls of npar.h; it belongs to this object.
  npar_program *raw() const { return held.get(); }

private:
  friend Result<Program> compile(const Request &request);
  explicit Program(npar_program *program) : held(program, &npar_program_free) {}
  template <typename Call> static Result<Program> made(detail::Border *border, Call call) {
    if (!detail::abi().ok())
      return detail::abi().error();
    npar_program *program = nullptr;
    detail::Failure failure;
    npar_code code = call(&program, failure.out());
    Program owned(program);
    if (border)
      border->rethrow();
    if (code != NPAR_OK)
      return failure.take(code);
    return owned;
  }

  std::shared_ptr<npar_program> held;
};

/// Compiles. Needs libnpar_compiler next to libnpar, which is opened on the first call.
inline Result<Program> compile(const Request &request) {
  detail::RawRequest given(request);
  return Program::made(&given.border, [&](npar_program **program, npar_error **error) { return npar_compile(&given.raw, program, error); });
}
/// Compiles a file, or a model of the standard library, under its only plan.
inline Result<Program> compile(const std::string &file) {
  Request request;
  request.file = file;
  return compile(request);
}

struct VerifyOptions {
  int32_t threads = 0;  ///< default: the machine's
  uint64_t seed = 0;    ///< of parameters and data; default 1
  bool anySize = false; ///< also models of more than 5 million parameters, which take long
};

struct SimulateOptions {
  int64_t hosts = 0;         ///< default: as many as the ranks need
  double jitter = 0;         ///< share by which times vary, such as 0.05
  int32_t jitterSamples = 0; ///< default 100
  uint64_t jitterSeed = 0;
  double totalTokens = 0;              ///< of the whole training, for its duration and price; 0: unknown
  std::vector<std::string> slow;       ///< slow ranks with factors: "rank=3:1.5", "host=0-1:1.2", "pp=2:1.1"
  std::vector<std::string> slowLinks;  ///< slow links by level, with factors: "cluster:2"
  double deviceMtbf = 0, hostMtbf = 0; ///< mean hours between failures of a device and of a host; 0: no failures
  double checkpointSeconds = 0;        ///< for which training waits for a checkpoint; with deviceMtbf or hostMtbf
  double restartSeconds = 0;           ///< from a failure until training continues; with deviceMtbf or hostMtbf
  int64_t devices = 0;                 ///< of each host that ranks use; default: all
  std::string place;                   ///< order of ranks on hosts, such as "pp, dp, tp"; default: the plan's
  std::vector<double> taskTimes;       ///< 4 measured times in milliseconds: npar_simulate_options::task_times; empty: the machine's
  std::vector<double> rowsSent;        ///< 2 shares of the rows of experts: sent to other ranks, and to other hosts; empty: all
  bool postValidated = false, overlappedGathers = false, unfusedSums = false, unmovedWork = false; ///< as in npar_simulate_options
};

struct PlanOptions {
  int32_t jobs = 0;  ///< threads; default: the machine's
  int64_t hosts = 0; ///< default: one, or all of an uneven machine
  int64_t batch = 0; ///< default: the train block's
  double budget = 0; ///< effort, not a limit: npar_plan_options::budget; default 52
  std::string goal;  ///< "speed" (default), "memory" or "money"
};

struct ExplainOptions {
  int32_t jobs = 0;  ///< threads; default: the machine's
  int64_t hosts = 0; ///< default: one
  int64_t batch = 0; ///< default: the train block's
};

namespace detail {

template <typename Call> Result<Report> reportOn(const Request &request, Call call) {
  if (!abi().ok())
    return abi().error();
  RawRequest given(request);
  return report(&given.border, [&](npar_buffer **json, npar_error **error) { return call(&given.raw, json, error); });
}

} // namespace detail

/// Does the plan compute what one rank computes? A difference is a Report with ok = false, not an error.
inline Result<Report> verify(const Request &request, const VerifyOptions &options = {}) {
  auto given = detail::options<npar_verify_options>();
  given.threads = options.threads, given.seed = options.seed, given.any_size = options.anySize;
  return detail::reportOn(
      request, [&](const npar_request *raw, npar_buffer **json, npar_error **error) { return npar_verify(raw, &given, json, error); });
}

namespace detail {

/// The options of a simulation for the C interface, with the memory that they need. `call`: takes the request and them.
template <typename Call> Result<Report> simulated(const Request &request, const SimulateOptions &options, Call call) {
  if (!(options.taskTimes.empty() || options.taskTimes.size() == 4))
    return usage("taskTimes has " + std::to_string(options.taskTimes.size()) + " times: it must have 4, or none");
  if (!(options.rowsSent.empty() || options.rowsSent.size() == 2))
    return usage("rowsSent has " + std::to_string(options.rowsSent.size()) + " shares: it must have 2, or none");
  auto given = detail::options<npar_simulate_options>();
  given.hosts = options.hosts, given.jitter = options.jitter, given.jitter_samples = options.jitterSamples;
  given.jitter_seed = options.jitterSeed, given.total_tokens = options.totalTokens;
  std::vector<npar_str> slow = strsOf(options.slow), slowLinks = strsOf(options.slowLinks);
  given.slow = slow.data(), given.slow_count = slow.size(), given.slow_links = slowLinks.data(), given.slow_link_count = slowLinks.size();
  given.device_mtbf = options.deviceMtbf, given.host_mtbf = options.hostMtbf;
  given.checkpoint_seconds = options.checkpointSeconds, given.restart_seconds = options.restartSeconds;
  given.devices = options.devices, given.place = str(options.place);
  given.task_times = options.taskTimes.empty() ? nullptr : options.taskTimes.data();
  given.rows_sent = options.rowsSent.empty() ? nullptr : options.rowsSent.data();
  given.post_validated = options.postValidated, given.overlapped_gathers = options.overlappedGathers;
  given.unfused_sums = options.unfusedSums, given.unmoved_work = options.unmovedWork;
  return reportOn(request, [&](const npar_request *raw, npar_buffer **made, npar_error **error) { return call(raw, &given, made, error); });
}

} // namespace detail

/// Predicts a training step on the request's machine.
inline Result<Report> simulate(const Request &request, const SimulateOptions &options = {}) {
  return detail::simulated(request, options, npar_simulate);
}

/// Draws that step: Format::Svg, Format::Json (trace events of Chrome and Perfetto) or Format::Html.
inline Result<std::string> simulateDraw(const Request &request, const SimulateOptions &options, Format format) {
  Result<Report> drawn = detail::simulated(
      request, options, [&](const npar_request *raw, const npar_simulate_options *given, npar_buffer **picture, npar_error **error) {
        return npar_simulate_draw(raw, given, static_cast<npar_format>(format), picture, error);
      });
  return drawn.ok() ? Result<std::string>(std::move(drawn).value().json) : Result<std::string>(drawn.error());
}

/// Searches a plan for the request's model and machine.
inline Result<Report> plan(const Request &request, const PlanOptions &options = {}) {
  auto given = detail::options<npar_plan_options>();
  given.jobs = options.jobs, given.hosts = options.hosts, given.batch = options.batch;
  given.budget = options.budget, given.goal = detail::str(options.goal);
  return detail::reportOn(
      request, [&](const npar_request *raw, npar_buffer **json, npar_error **error) { return npar_plan(raw, &given, json, error); });
}

/// Reports which kinds of parallelism and of saving memory pay off for the request's model and machine.
inline Result<Report> explain(const Request &request, const ExplainOptions &options = {}) {
  auto given = detail::options<npar_explain_options>();
  given.jobs = options.jobs, given.hosts = options.hosts, given.batch = options.batch;
  return detail::reportOn(
      request, [&](const npar_request *raw, npar_buffer **json, npar_error **error) { return npar_explain(raw, &given, json, error); });
}

/// The text of the request's plan with the effect of each line.
inline Result<Report> annotate(const Request &request) { return detail::reportOn(request, npar_annotate); }

/// The names of what the standard library has: {layers, machines, models, optimizers, plans}.
inline Result<Report> library() {
  if (!detail::abi().ok())
    return detail::abi().error();
  return detail::report(nullptr, [](npar_buffer **json, npar_error **error) { return npar_library(json, error); });
}

} // namespace v0
} // namespace npar

#endif
