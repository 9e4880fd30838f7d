// Parses the JSON of these variables and finds this process in it.
#include "engine/comm/process/HostList.h"

#include "engine/json/Json.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace npar::engine {
namespace {

std::string howToIgnore() {
  return std::string(": ") + (optionsAreMembers ? "" : "start npar ") + wayToBeAlone() + " to ignore the variable";
}

/// The port where process 0 listens if the variables name none; SageMaker's toolkit takes the same for torchrun.
constexpr uint16_t sageMakerPort = 7777;

/// The texts of a JSON list; nothing if it is anything else, or empty.
std::optional<std::vector<std::string>> textsOf(const Json &list) {
  if (!list.is_array() || list.empty())
    return std::nullopt;
  std::vector<std::string> texts;
  for (const Json &each : list) {
    if (!each.is_string() || each.get_ref<const std::string &>().empty())
      return std::nullopt;
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

/// Splits "host:port".
std::optional<HostPort> hostPortOf(const std::string &text) {
  size_t colon = text.rfind(':');
  if (colon == 0 || colon == std::string::npos)
    return std::nullopt;
  HostPort result;
  result.host = text.substr(0, colon);
  auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), result.port);
  return error == std::errc() && end == text.data() + text.size() && result.port > 0 ? std::optional(result) : std::nullopt;
}

/// The number of a task; old libraries write it as a text.
std::optional<uint32_t> indexOf(const Json &value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX)
    return static_cast<uint32_t>(value.get<uint64_t>());
  if (!value.is_string())
    return std::nullopt;
  const auto &text = value.get_ref<const std::string &>();
  uint32_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(index) : std::nullopt;
}

Status badTfConfig(const std::string &why) { return Status::badInput("TF_CONFIG " + why + howToIgnore()); }

} // namespace

Result<std::optional<Launch>> readTfConfig(const Environment &environment) {
  const char *text = environment("TF_CONFIG");
  if (!text || !*text)
    return std::optional<Launch>();
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return badTfConfig("is no JSON object with `cluster` and `task`");
  auto cluster = config.find("cluster");
  if (cluster == config.end() || (cluster->is_object() && cluster->empty())) // a single machine
    return std::optional<Launch>();
  if (!cluster->is_object())
    return badTfConfig("has a `cluster` that is no object");
  std::vector<std::string> places; // of all processes
  uint32_t chiefs = 0;
  for (const char *type : {"chief", "master", "worker"}) {
    auto found = cluster->find(type);
    if (found == cluster->end())
      continue;
    std::optional<std::vector<std::string>> own = textsOf(*found);
    if (!own)
      return badTfConfig(std::string("needs a list of \"host:port\" for `") + type + "`");
    if (std::string(type) != "worker")
      chiefs += static_cast<uint32_t>(own->size());
    places.insert(places.end(), own->begin(), own->end());
  }
  if (cluster->count("ps"))
    return badTfConfig("has parameter servers (`ps`), which npar lacks: its processes add up gradients among themselves; list the "
                       "workers only");
  if (chiefs > 1)
    return badTfConfig("has " + std::to_string(chiefs) + " chiefs, and a job has one at most");
  auto task = config.find("task");
  auto type = task != config.end() && task->is_object() ? task->find("type") : config.end();
  auto number = task != config.end() && task->is_object() ? task->find("index") : config.end();
  if (task == config.end() || !task->is_object() || type == task->end() || !type->is_string() || number == task->end())
    return badTfConfig("has no `task` with `type` and `index`");
  const auto &typeText = type->get_ref<const std::string &>();
  if (typeText == "evaluator")
    return badTfConfig("makes this process an evaluator, and npar has none: --eval-every evaluates while training, and `npar eval` "
                       "evaluates a checkpoint");
  bool isChief = typeText == "chief" || typeText == "master";
  if (!isChief && typeText != "worker")
    return badTfConfig("has a task of type '" + typeText + "', npar knows chief, master and worker");
  std::optional<uint32_t> index = indexOf(*number);
  uint32_t count = isChief ? chiefs : static_cast<uint32_t>(places.size()) - chiefs;
  if (!index || *index >= count)
    return badTfConfig("makes this process " + typeText + " " + number->dump(-1, ' ', true, Json::error_handler_t::replace) +
                       ", and its cluster has " + std::to_string(count));
  std::optional<HostPort> first = hostPortOf(places.front());
  if (!first)
    return badTfConfig("has '" + places.front() + "' as process 0, which is no \"host:port\"");
  Launch launch;
  launch.launcher = "the launcher of TF_CONFIG", launch.mpi = "tcp", launch.addressFrom = "TF_CONFIG", launch.run = "TF_CONFIG";
  launch.process = *index + (isChief ? 0 : chiefs), launch.processes = static_cast<uint32_t>(places.size());
  launch.address = first->host, launch.port = first->port;
  return std::optional(launch);
}

Result<std::optional<Launch>> readSageMaker(const Environment &environment) {
  const char *list = environment("SM_HOSTS"), *current = environment("SM_CURRENT_HOST");
  if (!list)
    return std::optional<Launch>();
  std::optional<std::vector<std::string>> hosts = textsOf(Json::parse(list, nullptr, /*allow_exceptions=*/false));
  if (!hosts)
    return Status::badInput(std::string("SM_HOSTS is '") + list + "', which is no JSON list of hosts" + howToIgnore());
  std::vector<std::string> sorted = *hosts;
  std::sort(sorted.begin(), sorted.end());
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return Status::badInput("SM_HOSTS has '" + *twice + "' twice" + howToIgnore());
  if (!current && hosts->size() > 1)
    return Status::badInput(std::string("SM_HOSTS is '") + list + "', and SM_CURRENT_HOST does not tell which of them this host is" +
                            howToIgnore());
  if (!current)
    return std::optional<Launch>();
  auto own = std::find(hosts->begin(), hosts->end(), current);
  if (own == hosts->end())
    return Status::badInput(std::string("SM_CURRENT_HOST is '") + current + "', which is no host of SM_HOSTS, '" + list + "'" +
                            howToIgnore());
  Launch launch;
  launch.launcher = "SageMaker", launch.mpi = "tcp", launch.addressFrom = "SM_HOSTS", launch.run = "SageMaker";
  launch.process = static_cast<uint32_t>(own - hosts->begin()), launch.processes = static_cast<uint32_t>(hosts->size());
  launch.address = hosts->front(), launch.port = sageMakerPort;
  return std::optional(launch);
}

} // namespace npar::engine
