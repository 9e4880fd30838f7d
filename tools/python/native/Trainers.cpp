// Trainers: their steps, runs, checkpoints and arrays.
#include "Calls.h"
#include "Tensors.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <list>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace npar_python {

namespace {

/// Any array of Python in the memory of the processor, which stays as long as this object.
using Lent = nb::ndarray<nb::ro, nb::device::cpu>;

[[noreturn]] void refuse(nb::handle value, const std::string &name) {
  std::string what = nb::cast<std::string>(value.type().attr("__name__"));
  for (const char *each : {"dtype", "layout"})
    if (nb::hasattr(value, each))
      what += ", " + nb::cast<std::string>(value.attr(each).attr("__str__")());
  throw nb::type_error(
      ("'" + name + "' (" + what + ") cannot be read: pass a dense array of integers, bool or floats of 16, 32 or 64 bits").c_str());
}

Lent lentOf(nb::handle value, const std::string &name) {
  Lent lent;
  if (!nb::try_cast(value, lent) || !lent.is_valid())
    refuse(value, name);
  return lent;
}

template <typename T> npar::Array arrayOf(const Lent &lent) {
  std::vector<int64_t> shape, strides;
  for (size_t d = 0; d < lent.ndim(); ++d)
    shape.push_back(static_cast<int64_t>(lent.shape(d))), strides.push_back(lent.stride(d));
  return npar::Array(static_cast<const T *>(lent.data()), std::move(shape), std::move(strides));
}

npar::Array arrayOf(const Lent &lent, nb::handle value, const std::string &name) {
  const nb::dlpack::dtype type = lent.dtype();
  auto is = [&](uint8_t code, uint8_t bits) { return type.code == code && type.bits == bits && type.lanes == 1; };
  if (is(0, 64))
    return arrayOf<int64_t>(lent);
  if (is(0, 32))
    return arrayOf<int32_t>(lent);
  if (is(0, 16))
    return arrayOf<int16_t>(lent);
  if (is(0, 8))
    return arrayOf<int8_t>(lent);
  if (is(1, 64))
    return arrayOf<uint64_t>(lent);
  if (is(1, 32))
    return arrayOf<uint32_t>(lent);
  if (is(1, 16))
    return arrayOf<uint16_t>(lent);
  if (is(1, 8))
    return arrayOf<uint8_t>(lent);
  if (is(2, 64))
    return arrayOf<double>(lent);
  if (is(2, 32))
    return arrayOf<float>(lent);
  if (is(2, 16))
    return arrayOf<npar::Float16>(lent);
  if (is(4, 16))
    return arrayOf<npar::BFloat16>(lent);
  if (is(6, 8))
    return arrayOf<bool>(lent);
  refuse(value, name);
}

/// The arrays of a dictionary by name, valid as long as this object.
struct LentArrays {
  explicit LentArrays(const nb::dict &arrays) {
    for (auto [key, value] : arrays) {
      const std::string &name = names.emplace_back(nb::cast<std::string>(key));
      const Lent &array = lent.emplace_back(lentOf(value, name));
      inputs.push_back({name, arrayOf(array, value, name)});
    }
  }

  std::list<std::string> names;
  std::list<Lent> lent;
  std::vector<npar::Input> inputs; ///< point to the other members
};

/// A trainer of Python. After a fork the child has the memory, but none of the threads, so there it is neither used nor destroyed.
class PyTrainer {
  template <typename Call> auto made(Call call) {
    auto result = released(call);
    callbacks.rethrow();
    return valueOf(std::move(result));
  }
  template <typename Call> void done(Call call) {
    npar::Result<void> result = released(call);
    callbacks.rethrow();
    check(result);
  }
  template <typename Call> std::string reported(Callbacks &heard, Call call) {
    npar::Result<npar::Report> result = released(call);
    heard.rethrow();
    callbacks.rethrow();
    return valueOf(std::move(result)).json;
  }

public:
  PyTrainer(const npar::Program &program, const nb::dict &chosen, nb::object observer) : callbacks(std::move(observer)) {
    npar::TrainerOptions options;
    take(chosen, "threads", options.threads), take(chosen, "uninitialised", options.uninitialised);
    take(chosen, "job", options.job), take(chosen, "backend", options.backend), take(chosen, "timeout_seconds", options.timeoutSeconds);
    take(chosen, "seed", options.seed);
    options.observer = callbacks.observer();
    npar::Result<npar::Trainer> made = released([&] { return npar::Trainer::create(program, options); });
    callbacks.rethrow();
    trainer = std::make_unique<npar::Trainer>(valueOf(std::move(made)));
  }
  PyTrainer(const PyTrainer &) = delete;
  PyTrainer &operator=(const PyTrainer &) = delete;
  ~PyTrainer() {
    if (::getpid() != pid)
      trainer.release();
    nb::gil_scoped_release unlocked; // not `released`, which can raise
    trainer.reset();
  }

  nb::dict step(const nb::dict &arrays) {
    const LentArrays lent(arrays);
    return dictOf(made([&] { return trainer->step(lent.inputs); }));
  }

