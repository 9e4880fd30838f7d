// Names each text, then goes through their string literals for those that name another text.
#include "tools/lib/models/ModelTexts.h"

#include "engine/files/Ending.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

namespace npar::models {

namespace fs = std::filesystem;

namespace {

const std::string settingName = "--set"; // how the front end calls the text of a setting

/// Maps the path of each text to its name in a checkpoint.
using Names = std::map<std::string, std::string>;

std::string normal(const fs::path &path) { return path.lexically_normal().string(); }

/// A safe name for a file, which none of `taken` is.
std::string safeName(const std::string &path, std::set<std::string> &taken) {
  std::string name = fs::path(path).filename().string();
  for (char &letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.' && letter != '_' && letter != '-')
      letter = '_';
  if (name.empty() || name.front() == '.' || name.front() == '-')
    name = "_" + name;
  constexpr size_t longest = 150;
  std::string ending = fs::path(name).extension().string(), stem = name.substr(0, name.size() - ending.size());
  if (ending.size() > 20)
    stem += ending, ending.clear();
  stem = stem.substr(0, longest);
  name = stem + ending;
  for (int number = 2; !taken.insert(name).second; ++number)
    name = stem + "-" + std::to_string(number) + ending;
  return name;
}

/// The new name of the text that a literal of the text at `from` names; empty where it names none, or by this name already.
std::string renamed(const Names &names, const std::string &from, const std::string &literal) {
  for (const std::string &file : {literal, literal + ".npar"}) {
    auto found = names.find(normal(fs::path(from).parent_path() / file));
    if (found == names.end()) // else one of the standard library
      found = std::find_if(names.begin(), names.end(), [&](const auto &each) { return files::endsWith(each.first, "/" + file); });
    if (found != names.end() && !literal.empty())
      return found->second == file ? "" : found->second;
  }
  return "";
}

/// Returns whether the literal at this place names a file: it follows `import`, or a schedule's `by`.
bool namesFile(const std::string &text, size_t at) {
  size_t end = at;
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])))
    --end;
  size_t begin = end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
    --begin;
  std::string word = text.substr(begin, end - begin);
  return word == "import" || word == "by";
}

std::string withNewNames(const std::string &text, const std::string &from, const Names &names) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '#') {
      end = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"') {
      end = text.find_first_of("\"\n", at + 1);
      end = end == std::string::npos ? text.size() : end + 1;
      std::string name = namesFile(text, at) ? renamed(names, from, text.substr(at + 1, end - at - 2)) : "";
      if (!name.empty()) {
        result += "\"" + name + "\"";
        at = end;
        continue;
      }
    }
    result.append(text, at, end - at);
    at = end;
  }
  return result;
}

} // namespace

std::vector<std::pair<std::string, std::string>> textsToKeep(const dsl::Sources &texts) {
  Names names;
  std::set<std::string> taken = {"settings.txt"};
  for (uint32_t i = 0; i < texts.size(); ++i)
    if (std::string path = normal(texts.name(i)); texts.name(i) != settingName && !names.count(path))
      names[path] = safeName(path, taken);
  std::vector<std::pair<std::string, std::string>> kept;
  std::string settings;
  std::set<std::string> done;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    std::string path = normal(texts.name(i));
    if (texts.name(i) == settingName)
      settings += texts.text(i) + "\n";
    else if (done.insert(path).second)
      kept.emplace_back(names[path], withNewNames(texts.text(i), path, names));
  }
  if (!settings.empty())
    kept.emplace_back("settings.txt", settings);
  return kept;
}

training::KeptModel keptModel(const ModelOptions &options, const dsl::Sources &texts, std::vector<std::string> constants) {
  training::KeptModel kept;
  kept.texts = textsToKeep(texts);
  engine::ModelCall &call = kept.call;
  call.text = kept.texts.front().first;
  call.plan = options.plan.value_or(""), call.train = options.train.value_or(""), call.config = options.config.value_or("");
  for (const std::string &setting : options.settings) {
    std::string key = setting.substr(0, setting.find('='));
    bool ofModel = std::find(constants.begin(), constants.end(), key) != constants.end();
    (ofModel ? call.settings : call.others).push_back(setting);
  }
  kept.constants = std::move(constants);
  return kept;
}

} // namespace npar::models
