/// Trainers: all ranks of a program in this process, with their parameters. Include npar.hpp.
#ifndef NPAR_TRAINER_HPP
#define NPAR_TRAINER_HPP

#include <npar/arrays.hpp>
#include <npar/program.hpp>

namespace npar {
inline namespace v0 {

struct TrainerOptions {
  int32_t threads = 0;          ///< workers; default: the machine's
  std::optional<uint64_t> seed; ///< of parameters, dropout and data order; default: the program's
  bool uninitialised = false;   ///< parameters begin as zeros, because weights will be loaded
  std::string backend;          ///< "cpu" (default), "cuda" or "null", which computes nothing
  double timeoutSeconds = 0;    ///< without any progress; default 300
  std::string job;              ///< "env": share the ranks with the launcher's other processes: npar_trainer_create
  Observer observer;            ///< hears the setup, and remarks while the trainer lives
};

/// An input of a step by its name.
struct Input {
  std::string_view name;
  Array array;
};

struct RunOptions {
  int64_t steps = 0;             ///< steps done at the end, those before included
  std::vector<std::string> data; ///< each FILE or INPUT=FILE; default: the program's data block
  std::string tokens;            ///< what a token file holds: "bytes", "u16" or "i32"
  std::string dataOrder;         ///< "shuffled" or "sequential"; default: the data block's
  bool randomData = false;       ///< independent random values in place of data
  std::string checkpoint;        ///< folder of checkpoints; default: none are written
  int64_t checkpointEvery = 0, checkpointKeep = 0;
  bool resume = false;                   ///< continue from the newest checkpoint of that folder, if it has one
  int32_t evaluateEvery = 0;             ///< steps; 0: no evaluation
  std::vector<std::string> evaluateData; ///< default: the last part of the data block's split
  std::optional<Program> evaluation;     ///< compiled with Kind::Evaluation, for evaluateEvery; default: from the trainer's own request
  Observer observer;                     ///< hears of each step
};

struct EvaluateOptions {
  std::optional<Program> program; ///< compiled with Kind::Evaluation; default: compiled from the trainer's own request
  std::vector<std::string> data;  ///< as RunOptions; default: the last part of the data block's split, or all of it
  std::string tokens;
  Observer observer;
};

struct GenerateOptions {
  int32_t count = 0;           ///< tokens at most; default 100
  std::vector<int32_t> prompt; ///< token ids
  std::string promptText;      ///< in place of `prompt`; needs a tokenizer
  std::string tokenizer;       ///< a folder, a file, or "bytes"; default: bytes for a model of 256 classes
  double temperature = 0;      ///< 0: the most likely token
  int32_t topK = 0;            ///< 0: all
  double topP = 0;             ///< 0: all
  uint64_t seed = 0;
  std::optional<Program> program; ///< compiled with Kind::Generation; default: compiled from the trainer's own request
  Observer observer;              ///< hears of each token
};

struct SaveOptions {
  int64_t keep = 0;                                       ///< checkpoints that stay, the newest; 0: all
  std::vector<std::pair<std::string, std::string>> files; ///< small files of the host: name and content, which may be binary
};

enum class Export : int32_t { View = NPAR_EXPORT_VIEW, Piece = NPAR_EXPORT_PIECE, Copy = NPAR_EXPORT_COPY };

namespace detail {

/// The head of struct DLManagedTensorVersioned of dlpack.h, version 1: as much as a copy needs to be read.
struct DlManaged {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DlManaged *);
  uint64_t flags;
};

} // namespace detail

/// A session of all ranks of a program in this process. Holds the program. Its views hold its memory, not the trainer.
class Trainer {
public:
  static Result<Trainer> create(const Program &program, const TrainerOptions &options = {}) {
    if (!detail::abi().ok())
      return detail::abi().error();
    if (!program.raw())
      return detail::movedFrom("program");
    auto given = detail::options<npar_trainer_options>();
    given.threads = options.threads, given.seed = options.seed.value_or(0), given.seed_given = options.seed.has_value();
    given.uninitialised = options.uninitialised, given.backend = detail::str(options.backend);
    given.timeout_seconds = options.timeoutSeconds, given.job = detail::str(options.job);
    auto state = std::make_shared<State>(options.observer);
    given.observer = state->border.observer();
    detail::Failure failure;
    npar_code code = npar_trainer_create(program.raw(), &given, &state->trainer, failure.out());
    state->border.rethrow();
    if (code != NPAR_OK)
      return failure.take(code);
    return Trainer(std::move(state));
  }
  Trainer(Trainer &&) noexcept = default;
  Trainer &operator=(Trainer &&other) noexcept {
    stopWork();
    state = std::move(other.state);
    return *this;
  }
  /// A run in progress, whose observer destroys its trainer, ends after its step.
  ~Trainer() { stopWork(); }

