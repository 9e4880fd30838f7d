// Runs the followed script without a file.
#include "tests/tools/lib/foreign/FollowedScript.h"

#include "tools/lib/foreign/shell/Runner.h"

namespace npar::foreign::shell::test {
namespace {

std::string shown(const Text &text, std::vector<std::string> &reasons) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool begins = text.unknownAt(i) && (i == 0 || text.unknownAt(i - 1) != text.unknownAt(i));
    bool ends = text.unknownAt(i) && (i + 1 == text.size() || text.unknownAt(i + 1) != text.unknownAt(i));
    if (begins)
      reasons.push_back(text.unknownAt(i)->why);
    result += (begins ? "«" : "") + text.str().substr(i, 1) + (ends ? "»" : "");
  }
  return result;
}

} // namespace

FollowedScript follow(const std::string &script, const std::map<std::string, std::string> &given,
                      const std::map<std::string, std::string> &files) {
  Environment environment;
  environment.given = given;
  environment.scriptName = "/home/me/run.sh";
  environment.state.folder = Text("/home/me", {0, 0});
  for (const auto &[name, value] : given)
    environment.assign(name, Text(value, {0, 0}), {0, 0});
  for (size_t i = 1; given.count(std::to_string(i)); ++i)
    environment.state.arguments.emplace_back(given.at(std::to_string(i)), Origin());
  Runner runner(environment, [&](const Text &path) -> std::optional<Text> {
    std::string name = path.str().substr(path.str().rfind('/') + 1);
    auto known = files.find(name);
    return known == files.end() ? std::nullopt : std::optional<Text>(Text(known->second, {1, 0}));
  });
  runner.runScript(Text(script, {0, 0}));
  FollowedScript result;
  if (!environment.good())
    result.failure = environment.failure().message;
  for (const Launch &launch : environment.state.launches) {
    if (launch.words[0].empty()) { // flags alone
      for (size_t i = 1; i < launch.words.size(); ++i)
        result.flagsAlone.push_back(shown(launch.words[i], result.reasons));
      continue;
    }
    std::vector<std::string> &words = result.commands.emplace_back();
    for (size_t i = launch.program + 1; i < launch.words.size(); ++i)
      words.push_back(shown(launch.words[i], result.reasons));
    if (launch.decidedBy)
      result.decidedBy.push_back(launch.decidedBy->why);
    result.devices.clear();
    for (const auto &[key, value] : launch.devices)
      result.devices.emplace_back(key, shown(value, result.reasons));
  }
  for (const Unknown &one : environment.assumedUnset)
    result.assumedUnset.push_back(one.name);
  return result;
}

std::vector<std::string> wordsOf(const std::string &script, const std::map<std::string, std::string> &given) {
  FollowedScript followed = follow(script, given);
  if (!followed.failure.empty() || followed.commands.size() != 1)
    return {"?", followed.failure};
  return followed.commands[0];
}

} // namespace npar::foreign::shell::test
