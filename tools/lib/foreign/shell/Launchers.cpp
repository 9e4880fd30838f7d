// The innermost launcher determines the number of processes: in `srun torchrun ...`, that of torchrun counts.
#include "tools/lib/foreign/shell/Launchers.h"

#include <algorithm>
#include <array>

namespace npar::foreign::shell {
namespace {

/// Kinds of launchers, by how they count.
enum class Kind { None, Torch, DeepSpeed, Accelerate, Slurm, Mpi };

bool startsWith(std::string_view text, std::string_view beginning) { return text.substr(0, beginning.size()) == beginning; }
bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Kind kindOf(std::string_view name) {
  if (name == "torchrun" || name == "torch.distributed.run" || name == "torch.distributed.launch" ||
      name == "torch.distributed.elastic_launch" || endsWith(name, "torch/distributed/launch.py") || name == "run_torchrun")
    return Kind::Torch;
  if (name == "deepspeed" || name == "deepspeed.launcher.runner" || name == "ds")
    return Kind::DeepSpeed;
  if (name == "accelerate" || name == "accelerate-launch" || name == "accelerate.commands.launch")
    return Kind::Accelerate;
  if (name == "srun")
    return Kind::Slurm;
  if (name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "mpiexec.hydra")
    return Kind::Mpi;
  return Kind::None;
}

bool isPython(std::string_view name) { return startsWith(name, "python") || startsWith(name, "pypy"); }

bool isProgramFile(const Text &word) {
  const std::string &text = word.str();
  return text.size() < 500 && endsWith(text, ".py") && text[0] != '-' && text.find_first_of(" \t\n=") == std::string::npos &&
         !word.unknownAt(text.size() - 1);
}

/// An option, without dashes and with `_` for `-`, and where its value is.
struct Option {
  std::string name;
  Text value;
  size_t next = 0; ///< the word after it
};
Option optionAt(const std::vector<Text> &words, size_t at, size_t end) {
  const std::string &word = words[at].str();
  Option option;
  size_t first = word.find_first_not_of('-'), equals = word.find('=');
  if (word.empty() || word[0] != '-' || first == std::string::npos || words[at].unknownAt(0)) {
    option.next = at + 1;
    return option;
  }
  bool isShort = first == 1;
  option.name = word.substr(isShort ? 0 : first, equals == std::string::npos ? equals : equals - (isShort ? 0 : first));
  if (!isShort)
    std::replace(option.name.begin(), option.name.end(), '-', '_');
  option.next = at + 1;
  if (equals != std::string::npos)
    option.value = words[at].slice(equals + 1, word.size());
  else if (at + 1 < end)
    option.value = words[at + 1];
  return option;
}

std::optional<long> numberOf(const Text *text) {
  if (!text || text->unknown() || text->empty() || text->size() > 6 || text->str().find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stol(text->str());
}

/// Tells whether a flag of `accelerate launch` is about types or about what is in shares.
bool isAboutTraining(std::string_view flag) {
  static constexpr std::string_view names[] = {"cpu", "gradient_accumulation_steps", "gradient_clipping", "mixed_precision", "multi_gpu"};
  static constexpr std::string_view beginnings[] = {"deepspeed_",          "dynamo_", "fsdp_", "megatron_lm_", "offload_",
                                                    "parallelism_config_", "use_",    "zero"};
  return std::find(std::begin(names), std::end(names), flag) != std::end(names) ||
         std::any_of(std::begin(beginnings), std::end(beginnings), [&](std::string_view one) { return startsWith(flag, one); });
}

class Devices {
public:
  Devices(const Launch &launch, const Environment &environment) : words(launch.words), end(launch.program), environment(environment) {}

  std::vector<std::pair<std::string, Text>> count() {
    Kind kind = Kind::None;
    for (size_t i = 0; i < end; ++i)
      if (Kind found = kindOf(nameOf(words[i])); found != Kind::None)
        kind = found, begin = i + 1;
    switch (kind) {
    case Kind::None:
      return {};
    case Kind::Torch:
      return torch();
    case Kind::DeepSpeed:
      take({"num_gpus"}, "num_gpus");
      take({"num_nodes"}, "num_nodes");
      if (found.empty())
        all();
      return found;
    case Kind::Accelerate:
      take({"num_processes", "num_process"}, "world_size");
      take({"config_file"}, "config_file");
      if (found.empty())
        all();
      flags();
      return found;
    case Kind::Slurm:
      return slurm();
    case Kind::Mpi:
      take({"-np", "-n", "np", "n"}, "world_size");
      return found;
    }
    return {};
  }

private:
  /// The last value of an option with one of these names; null without such an option.
  const Text *optionOf(std::initializer_list<std::string_view> names) {
    for (size_t i = end; i-- > begin;) {
      Option option = optionAt(words, i, end);
      for (std::string_view name : names) {
        bool isJoined = name.size() == 2 && name[0] == '-' && option.name.size() > 2 && startsWith(option.name, name) &&
                        option.name.find_first_not_of("0123456789", 2) == std::string::npos;
        if (option.name != name && !isJoined)
          continue;
        last = isJoined ? words[i].slice(2, words[i].size()) : option.value;
        return &last;
      }
    }
    return nullptr;
  }
  bool take(std::initializer_list<std::string_view> names, const char *key) {
    const Text *value = optionOf(names);
    if (value)
      found.emplace_back(key, *value);
    return value != nullptr;
  }
  /// The first word in front of the program that is not known at all and may be several options.
  const Text *unknownWords() const {
    for (size_t i = begin; i < end; ++i) {
      bool isValue = i > begin && words[i - 1].str().substr(0, 1) == "-" && words[i - 1].str().find('=') == std::string::npos;
      if (words[i].unknownAt(0) && !isValue)
        return &words[i];
    }
    return nullptr;
  }

  /// A launcher that starts processes on all devices of its host.
  void all() { found.emplace_back("nnodes", Text("1", words[begin - 1].originAt(0))); }

  /// Further flags of `accelerate launch`, with the prefix "launch.".
  void flags() {
    for (size_t i = begin; i < end; ++i)
      if (Option option = optionAt(words, i, end); isAboutTraining(option.name)) {
        const bool isBare = option.value.empty() || option.value.str()[0] == '-' || option.name == "cpu" || option.name == "multi_gpu" ||
                            startsWith(option.name, "use_");
        found.emplace_back("launch." + option.name, isBare ? Text("true", words[i].originAt(0)) : option.value);
      }
  }

  std::vector<std::pair<std::string, Text>> torch() {
    Origin at = words[begin - 1].originAt(0);
    bool hasProcesses = take({"nproc_per_node"}, "nproc_per_node"), hasNodes = take({"nnodes"}, "nnodes");
    const Text *unknown = unknownWords();
    if (!hasProcesses)
      found.emplace_back("nproc_per_node", unknown ? *unknown : Text("1", at));
    if (!hasNodes)
      found.emplace_back("nnodes", unknown ? *unknown : Text("1", at));
    if (const std::string &count = found.front().second.str(); count == "gpu" || count == "auto") // all of the host
      found.erase(found.begin());
    return found;
  }

  std::vector<std::pair<std::string, Text>> slurm() {
    auto variable = [&](const char *name) -> const Text * {
      const Variable *known = environment.find(name);
      return known && known->list.count(0) ? &known->list.at(0) : nullptr;
    };
    std::optional<Text> tasks, nodes, perNode;
    if (const Text *one = optionOf({"-n", "ntasks"}))
      tasks = *one;
    if (const Text *one = optionOf({"-N", "nodes"}))
      nodes = *one;
    if (const Text *one = optionOf({"ntasks_per_node"}))
      perNode = *one;
    if (!tasks && (nodes || perNode)) {
      const Text *hosts = nodes ? &*nodes : variable("SLURM_NNODES"), *each = perNode ? &*perNode : variable("SLURM_NTASKS_PER_NODE");
      std::optional<long> a = numberOf(hosts), b = each ? numberOf(each) : std::optional<long>(1);
      if (a && b)
        tasks = Text(std::to_string(*a * *b), (nodes ? *nodes : *perNode).originAt(0));
      else if (const Text *unknown = hosts && hosts->unknown() ? hosts : each && each->unknown() ? each : nullptr)
        tasks = *unknown;
    }
    if (const Text *one = variable("SLURM_NTASKS"); !tasks && one && !nodes && !perNode)
      tasks = *one;
    if (!tasks)
      if (const Text *unknown = unknownWords())
        tasks = *unknown;
    if (tasks)
      found.emplace_back("world_size", *tasks);
    return found;
  }

  const std::vector<Text> &words;
  size_t begin = 0, end;
  const Environment &environment;
  std::vector<std::pair<std::string, Text>> found;
  Text last;
};

} // namespace

std::string_view nameOf(const Text &word) {
  std::string_view text = word.str();
  size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

std::optional<Launch> launchOf(std::vector<Text> words, const Environment &environment, Origin at) {
  Launch launch;
  launch.at = at, launch.program = words.size();
  bool isStarted = false; // by python or a launcher
  const Text *unknown = nullptr;
  for (size_t i = 0; i < words.size() && launch.program == words.size(); ++i) {
    std::string_view name = nameOf(words[i]);
    if (words[i].str() == "-m" && i + 1 < words.size() && isStarted) {
      isStarted = true, ++i;
      if (kindOf(words[i].str()) == Kind::None)
        launch.program = i;
      continue;
    }
    if (words[i].str() == "-c" && i > 0 && isPython(nameOf(words[i - 1])))
      return std::nullopt;
    isStarted = isStarted || isPython(name) || (kindOf(name) != Kind::None && kindOf(name) != Kind::Slurm && kindOf(name) != Kind::Mpi);
    if (isProgramFile(words[i]) && kindOf(words[i].str()) == Kind::None)
      launch.program = i;
    else if (words[i].unknown() && !unknown && (i == 0 || isStarted))
      unknown = &words[i];
  }
  if (launch.program == words.size()) {
    if (!unknown)
      return std::nullopt;
    launch.program = static_cast<size_t>(unknown - words.data());
    launch.decidedBy = unknown->unknown();
  }
  launch.words = std::move(words);
  launch.devices = Devices(launch, environment).count();
  return launch;
}

} // namespace npar::foreign::shell