  /// Runs one step: an update, or one pass of a program that only goes forward. One array per input, in any order, with the global batch
  /// first; integers of any type whose values are in range, floats of any type. The arrays are read during the call only.
  Result<StepResult> step(std::initializer_list<Input> inputs) { return step(inputs.begin(), inputs.size()); }
  Result<StepResult> step(const std::vector<Input> &inputs) { return step(inputs.data(), inputs.size()); }
  /// The measures over all steps since the last such call, of a trainer whose program is of Kind::Evaluation: the JSON of `npar eval
  /// --json`.
  Result<Report> evaluated() {
    std::shared_ptr<State> held = state;
    if (!held)
      return detail::movedFrom("trainer");
    return detail::report(nullptr,
                          [&](npar_buffer **json, npar_error **error) { return npar_trainer_evaluated(held->trainer, json, error); });
  }
  /// States the length of a training by step(), for learning rates with lengths in shares of the run or in epochs: steps done at its end,
  /// and steps that a pass over the data takes; 0: unknown.
  Result<void> setLength(int64_t steps, double stepsPerEpoch = 0) {
    return act([&](npar_trainer *trainer, npar_error **error) { return npar_trainer_set_length(trainer, steps, stepsPerEpoch, error); });
  }
  /// Steps done, those of a resumed checkpoint included.
  int64_t steps() const { return state ? npar_trainer_steps(state->trainer) : 0; }

  /// Trains on data; npar_trainer_run in npar.h lists the members of the report, and what a run writes that is stopped. A run cannot
  /// continue from a checkpoint of step(), whose data it cannot find again, nor from one of other data.
  Result<Report> run(const RunOptions &options) {
    detail::Border border(options.observer);
    std::vector<npar_str> data = detail::strsOf(options.data), evaluateData = detail::strsOf(options.evaluateData);
    auto given = detail::options<npar_run_options>();
    given.steps = options.steps, given.random_data = options.randomData, given.resume = options.resume;
    given.data = data.data(), given.data_count = data.size();
    given.tokens = detail::str(options.tokens), given.data_order = detail::str(options.dataOrder);
    given.checkpoint = detail::str(options.checkpoint);
    given.checkpoint_every = options.checkpointEvery, given.checkpoint_keep = options.checkpointKeep;
    given.evaluate_every = options.evaluateEvery;
    given.evaluate_data = evaluateData.data(), given.evaluate_data_count = evaluateData.size();
    given.evaluation = options.evaluation ? options.evaluation->raw() : nullptr;
    given.observer = border.observer();
    return report(border, &npar_trainer_run, given);
  }
  /// One pass over the data with the present parameters: the JSON of `npar eval --json`.
  Result<Report> evaluate(const EvaluateOptions &options = {}) {
    detail::Border border(options.observer);
    std::vector<npar_str> data = detail::strsOf(options.data);
    auto given = detail::options<npar_evaluate_options>();
    given.program = options.program ? options.program->raw() : nullptr;
    given.data = data.data(), given.data_count = data.size(), given.tokens = detail::str(options.tokens);
    given.observer = border.observer();
    return report(border, &npar_trainer_evaluate, given);
  }
  /// Continues a prompt with the present parameters: {schema, prompt_tokens, tokens, text}.
  Result<Report> generate(const GenerateOptions &options) {
    detail::Border border(options.observer);
    auto given = detail::options<npar_generate_options>();
    given.count = options.count, given.prompt = options.prompt.data(), given.prompt_count = options.prompt.size();
    given.prompt_text = detail::str(options.promptText), given.tokenizer = detail::str(options.tokenizer);
    given.temperature = options.temperature, given.top_k = options.topK, given.top_p = options.topP, given.seed = options.seed;
    given.program = options.program ? options.program->raw() : nullptr;
    given.observer = border.observer();
    return report(border, &npar_trainer_generate, given);
  }
  /// Asks the call in progress, or else the next one, to end with Code::Stopped. Any thread and any signal handler may call it while the
  /// trainer lives.
  void stop() noexcept {
    if (state)
      npar_trainer_stop(state->trainer);
  }

