// Parameters from and to safetensors files with the model's own names, whatever plan the session runs.
#include "engine/checkpoint/Weights.h"

#include "engine/checkpoint/CountsAsFloats.h"
#include "engine/checkpoint/IndexedParameter.h"
#include "engine/checkpoint/Parts.h"
#include "engine/checkpoint/Values.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Precision.h"
#include "engine/safetensors/SafetensorsWriter.h"
#include "engine/safetensors/StoredType.h"
#include "engine/status/OptionNames.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

namespace {

std::vector<const Variable *> parametersOf(const Program &program) {
  std::vector<const Variable *> parameters;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter)
      parameters.push_back(variable);
  return parameters;
}

/// The variable that a checkpoint stores under a parameter's name: its float32 master, if it has one.
std::string savedName(const Program &program, const std::string &parameter) {
  const auto &variables = *program.variables();
  for (uint32_t i = 0; i < variables.size(); ++i)
    if (variables.Get(i)->kind() == VariableKind::Parameter && variables.Get(i)->name()->str() == parameter)
      if (int64_t master = masterOf(program, i); master >= 0)
        return variables.Get(static_cast<uint32_t>(master))->name()->str();
  return parameter;
}

std::vector<std::string> quoted(std::vector<std::string> names) {
  for (std::string &name : names)
    name = files::quotedName(name);
  return names;
}

/// Appends at most five entries of a list, then how many more there are.
void append(std::string &message, const std::string &what, const std::vector<std::string> &list) {
  if (list.empty())
    return;
  message += "\n  " + what + ": ";
  for (size_t i = 0; i < list.size() && i < 5; ++i)
    message += (i ? ", " : "") + list[i];
  if (list.size() > 5)
    message += " and " + std::to_string(list.size() - 5) + " more";
}

using Loaded = std::map<const Variable *, const NamedTensor *>;

/// Says which names, shapes and types do not fit; empty when all do.
std::string wrongTensors(const FileNames &names, const Loaded &loaded) {
  std::string wrong;
  for (const auto *list : {&names.loaded, &names.same})
    for (const NamedTensor &each : *list) {
      std::vector<int64_t> stored = each.index == NamedTensor::whole
                                        ? std::vector<int64_t>(each.parameter->stored()->begin(), each.parameter->stored()->end())
                                        : indexedTensor(*each.parameter)->shape;
      if (each.tensor->shape != stored)
        wrong += "\n  tensor " + files::quotedName(each.name) + " has shape " + shapeText(each.tensor->shape) + ", the model's is " +
                 shapeText(stored);
      else if (!SafetensorsFile::isFloating(each.tensor->type))
        wrong +=
            "\n  tensor " + files::quotedName(each.name) + " has type " + each.tensor->type + "; " + floatingWords() + " can be loaded";
      if (const NamedTensor *first = each.index < 0 ? nullptr : loaded.at(each.parameter);
          first && first->tensor->type != each.tensor->type)
        wrong += "\n  tensors " + files::quotedName(first->name) + " and " + files::quotedName(each.name) +
                 " of one parameter have the types " + first->tensor->type + " and " + each.tensor->type;
      if (!loaded.count(each.parameter))
        wrong += "\n  tensor " + files::quotedName(each.name) + " must equal '" + each.parameter->name()->str() +
                 "', which is missing in the file";
    }
  append(wrong, "missing in the file", quoted(names.missing));
  append(wrong, "unknown to the model", quoted(names.unknown));
  append(wrong, "two tensors for one parameter", names.ambiguous);
  return wrong;
}

/// Says which tensors must hold the same values and do not; empty when all do. Fails when the store cannot be read.
Result<std::string> differentValues(const TensorStore &store, const FileNames &names, const Loaded &loaded) {
  std::string wrong;
  for (const NamedTensor &each : names.same) {
    const NamedTensor &other = *loaded.at(each.parameter);
    Result<std::optional<std::string>> values = firstDifference(store, each.name, other.name);
    if (!values.ok())
      return values.status();
    if (*values)
      wrong += "\n  tensors " + files::quotedName(each.name) + " and " + files::quotedName(other.name) +
               " must hold the same values and differ: " + **values;
  }
  if (!wrong.empty())
    wrong += "\n  if one of them is a head that is not tied to the embedding, give --set tied=false";
  return wrong;
}

