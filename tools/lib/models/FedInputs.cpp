#include "tools/lib/models/FedInputs.h"

#include "engine/safetensors/Safetensors.h"

#include <map>

namespace npar::models {

void claim(const engine::GivenData &given, FileClaims &claims) {
  for (const std::string &text : given.files)
    claims.read("--data", engine::GivenFile::of(text).path);
  claims.read("--mask", given.mask);
}

void claim(const engine::DataPlan &plan, FileClaims &claims) {
  for (const engine::DataGroup &group : plan.groups)
    for (const engine::DataFile &file : group.files) {
      claims.read("the data", file.path);
      claims.read("the lengths of documents", file.lengths);
    }
}

std::optional<std::set<std::string>> fedInputs(const engine::GivenData &given, const dsl::Program &program) {
  std::map<std::string, std::string> tensors; // names of tensors in the data block, by input
  if (program.data)
    for (const dsl::DataGroup &group : program.data->groups)
      for (const dsl::DataFeed &feed : group.feeds)
        tensors[feed.input] = feed.tensor;
  std::set<std::string> fed;
  bool whole = false; // one file feeds all inputs
  for (const std::string &text : given.files) {
    engine::GivenFile file = engine::GivenFile::of(text);
    if (!file.input.empty()) {
      fed.insert(file.input);
      continue;
    }
    engine::Result<std::shared_ptr<engine::SafetensorsFile>> opened =
        file.hasTensors() ? engine::SafetensorsFile::open(file.path, "data") : engine::Status::badInput("");
    if (!opened.ok())
      return std::nullopt;
    whole = true;
    for (const dsl::Node &node : program.model.nodes)
      if (node.op == "input") {
        const std::string name = std::get<std::string>(node.attributes.at("name"));
        if ((*opened)->tensors().count(tensors.count(name) ? tensors[name] : name))
          fed.insert(name);
      }
  }
  if (!whole)
    for (const auto &[input, tensor] : tensors)
      fed.insert(input);
  return fed.empty() ? std::nullopt : std::optional(fed);
}

} // namespace npar::models