  /// Weights of a file or folder: safetensors, a Hugging Face folder, a checkpoint.
  Result<void> loadWeights(const std::string &path) { return withPath(&npar_trainer_load_weights, path); }
  /// All parameters as one .safetensors file, whole or not at all.
  Result<void> saveWeights(const std::string &path) { return withPath(&npar_trainer_save_weights, path); }
  /// Writes the checkpoint step-N into the folder: parameters, optimizer states, number of steps done. A folder that has checkpoints is
  /// refused unless this trainer resumed from it or saved to it last, so that trainings do not mix. See npar_trainer_save for a step saved
  /// twice.
  Result<void> save(const std::string &folder) { return withPath(&npar_trainer_save, folder); }
  /// The same with files of the host, such as where its data continue; the checkpoint's hashes cover them.
  Result<void> save(const std::string &folder, const SaveOptions &options) {
    std::vector<npar_setting> files;
    for (const auto &[name, content] : options.files)
      files.push_back({detail::str(name), detail::str(content)});
    auto given = detail::options<npar_save_options>();
    given.keep = options.keep, given.files = files.data(), given.file_count = files.size();
    return act(
        [&](npar_trainer *trainer, npar_error **error) { return npar_trainer_save_with(trainer, detail::str(folder), &given, error); });
  }
  /// A host's file in the checkpoint that the trainer has resumed from; nothing if it has no such file, or nothing was resumed.
  Result<std::optional<std::string>> savedFile(const std::string &name) {
    npar_buffer *content = nullptr;
    Result<void> done = act(
        [&](npar_trainer *trainer, npar_error **error) { return npar_trainer_saved_file(trainer, detail::str(name), &content, error); });
    std::unique_ptr<npar_buffer, decltype(&npar_buffer_free)> held(content, &npar_buffer_free);
    if (!done.ok())
      return done.error();
    return content ? std::optional<std::string>(detail::textOf(npar_buffer_data(content))) : std::nullopt;
  }
  /// Continues from the newest intact checkpoint of the folder, whatever the plan that wrote it; steps() tells its step. Damaged ones are
  /// skipped: the trainer's observer hears a remark about each.
  Result<void> resume(const std::string &folder) { return withPath(&npar_trainer_resume, folder); }
  /// 32 hexadecimal digits over all parameters, equal for equal parameters under any plan.
  Result<std::string> hash() {
    char digits[33] = {};
    Result<void> done = act([&](npar_trainer *trainer, npar_error **error) { return npar_trainer_hash(trainer, digits, error); });
    return done.ok() ? Result<std::string>(digits) : Result<std::string>(done.error());
  }

  /// The whole parameter in place. BadInput if the plan splits it: use pieces() or read(). Usage if its elements are no T.
  template <typename T> Result<ArrayView<T>> view(std::string_view name) {
    npar_array array = {};
    Result<void> done =
        act([&](npar_trainer *trainer, npar_error **error) { return npar_trainer_view(trainer, detail::str(name), &array, error); });
    return done.ok() ? AnyView(array, state).as<T>() : Result<ArrayView<T>>(done.error());
  }
  /// The pieces of a parameter in place.
  Result<std::vector<Piece>> pieces(std::string_view name) {
    const npar_piece *raw = nullptr;
    size_t count = 0;
    Result<void> done = act(
        [&](npar_trainer *trainer, npar_error **error) { return npar_trainer_pieces(trainer, detail::str(name), &raw, &count, error); });
    if (!done.ok())
      return done.error();
    std::vector<Piece> pieces;
    for (size_t i = 0; i < count; ++i) {
      std::vector<int64_t> start;
      if (!raw[i].is_flat && raw[i].start)
        start.assign(raw[i].start, raw[i].start + raw[i].array.ndim);
      pieces.push_back({raw[i].rank, raw[i].owned != 0, raw[i].is_flat != 0, raw[i].first, std::move(start), AnyView(raw[i].array, state)});
    }
    return pieces;
  }
  /// Gathers a parameter, an optimizer state or an output of the last step, with its shape. T: float or double.
  template <typename T> Result<Values<T>> read(std::string_view name) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "npar reads as float or double");
    void *managed = nullptr;
    Result<void> done = act([&](npar_trainer *trainer, npar_error **error) {
      return npar_trainer_to_dlpack(trainer, detail::str(name), NPAR_EXPORT_COPY, 0, &managed, error);
    });
    if (!done.ok())
      return done.error();
    auto drop = [](void *each) { static_cast<detail::DlManaged *>(each)->deleter(static_cast<detail::DlManaged *>(each)); };
    std::shared_ptr<void> owner(managed, drop);
    npar_array array = {};
    detail::Failure failure;
    if (npar_code code = npar_array_from_dlpack(managed, &array, failure.out()); code != NPAR_OK)
      return failure.take(code);
    Values<T> values;
    values.shape.assign(array.shape, array.shape + array.ndim);
    size_t count = 1;
    for (int64_t size : values.shape)
      count *= static_cast<size_t>(size);
    if (array.dtype == NPAR_F64)
      values.elements.assign(static_cast<const double *>(array.data), static_cast<const double *>(array.data) + count);
    else
      values.elements.assign(static_cast<const float *>(array.data), static_cast<const float *>(array.data) + count);
    return values;
  }
  /// Gathers a parameter, an optimizer state or an output of the last step (npar_trainer_read says which there are) into memory of the
  /// host: row-major, of its shape.
  template <typename T> Result<void> read(std::string_view name, T *into, const std::vector<int64_t> &shape) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "npar reads as float or double");
    npar_array array = Array(into, shape).raw();
    array.shape = shape.data();
    return act([&](npar_trainer *trainer, npar_error **error) { return npar_trainer_read(trainer, detail::str(name), &array, error); });
  }
  /// Writes a parameter or an optimizer state on every rank that keeps a piece of it.
  Result<void> write(std::string_view name, const Array &from) {
    if (std::string refusal = from.refusal(name); !refusal.empty())
      return detail::usage(refusal);
    npar_array array = from.raw();
    return act([&](npar_trainer *trainer, npar_error **error) { return npar_trainer_write(trainer, detail::str(name), &array, error); });
  }
  /// Writes several, all or none. `steps`: steps done from now on, by which learning rates and optimizers count; -1: as before.
  Result<void> writeAll(const std::vector<Input> &arrays, int64_t steps = -1) {
    Result<std::vector<npar_input>> raw = rawOf(arrays.data(), arrays.size(), "");
    if (!raw.ok())
      return raw.error();
    return act([&](npar_trainer *trainer, npar_error **error) {
      return npar_trainer_write_all(trainer, raw.value().data(), raw.value().size(), steps, error);
    });
  }
  /// A managed DLPack tensor (struct DLManagedTensorVersioned, version 1), whose deleter frees it. A view and a piece are read-only and
  /// keep the trainer's memory. A copy can also be of an optimizer state or of an output of the last step. `piece`: number of the piece of
  /// Export::Piece.
  Result<void *> toDlPack(std::string_view name, Export what, size_t piece = 0) {
    void *managed = nullptr;
    Result<void> done = act([&](npar_trainer *trainer, npar_error **error) {
      return npar_trainer_to_dlpack(trainer, detail::str(name), static_cast<npar_export>(what), piece, &managed, error);
    });
    return done.ok() ? Result<void *>(managed) : Result<void *>(done.error());
  }
  /// For calls of npar.h; it belongs to this object.
  npar_trainer *raw() const { return state ? state->trainer : nullptr; }