/// Says which values of tensors, whose names and shapes fit, cannot be loaded; empty when all can. Fails when the store cannot be read.
Result<std::string> wrongValues(const TensorStore &store, const FileNames &names, const Loaded &loaded) {
  std::vector<std::string> unfit;
  for (const NamedTensor &each : names.loaded) {
    Result<std::optional<std::string>> value = firstUnfit(store, each.name, each.parameter->type());
    if (value.ok() && !*value && isModelCount(*each.parameter))
      value = firstFraction(store, each.name);
    if (!value.ok())
      return value.status();
    if (*value)
      unfit.push_back("tensor " + files::quotedName(each.name) + " holds " + **value);
  }
  std::string wrong;
  append(wrong, "values that the model cannot hold", unfit);
  return wrong.empty() ? differentValues(store, names, loaded) : wrong;
}

Loaded byParameter(const FileNames &names) {
  Loaded loaded;
  for (const NamedTensor &each : names.loaded)
    loaded.insert({each.parameter, &each}); // of several tensors the first
  return loaded;
}

Status checkPatterns(const Program &program, const std::vector<std::string> &patterns) {
  const std::vector<const Variable *> parameters = parametersOf(program);
  for (const std::string &pattern : patterns)
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const Variable *each) { return matchesPattern(pattern, each->name()->str()); }))
      return Status::badInput(nameOf(Option::Fresh) + " '" + pattern + "' matches no parameter of the model, which has " +
                              (parameters.empty()
                                   ? std::string("none")
                                   : std::to_string(parameters.size()) + ", the last '" + parameters.back()->name()->str() + "'"));
  return {};
}

/// Tells how to replace the first parameter that does not fit, if most do: a head for other classes, say. Empty if few fit.
std::string freshHelp(const FileNames &names) {
  std::vector<std::string> wrong = names.missing;
  for (const NamedTensor &each : names.loaded)
    if (each.index == NamedTensor::whole &&
        each.tensor->shape != std::vector<int64_t>(each.parameter->stored()->begin(), each.parameter->stored()->end()))
      wrong.push_back(each.parameter->name()->str());
  if (optionsAreMembers || wrong.empty() || 3 * wrong.size() > names.loaded.size())
    return "";
  const std::string &first = wrong.front();
  const size_t layer = first.rfind('.'); // a parameter outside of all layers is named alone
  const std::string pattern = layer == std::string::npos ? first : first.substr(0, layer + 1) + "*";
  return "\nnpar: help: to train a new part on top of these weights, give " + nameOf(Option::Fresh, "'" + pattern + "'") +
         " with npar train";
}

Status unfit(const TensorStore &store, const std::string &wrong) {
  bool file = store.description().rfind("weights ", 0) == 0;
  return wrong.empty() ? Status() : Status::badInput((file ? "" : "weights of ") + store.description() + " do not fit the model:" + wrong);
}

Status writeCount(SafetensorsWriter &writer, size_t tensor, const Variable &variable, const std::vector<double> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(int64_t));
  if (!writeCounts(values.data(), values.size(), bytes.data()))
    return Status::runFailed("state '" + variable.name()->str() + "' is no whole number");
  return writer.write(tensor, 0, bytes.data(), bytes.size());
}

} // namespace

Result<Weights> Weights::match(const Program &program, std::shared_ptr<const TensorStore> store, const std::vector<std::string> &unread) {
  TRY_STATUS(checkPatterns(program, unread));
  Weights weights;
  weights.tensors = std::make_unique<std::map<std::string, StoreEntry>>(weightsOf(*store));
  weights.found = namesOf(program, *weights.tensors, unread);
  std::set<std::string> counts; // of other programs, for states of the model
  for (const auto *list : {&weights.found.loaded, &weights.found.same})
    for (const NamedTensor &each : *list)
      if (each.tensor->type == "I64" && isModelState(*each.parameter))
        counts.insert(each.name);
  for (const std::string &name : counts)
    weights.tensors->at(name).type = "F64";
  weights.source = counts.empty() ? std::move(store) : countsAsFloats(std::move(store), counts);
  std::string wrong = wrongTensors(weights.found, byParameter(weights.found));
  Status status = unfit(*weights.source, wrong.empty() ? wrong : wrong + freshHelp(weights.found));
  return status.ok() ? Result<Weights>(std::move(weights)) : status;
}

Status Weights::checkSame() const {
  Result<std::string> wrong = differentValues(*source, found, byParameter(found));
  return wrong.ok() ? unfit(*source, *wrong) : wrong.status();
}

Status Weights::checkValues() const {
  std::vector<std::string> stored;
  for (const auto *list : {&found.loaded, &found.same})
    for (const NamedTensor &each : *list)
      stored.push_back(each.name);
  if (Status status = source->compareHashes(stored); !status.ok())
    return status;
  Result<std::string> wrong = wrongValues(*source, found, byParameter(found));
  return wrong.ok() ? unfit(*source, *wrong) : wrong.status();
}

