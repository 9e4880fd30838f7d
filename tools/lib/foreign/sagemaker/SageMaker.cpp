// Recognizes Python files, notebooks and JSON files with the arguments of an estimator, and chooses the one that is meant.
#include "tools/lib/foreign/sagemaker/SageMaker.h"

#include "tools/lib/foreign/Beginning.h"
#include "tools/lib/foreign/python/Literals.h"
#include "tools/lib/foreign/python/Tokens.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace npar::foreign {

const ForeignProgram &huggingFace();

namespace {

/// Keys of the dictionary `distribution`.
constexpr const char *ways[] = {
    "smdistributed", "mpi", "torch_distributed", "pytorchddp", "parameter_server", "multi_worker_mirrored_strategy"};

bool isWay(const std::string &key) {
  return std::any_of(std::begin(ways), std::end(ways),
                     [&](const char *way) { return key == way || startsWith(key, std::string(way) + "."); });
}

/// A name without dashes, and without the dictionary that it is in.
std::string plainName(std::string key) {
  const std::string outer = "distribution.";
  if (startsWith(key, outer) && isWay(key.substr(outer.size())))
    key.erase(0, outer.size());
  if (startsWith(key, ofScript))
    std::replace(key.begin(), key.end(), '-', '_');
  return key == "train_instance_type" ? "instance_type" : key == "train_instance_count" ? "instance_count" : key;
}

/// Tells whether a call makes an estimator.
bool isEstimator(const python::Call &call) {
  const python::Value &arguments = *call.arguments;
  auto has = [&](const char *key) { return arguments.find(key) != nullptr; };
  return has("distribution") || ((has("instance_type") || has("train_instance_type")) && has("entry_point"));
}

/// A dictionary that could be the argument `distribution`.
bool isDistribution(const python::Value &value) {
  return value.kind == python::Value::Kind::Map &&
         std::any_of(value.entries.begin(), value.entries.end(), [](const auto &entry) { return isWay(entry.first); });
}

std::vector<ForeignEntry> entriesOf(const python::Literals &literals, uint32_t file, dsl::Diagnostics &diagnostics) {
  std::vector<const python::Call *> calls;
  for (const python::Call &call : literals.calls)
    if (isEstimator(call))
      calls.push_back(&call);
  EntryList entries(file, diagnostics);
  if (literals.isCut) {
    entries.refuse({file, 1, 1, 1}, "this file has more dictionaries than are read");
  } else if (calls.size() > 1) {
    diagnostics
        .error(dsl::Code::F2, calls[0]->at,
               fmt::format("this file has {} estimators: line {} and line {}", calls.size(), calls[0]->at.line, calls[1]->at.line))
        .note(calls[1]->at, "the second one")
        .help(calls[0]->at, "give --from a copy with one of them");
    return {};
  } else if (calls.size() == 1) {
    python::addEntries("", *calls[0]->arguments, calls[0]->at, entries);
    for (const python::Call &call : literals.calls) // what is set later counts
      if (call.name == "set_hyperparameters")
        python::addEntries("hyperparameters", *call.arguments, call.at, entries);
  } else {
    std::vector<const python::Value *> dictionaries;
    for (const auto &[name, value] : literals.names)
      if (isDistribution(*value))
        dictionaries.push_back(value.get());
    if (dictionaries.size() == 1)
      python::addEntries("", *dictionaries[0], dictionaries[0]->at, entries);
    else
      entries.refuse({file, 1, 1, 1}, dictionaries.empty() ? "this file makes no estimator, and has no dictionary for its `distribution`"
                                                           : "this file has several dictionaries for `distribution`, and no estimator");
  }
  return entries.take();
}

class SageMaker : public ForeignProgram {
public:
  const char *key() const override { return "sagemaker"; }
  const char *name() const override { return "SageMaker"; }
  const char *file() const override { return "a SageMaker estimator"; }

  Sign signOf(const std::string &text) const override {
    auto has = [&](const char *word) { return text.find(word) != std::string::npos; };
    const bool isNotebook = isJson(text) && has("\"nbformat\"");
    if (!isNotebook && (isJson(text) || text.compare(0, 2, "#!") == 0))
      return Sign::None;
    const bool isPython = isNotebook || has("import ") || has("=");
    return isPython &&
                   (has("smdistributed") || (has("instance_type") && has("entry_point")) || (has("distribution") && has("instance_type")))
               ? Sign::Own
               : Sign::None;
  }
  bool hasEnding(const std::string &ending) const override { return ending == ".py" || ending == ".ipynb"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    std::optional<std::vector<python::Line>> cells = python::linesOfNotebook(text, file);
    if (isJson(text) && !cells)
      return readJson(text, file, diagnostics);
    return entriesOf(python::literalsOf(cells ? *cells : python::linesOf(text, file)), file, diagnostics);
  }
  bool isNested() const override { return true; }
  void complete(std::vector<ForeignEntry> &entries) const override {
    for (ForeignEntry &entry : entries) {
      entry.key = plainName(entry.key);
      const KnownName *name = startsWith(entry.key, ofScript) ? nameOf(entry.key) : nullptr;
      if (name && name->isSection && !huggingFace().nameOf(entry.key.substr(std::strlen(ofScript))))
        entry.unknown.reset(); // npar does not take it, whatever it is
    }
  }
  std::string shown(const std::string &key, const std::string &value, bool) const override {
    const std::string parameters = "smdistributed.modelparallel.parameters.";
    return (startsWith(key, parameters) ? key.substr(parameters.size()) : key) + ": " + value;
  }
  void read(Reading &in, const ForeignHints &hints) const override {
    readDistribution(in, hints);
    in.finish();
  }
  const KnownName *nameOf(const std::string &key) const override { return sageMakerNames().find(key); }
  bool isOnlyHere(const std::string &key) const override {
    const std::string name = plainName(key);
    return isWay(name) || name == "instance_type" || name == "instance_count";
  }
  std::optional<NamedModel> namedModel(const ForeignFile &file) const override {
    const ForeignEntry *model = nullptr;
    for (const char *key : {"model_name", "model_id", "model_name_or_path"}) // the last one that is there counts
      for (const ForeignEntry &entry : file.entries)
        if (entry.key == std::string(ofScript) + key)
          model = &entry;
    if (!model)
      return std::nullopt;
    ForeignFile script; // whose name decides what is trained
    for (const ForeignEntry &entry : file.entries)
      if (entry.key == "entry_point")
        script.entries.push_back({"", entry.value, entry.at, {}});
    script.entries.push_back({"model_name_or_path", model->value, model->at, {}});
    std::optional<NamedModel> named = huggingFace().namedModel(script);
    return NamedModel{model, named ? named->head : ""};
  }

private:
  static bool isJson(const std::string &text) {
    size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{';
  }
};

} // namespace

const ForeignProgram &sageMaker() {
  static const SageMaker program;
  return program;
}

} // namespace npar::foreign
