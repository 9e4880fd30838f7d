#include "tools/lib/models/FedInputs.h"

#include "engine/data/TextTable.h"
#include "engine/files/ClassFolders.h"
#include "engine/files/Folders.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/text/TokenizerFiles.h"

#include <algorithm>
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
  for (const std::string &tokenizer : plan.tokenizers())
    for (const std::string &file : engine::tokenizerFiles(tokenizer))
      claims.read("the tokenizer", file);
}

namespace {

/// The inputs that a file of texts feeds, in place of the data block's or by their usual names. A label whose column the file lacks is not
/// fed.
std::set<std::string> fedByTexts(const std::string &path, program::DataFormat format, const dsl::Program &program) {
  std::set<std::string> fed;
  if (!program.data) {
    for (const dsl::Node &node : program.model.nodes)
      if (node.op == "input")
        if (const std::string name = std::get<std::string>(node.attributes.at("name")); engine::usualTextFeed(name))
          fed.insert(name);
    return fed;
  }
  engine::Result<std::vector<std::string>> columns = engine::TextTable::names(path, format);
  auto has = [&](const dsl::TextFeed &feed) {
    if (feed.kind != dsl::TextFeedKind::Class && feed.kind != dsl::TextFeedKind::Number)
      return true;
    return columns.ok() && std::all_of(feed.columns.begin(), feed.columns.end(), [&](const std::string &column) {
             return feed.numbered ? std::stoul(column) <= columns->size()
                                  : std::find(columns->begin(), columns->end(), column) != columns->end();
           });
  };
  for (const dsl::DataGroup &group : program.data->groups)
    for (const dsl::DataFeed &feed : group.feeds)
      if (feed.text && has(*feed.text))
        fed.insert(feed.input);
  return fed;
}

/// The inputs that a folder of pictures feeds; without sub-folders no classes.
std::set<std::string> fedByPictures(const std::string &path, const dsl::Program &program) {
  engine::Result<std::vector<std::string>> classes = files::classesIn(path);
  std::set<std::string> fed;
  for (const dsl::DataGroup &group : program.data->groups)
    for (const dsl::DataFeed &feed : group.feeds)
      if (!feed.isClass || !classes.ok() || !classes->empty())
        fed.insert(feed.input);
  return fed;
}

} // namespace

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
    std::optional<program::DataFormat> block;
    if (program.data)
      block = program.data->groups[0].files[0].format;
    if (std::optional<program::DataFormat> format = given.textFormat(file.path, block)) {
      fed.merge(fedByTexts(file.path, *format, program));
      whole = true;
      continue;
    }
    if (block == program::DataFormat::Images && files::isFolder(file.path)) {
      fed.merge(fedByPictures(file.path, program));
      whole = true;
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
