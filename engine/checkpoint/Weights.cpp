// Parameters from and to safetensors files with the model's own names, whatever plan the session runs.
#include "engine/checkpoint/Weights.h"

#include "engine/checkpoint/Safetensors.h"
#include "engine/program/Mesh.h"

#include <cstring>

namespace npar::engine {

using namespace program;

namespace {

const std::string prefix = "transformer.";

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool isIgnored(const std::string &name) {
  return endsWith(name, ".attn.bias") || endsWith(name, ".attn.masked_bias") || name == "lm_head.weight";
}

std::vector<const Variable *> parametersOf(const Program &program) {
  std::vector<const Variable *> parameters;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter)
      parameters.push_back(variable);
  return parameters;
}

/// What a checkpoint holds under a parameter's name: its float32 master where it has one.
std::string savedName(const Program &program, const std::string &parameter) {
  const auto &variables = *program.variables();
  for (uint32_t i = 0; i < variables.size(); ++i)
    if (variables.Get(i)->kind() == VariableKind::Parameter && variables.Get(i)->name()->str() == parameter)
      if (int64_t master = masterOf(program, i); master >= 0)
        return variables.Get(static_cast<uint32_t>(master))->name()->str();
  return parameter;
}

/// At most five names, then a count.
void append(std::string &message, const std::string &what, const std::vector<std::string> &names) {
  if (names.empty())
    return;
  message += "\n  " + what + ": ";
  for (size_t i = 0; i < names.size() && i < 5; ++i)
    message += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 5)
    message += " and " + std::to_string(names.size() - 5) + " more";
}

} // namespace

Status loadWeights(Session &session, const Program &program, const std::string &path) {
  Result<std::shared_ptr<SafetensorsFile>> opened = SafetensorsFile::open(path);
  if (!opened.ok())
    return opened.status();
  const SafetensorsFile &file = **opened;
  std::map<std::string, const StoredTensor *> found;
  std::vector<std::string> unknown, missing, twice;
  for (const auto &[name, tensor] : file.tensors()) {
    std::string own = name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
    if (!found.emplace(own, &tensor).second)
      twice.push_back(own);
  }
  std::string wrong;
  std::vector<std::pair<const Variable *, const StoredTensor *>> matches;
  for (const Variable *variable : parametersOf(program)) {
    std::string name = variable->name()->str();
    auto entry = found.find(name);
    if (entry == found.end()) {
      missing.push_back(name);
      continue;
    }
    const StoredTensor &tensor = *entry->second;
    std::vector<int64_t> stored(variable->stored()->begin(), variable->stored()->end());
    if (tensor.shape != stored)
      wrong += "\n  tensor '" + name + "' has shape " + shapeText(tensor.shape) + ", the model's is " + shapeText(stored);
    else if (!SafetensorsFile::isFloating(tensor.type))
      wrong += "\n  tensor '" + name + "' has type " + tensor.type + "; F32, F64, F16 and BF16 can be loaded";
    matches.emplace_back(variable, entry->second);
    found.erase(entry);
  }
  for (const auto &[name, tensor] : found)
    if (!isIgnored(name))
      unknown.push_back(name);
  append(wrong, "missing in the file", missing);
  append(wrong, "unknown to the model", unknown);
  append(wrong, "twice in the file, with and without 'transformer.'", twice);
  if (!wrong.empty())
    return Status::badInput("weights '" + path + "' do not fit the model:" + wrong);

  for (const auto &[variable, tensor] : matches) {
    std::string name = variable->name()->str();
    Status status = variable->type() == ElementType::F64 ? session.write(name, file.readDouble(*tensor))
                                                         : session.writeFloat(name, file.readFloat(*tensor));
    if (!status.ok())
      return status;
  }
  return {};
}

Status saveWeights(const Session &session, const Program &program, const std::string &path) {
  std::vector<std::pair<std::string, StoredTensor>> tensors;
  std::vector<const Variable *> parameters = parametersOf(program);
  for (const Variable *variable : parameters) {
    StoredTensor tensor;
    tensor.type = variable->type() == ElementType::F64 ? "F64" : "F32";
    tensor.shape.assign(variable->stored()->begin(), variable->stored()->end());
    tensors.emplace_back(variable->name()->str(), tensor);
  }
  std::string header = safetensorsHeader(tensors);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  bytes.reserve(bytes.size() + (tensors.empty() ? 0 : tensors.back().second.end));
  auto append = [&](const auto &values) -> Status {
    if (!values.ok())
      return values.status();
    auto *from = reinterpret_cast<const uint8_t *>(values->data());
    bytes.insert(bytes.end(), from, from + values->size() * sizeof((*values)[0]));
    return {};
  };
  for (const auto &[name, tensor] : tensors)
    if (Status status = tensor.type == "F64" ? append(session.read(name)) : append(session.readFloat(savedName(program, name)));
        !status.ok())
      return status;
  return writeFileAtomically(path, bytes.data(), bytes.size());
}

} // namespace npar::engine
