// Gathers what `accelerate launch` is told, in its YAML file and by flags, which count more than the file.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include "tools/lib/foreign/Accelerate.h"
#include "tools/lib/foreign/Beginning.h"

#include <algorithm>
#include <set>

namespace npar::foreign {
namespace {

/// The values of `distributed_type` that flags stand for. The last one counts.
constexpr std::pair<const char *, const char *> typeFlags[] = {
    {"multi_gpu", "MULTI_GPU"}, {"use_megatron_lm", "MEGATRON_LM"}, {"use_fsdp", "FSDP"}, {"use_deepspeed", "DEEPSPEED"}};

/// The name in the file of a flag's setting.
std::string nameInFile(const std::string &flag) {
  static const std::set<std::string> ofDeepSpeed = {"gradient_accumulation_steps",
                                                    "gradient_clipping",
                                                    "offload_optimizer_device",
                                                    "offload_param_device",
                                                    "offload_optimizer_nvme_path",
                                                    "offload_param_nvme_path",
                                                    "zero3_init_flag",
                                                    "zero3_save_16bit_model",
                                                    "zero_stage"};
  for (const auto &[name, type] : typeFlags)
    if (flag == name)
      return "distributed_type";
  if (flag == "cpu")
    return "use_cpu";
  if (ofDeepSpeed.count(flag) || startsWith(flag, "deepspeed_"))
    return "deepspeed_config." + flag;
  for (const char *section : {"fsdp", "megatron_lm", "dynamo"})
    if (startsWith(flag, std::string(section) + "_"))
      return std::string(section) + "_config." + flag;
  return startsWith(flag, "parallelism_config_") ? "parallelism_config." + flag : flag;
}

} // namespace

const KnownName *nameOfLaunchFlag(const std::string &flag) { return accelerateNames().find(nameInFile(flag)); }

std::vector<ForeignEntry> takeLaunch(Reading &in) {
  std::vector<ForeignEntry> entries = in.takeSection(ofTrainersAccelerate), flags = in.takeSection(ofTrainersLaunch);
  if (entries.empty() && flags.empty())
    return {};
  auto has = [](const std::vector<ForeignEntry> &list, const std::string &key) {
    return std::any_of(list.begin(), list.end(), [&](const ForeignEntry &one) { return one.key == key; });
  };
  const dsl::Location at = flags.empty() ? entries.front().at : flags.front().at;
  std::vector<ForeignEntry> types;
  for (const auto &[name, type] : typeFlags)
    if (has(flags, name))
      types = {{"distributed_type", type, at, {}}};
  if (types.empty() && !has(entries, "distributed_type"))
    types = {{"distributed_type", "MULTI_GPU", at, {}}};
  for (ForeignEntry &flag : flags)
    if (flag.key = nameInFile(flag.key); flag.key != "distributed_type")
      types.push_back(std::move(flag));
  for (ForeignEntry &one : types) { // in place of the file's
    entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const ForeignEntry &entry) { return entry.key == one.key; }),
                  entries.end());
    entries.push_back(std::move(one));
  }
  return entries;
}

} // namespace npar::foreign