  std::string run(const nb::dict &chosen, nb::object observer) {
    npar::RunOptions options;
    take(chosen, "steps", options.steps), take(chosen, "data", options.data), take(chosen, "tokens", options.tokens);
    take(chosen, "data_order", options.dataOrder), take(chosen, "random_data", options.randomData);
    take(chosen, "checkpoint", options.checkpoint), take(chosen, "checkpoint_every", options.checkpointEvery);
    take(chosen, "checkpoint_keep", options.checkpointKeep), take(chosen, "resume", options.resume);
    take(chosen, "evaluate_every", options.evaluateEvery), take(chosen, "evaluate_data", options.evaluateData);
    take(chosen, "evaluation", options.evaluation);
    Callbacks heard(std::move(observer));
    options.observer = heard.observer();
    return reported(heard, [&] { return trainer->run(options); });
  }
  std::string evaluate(const nb::dict &chosen, nb::object observer) {
    npar::EvaluateOptions options;
    take(chosen, "program", options.program), take(chosen, "data", options.data), take(chosen, "tokens", options.tokens);
    Callbacks heard(std::move(observer));
    options.observer = heard.observer();
    return reported(heard, [&] { return trainer->evaluate(options); });
  }
  std::string generate(const nb::dict &chosen, nb::object observer) {
    npar::GenerateOptions options;
    take(chosen, "count", options.count), take(chosen, "prompt", options.prompt), take(chosen, "prompt_text", options.promptText);
    take(chosen, "tokenizer", options.tokenizer), take(chosen, "temperature", options.temperature), take(chosen, "top_k", options.topK);
    take(chosen, "top_p", options.topP), take(chosen, "seed", options.seed), take(chosen, "program", options.program);
    Callbacks heard(std::move(observer));
    options.observer = heard.observer();
    return reported(heard, [&] { return trainer->generate(options); });
  }

  void save(const std::string &folder, const std::vector<std::pair<std::string, std::string>> &files, int64_t keep) {
    npar::SaveOptions options;
    options.files = files, options.keep = keep;
    done([&] { return trainer->save(folder, options); });
  }
  std::optional<std::string> savedFile(const std::string &name) {
    return made([&] { return trainer->savedFile(name); });
  }
  void resume(const std::string &folder) {
    done([&] { return trainer->resume(folder); });
  }
  void saveWeights(const std::string &path) {
    done([&] { return trainer->saveWeights(path); });
  }
  void loadWeights(const std::string &path) {
    done([&] { return trainer->loadWeights(path); });
  }
  std::string hash() {
    return made([&] { return trainer->hash(); });
  }
  std::string evaluated() {
    return made([&] { return trainer->evaluated(); }).json;
  }
  void setLength(int64_t steps, double stepsPerEpoch) {
    done([&] { return trainer->setLength(steps, stepsPerEpoch); });
  }
  int64_t steps() const { return trainer->steps(); }
  void stop() { trainer->stop(); }

  Tensor tensor(const std::string &name, int what, size_t piece) {
    return Tensor(made([&] { return trainer->toDlPack(name, static_cast<npar::Export>(what), piece); }));
  }
  /// Rank, owned, flat, first and start of each piece.
  nb::list pieces(const std::string &name) {
    nb::list list;
    for (const npar::Piece &piece : made([&] { return trainer->pieces(name); }))
      list.append(nb::make_tuple(piece.rank, piece.owned, piece.flat, piece.first, piece.start));
    return list;
  }
  void write(const std::string &name, nb::object from) {
    Lent lent = lentOf(from, name);
    npar::Array array = arrayOf(lent, from, name);
    done([&] { return trainer->write(name, array); });
  }
  /// `steps`: done from now on; -1: as before.
  void writeAll(const nb::dict &arrays, int64_t steps) {
    const LentArrays lent(arrays);
    done([&] { return trainer->writeAll(lent.inputs, steps); });
  }

private:
  Callbacks callbacks; ///< while the trainer lives
  std::unique_ptr<npar::Trainer> trainer;
  const pid_t pid = ::getpid();
};

} // namespace

void addTrainers(nb::module_ &module) {
  nb::class_<PyTrainer>(module, "Trainer")
      .def(nb::init<const npar::Program &, const nb::dict &, nb::object>(), nb::arg("program"), nb::arg("options"),
           nb::arg("observer").none())
      .def("step", &PyTrainer::step)
      .def("run", &PyTrainer::run, nb::arg("options"), nb::arg("observer").none())
      .def("evaluate", &PyTrainer::evaluate, nb::arg("options"), nb::arg("observer").none())
      .def("generate", &PyTrainer::generate, nb::arg("options"), nb::arg("observer").none())
      .def("save", &PyTrainer::save)
      .def("saved_file", &PyTrainer::savedFile)
      .def("resume", &PyTrainer::resume)
      .def("save_weights", &PyTrainer::saveWeights)
      .def("load_weights", &PyTrainer::loadWeights)
      .def("hash", &PyTrainer::hash)
      .def("evaluated", &PyTrainer::evaluated)
      .def("set_length", &PyTrainer::setLength)
      .def("steps", &PyTrainer::steps)
      .def("stop", &PyTrainer::stop)
      .def("tensor", &PyTrainer::tensor)
      .def("pieces", &PyTrainer::pieces)
      .def("write", &PyTrainer::write)
      .def("write_all", &PyTrainer::writeAll);
}

} // namespace npar_python
