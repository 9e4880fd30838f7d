// Knows the options of sbatch that count hosts, tasks and devices (sbatch's manual, "INPUT/OUTPUT ENVIRONMENT VARIABLES").
#include "tools/lib/foreign/shell/BatchLines.h"

#include <array>
#include <string_view>

namespace npar::foreign::shell {
namespace {

struct BatchOption {
  std::string_view word, letter;
  const char *variable;
};
constexpr std::array<BatchOption, 7> options = {{{"--nodes", "-N", "SLURM_NNODES"},
                                                 {"--ntasks", "-n", "SLURM_NTASKS"},
                                                 {"--ntasks-per-node", "", "SLURM_NTASKS_PER_NODE"},
                                                 {"--cpus-per-task", "-c", "SLURM_CPUS_PER_TASK"},
                                                 {"--gpus-per-node", "", "SLURM_GPUS_PER_NODE"},
                                                 {"--gres", "", "SLURM_GPUS_ON_NODE"},
                                                 {"--gpus", "-G", "SLURM_GPUS"}}};

/// The number in "4", "4-4", "gpu:8" or "gpu:a100:8"; empty for any other value.
std::string_view countIn(std::string_view value, bool isDevices) {
  if (isDevices && value.find(',') != std::string_view::npos)
    return {};
  if (size_t colon = value.rfind(':'); isDevices && colon != std::string_view::npos)
    value.remove_prefix(colon + 1);
  if (size_t dash = value.find('-'); dash != std::string_view::npos && value.substr(0, dash) == value.substr(dash + 1))
    value = value.substr(0, dash);
  return value.empty() || value.size() > 6 || value.find_first_not_of("0123456789") != std::string_view::npos ? std::string_view() : value;
}

} // namespace

void readBatchLines(const Text &source, Environment &environment) {
  std::string_view all = source.str();
  bool isBatch = false;
  auto set = [&](const std::string &name, const Text &value, Origin at) {
    if (environment.state.variables.count(name) == 0)
      environment.assign(name, value, at);
  };
  for (size_t begin = 0; begin < all.size();) {
    size_t end = std::min(all.find('\n', begin), all.size());
    std::string_view line = all.substr(begin, end - begin);
    size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#')
      break; // the first command ends them
    if (line.substr(0, 8) == "#SBATCH ") {
      isBatch = true;
      size_t from = 8;
      for (;;) {
        size_t word = line.find_first_not_of(" \t\r=", from);
        if (word == std::string_view::npos || line[word] == '#')
          break;
        size_t stop = std::min(line.find_first_of(" \t\r=", word), line.size());
        std::string_view name = line.substr(word, stop - word);
        size_t value = line.find_first_not_of(" \t=", stop), over = value;
        from = stop;
        for (const BatchOption &one : options) {
          bool isJoined = !one.letter.empty() && name.size() > 2 && name.substr(0, 2) == one.letter && name[1] != '-';
          if (name != one.word && name != one.letter && !isJoined)
            continue;
          if (isJoined)
            value = word + 2;
          if (value == std::string_view::npos)
            break;
          over = std::min(line.find_first_of(" \t\r", value), line.size());
          bool isDevices = one.word.substr(0, 3) == "--g";
          std::string_view number = countIn(line.substr(value, over - value), isDevices);
          if (!number.empty())
            set(one.variable, Text(number, source.originAt(begin + value)), source.originAt(begin + value));
          from = over;
        }
      }
    }
    begin = end + 1;
  }
  if (!isBatch)
    return;
  // Slurm computes the other variables. Without a number of tasks, each host has one.
  auto known = [&](const char *name) -> const Text * {
    const Variable *variable = environment.find(name);
    return variable && variable->list.count(0) && !variable->list.at(0).unknown() ? &variable->list.at(0) : nullptr;
  };
  auto number = [](const Text &text) {
    return text.size() < 7 && text.str().find_first_not_of("0123456789") == std::string::npos ? std::atol(text.str().c_str()) : 0L;
  };
  const Text *nodes = known("SLURM_NNODES"), *tasks = known("SLURM_NTASKS"), *perNode = known("SLURM_NTASKS_PER_NODE");
  if (!nodes && !tasks && !perNode)
    set("SLURM_NNODES", Text("1", source.originAt(0)), source.originAt(0));
  nodes = known("SLURM_NNODES");
  if (nodes && !tasks)
    set("SLURM_NTASKS", Text(std::to_string(number(*nodes) * (perNode ? number(*perNode) : 1)), nodes->originAt(0)), nodes->originAt(0));
  for (auto [from, to] : {std::pair("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), std::pair("SLURM_NTASKS", "SLURM_NPROCS"),
                          std::pair("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE")})
    if (const Text *value = known(from))
      set(to, *value, value->originAt(0));
  for (const char *name : {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_PROCID", "SLURM_NODEID",
                           "SLURM_LOCALID", "SLURM_JOB_NAME", "SLURM_SUBMIT_DIR", "SLURM_TASKS_PER_NODE"}) {
    Unknown why;
    why.name = name, why.why = "'" + why.name + "', which Slurm sets", why.at = source.originAt(0);
    set(name, Text::unknown("$" + why.name, std::make_shared<Unknown>(why)), source.originAt(0));
  }
}

} // namespace npar::foreign::shell