private:
  struct State {
    explicit State(Observer observer) : border(std::move(observer)) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;
    ~State() { npar_trainer_free(trainer); }
    detail::Border border; ///< of TrainerOptions::observer
    npar_trainer *trainer = nullptr;
  };

  explicit Trainer(std::shared_ptr<State> made) : state(std::move(made)) {}

  void stopWork() noexcept {
    if (state)
      npar_trainer_stop(state->trainer);
  }
  /// Makes a call. The state stays until it ends, even if an observer destroys this object.
  template <typename Call> Result<void> act(Call call) {
    std::shared_ptr<State> held = state;
    detail::Failure failure;
    if (!held)
      return detail::movedFrom("trainer");
    npar_code code = call(held->trainer, failure.out());
    held->border.rethrow();
    return failure.result(code);
  }
  template <typename Function, typename Options> Result<Report> report(detail::Border &border, Function function, const Options &options) {
    std::shared_ptr<State> held = state;
    if (!held)
      return detail::movedFrom("trainer");
    Result<Report> made =
        detail::report(&border, [&](npar_buffer **json, npar_error **error) { return function(held->trainer, &options, json, error); });
    held->border.rethrow();
    return made;
  }
  Result<void> withPath(npar_code (*function)(npar_trainer *, npar_str, npar_error **), const std::string &path) {
    return act([&](npar_trainer *trainer, npar_error **error) { return function(trainer, detail::str(path), error); });
  }
  /// `kind`: what a refusal calls an array, "input ".
  static Result<std::vector<npar_input>> rawOf(const Input *inputs, size_t count, const char *kind) {
    std::vector<npar_input> raw;
    for (size_t i = 0; i < count; ++i) {
      if (std::string refusal = inputs[i].array.refusal(inputs[i].name); !refusal.empty())
        return detail::usage(kind + refusal);
      raw.push_back({detail::str(inputs[i].name), inputs[i].array.raw()});
    }
    return raw;
  }

  Result<StepResult> step(const Input *inputs, size_t count) {
    Result<std::vector<npar_input>> raw = rawOf(inputs, count, "input ");
    if (!raw.ok())
      return raw.error();
    auto result = detail::options<npar_step_result>();
    Result<void> done = act([&](npar_trainer *trainer, npar_error **error) {
      return npar_trainer_step(trainer, raw.value().data(), raw.value().size(), &result, error);
    });
    return done.ok() ? Result<StepResult>(detail::stepOf(result)) : Result<StepResult>(done.error());
  }

  std::shared_ptr<State> state;
};

} // namespace v0
} // namespace npar

#endif
