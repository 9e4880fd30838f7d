// Compares the flags that a checkpoint keeps with those of this command.
#include "tools/npar/checkpoint/OtherSettings.h"

#include "engine/checkpoint/CheckpointStore.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace npar::driver {

namespace {

/// Maps each key to its last setting.
std::map<std::string, std::string> byKey(const std::vector<std::string> &settings) {
  std::map<std::string, std::string> found;
  for (const std::string &setting : settings)
    found[setting.substr(0, setting.find('='))] = setting;
  return found;
}

} // namespace

std::string otherSettings(const std::string &folder, const ModelOptions &here, const std::vector<std::string> &constants) {
  if (!engine::hasManifest(folder) || here.isCompiled())
    return "";
  engine::Result<engine::Manifest> manifest = engine::readManifest(folder);
  if (!manifest.ok() || manifest->call.text.empty())
    return "";
  const std::map<std::string, std::string> before = byKey(manifest->call.settings), now = byKey(here.settings);
  std::set<std::string> keys;
  for (const auto &[key, setting] : before)
    keys.insert(key);
  for (const auto &[key, setting] : now)
    if (std::find(constants.begin(), constants.end(), key) != constants.end())
      keys.insert(key);
  std::vector<std::string> differences;
  auto compare = [&](const std::string &there, const std::string &own, const std::string &what) {
    auto shown = [&](const std::string &text) { return text.empty() ? "no " + what : text; };
    if (there != own)
      differences.push_back(fmt::format("{} there, {} here", shown(there), shown(own)));
  };
  auto find = [](const std::map<std::string, std::string> &settings, const std::string &key) {
    auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
  };
  for (const std::string &key : keys)
    compare(find(before, key), find(now, key), key);
  compare(manifest->call.config, here.config.value_or(""), "--config");
  return fmt::format("{}", fmt::join(differences, "; "));
}

} // namespace npar::driver