Status Weights::apply(Session &session) const {
  for (size_t i = 0; i < found.loaded.size();) {
    const NamedTensor &first = found.loaded[i];
    size_t end = i + 1;
    while (end < found.loaded.size() && found.loaded[end].parameter == first.parameter)
      ++end;
    const NamedTensor *tensors = &first;
    ElementSource elements = {*findStoredType(first.tensor->type)->element, [&](uint64_t begin, uint64_t count, uint8_t *bytes) {
                                return tensors->index == NamedTensor::whole ? source->read(tensors->name, begin, count, bytes)
                                                                            : readIndexed(*source, tensors, begin, count, bytes);
                              }};
    if (Status status = session.writeFrom(first.parameter->name()->str(), elements); !status.ok())
      return status;
    i = end;
  }
  return {};
}

std::string UnstoredParameters::text(const std::string &path) const {
  auto counted = [](size_t count, const char *one, const char *more) {
    return std::to_string(count) + (count == 1 ? std::string(" parameter ") + one : std::string(" parameters ") + more);
  };
  std::string result = copied ? counted(copied, "starts", "start") + " as copies of one tensor of '" + path + "' for each index" : "";
  if (fresh)
    result += (copied ? "; " : "") + counted(fresh, "is", "are") + " not in '" + path + "' and " +
              (fresh == 1 ? "keeps its" : "keep their") + " initial values (fresh)";
  if (!asked.empty()) {
    std::string names;
    append(names, counted(asked.size(), "gets its initial values, not those", "get their initial values, not those") + " of '" + path + "'",
           quoted(asked));
    result += (result.empty() ? "" : "; ") + names.substr(names.find_first_not_of("\n "));
  }
  return result;
}

static Result<Weights> checkedWeights(const Program &program, const std::string &path, const std::vector<std::string> &fresh,
                                      const std::vector<std::string> &parts) {
  TRY(std::shared_ptr<const TensorStore> base, openTensorStore(path));
  TRY(std::shared_ptr<const TensorStore> store, withParts(program, std::move(base), parts));
  TRY(Weights weights, Weights::match(program, store, fresh));
  TRY_STATUS(weights.checkValues());
  return weights;
}

Result<UnstoredParameters> loadWeights(Session &session, const Program &program, const std::string &path,
                                       const std::vector<std::string> &fresh, const std::vector<std::string> &parts,
                                       const std::function<Status(const Result<Weights> &)> &begin) {
  Result<Weights> weights = checkedWeights(program, path, fresh, parts);
  TRY_STATUS(begin(weights));
  if (Status status = weights->apply(session); !status.ok())
    return status;
  for (const auto *list : {&weights->names().fresh, &weights->names().asked})
    for (const std::string &parameter : *list)
      if (Status status = session.initialise(parameter); !status.ok())
        return status;
  return UnstoredParameters{weights->names().fresh.size(), weights->names().copied.size(), weights->names().asked};
}

Status saveWeights(const Session &session, const Program &program, const std::string &path) {
  const std::vector<const Variable *> parameters = parametersOf(program);
  std::vector<TensorToWrite> tensors;
  for (const Variable *variable : parameters) {
    const std::string type = isModelCount(*variable) ? countWord : storedWord(widened(variable->type()));
    std::optional<IndexedTensor> indexed = indexedTensor(*variable);
    for (uint64_t index = 0; indexed && index < indexed->count; ++index)
      tensors.push_back({indexed->name(index), type, indexed->shape});
    if (!indexed)
      tensors.push_back({variable->name()->str(), type, {variable->stored()->begin(), variable->stored()->end()}});
  }
  std::unique_ptr<SafetensorsWriter> writer;
  Status status;
  if (!path.empty()) {
    Result<std::unique_ptr<SafetensorsWriter>> created = SafetensorsWriter::create(path, tensors);
    status = created.status();
    if (created.ok())
      writer = std::move(*created);
  }
  size_t next = 0; // of the tensors
  for (const Variable *variable : parameters) {
    std::optional<IndexedTensor> indexed = indexedTensor(*variable);
    auto write = [&](const auto &values) {
      if (values.ok() && writer && status.ok()) // what cannot be written ends no read: other sessions take part in each
        status = indexed                   ? writeIndexed(*writer, next, *indexed, values->data())
                 : isModelCount(*variable) ? writeCount(*writer, next, *variable, {values->begin(), values->end()})
                                           : writer->write(next, 0, values->data(), values->size() * sizeof((*values)[0]));
      return values.status();
    };
    const std::string name = variable->name()->str();
    Status read = isWide(variable->type()) ? write(session.read(name)) : write(session.readFloat(savedName(program, name)));
    if (!read.ok())
      return read;
    next += indexed ? indexed->count : 1;
  }
  return writer && status.ok() ? writer->commit() : status;
}

} // namespace npar::engine
