// Compares the flags that a checkpoint keeps with those of this command.
#include "engine/checkpoint/OtherSettings.h"

#include "engine/checkpoint/CheckpointStore.h"

#include <algorithm>
#include <map>
#include <set>

namespace npar::engine {

namespace {

/// Maps each key to its last setting.
std::map<std::string, std::string> byKey(const std::vector<std::string> &settings) {
  std::map<std::string, std::string> found;
  for (const std::string &setting : settings)
    found[setting.substr(0, setting.find('='))] = setting;
  return found;
}

} // namespace

std::string otherSettings(const std::string &folder, const GivenSettings &here, const std::vector<std::string> &constants) {
  if (!hasManifest(folder))
    return "";
  Result<Manifest> manifest = readManifest(folder);
  if (!manifest.ok() || manifest->call.text.empty())
    return "";
  const std::map<std::string, std::string> before = byKey(manifest->call.settings), now = byKey(here.settings);
  std::set<std::string> keys;
  for (const auto &[key, setting] : before)
    keys.insert(key);
  for (const auto &[key, setting] : now)
    if (std::find(constants.begin(), constants.end(), key) != constants.end())
      keys.insert(key);
  std::string differences;
  auto compare = [&](const std::string &there, const std::string &own, const std::string &what) {
    auto shown = [&](const std::string &text) { return text.empty() ? "no " + what : text; };
    if (there != own)
      differences += (differences.empty() ? "" : "; ") + shown(there) + " there, " + shown(own) + " here";
  };
  auto find = [](const std::map<std::string, std::string> &settings, const std::string &key) {
    auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
  };
  for (const std::string &key : keys)
    compare(find(before, key), find(now, key), key);
  compare(manifest->call.config, here.config, "--config");
  return differences;
}

} // namespace npar::engine
