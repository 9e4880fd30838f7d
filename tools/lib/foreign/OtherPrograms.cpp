// Recognizes other programs' files by keys at any depth, whether or not the syntax is right.
#include "tools/lib/foreign/OtherPrograms.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace npar::foreign {
namespace {

/// A file with any of these sets of keys is the program's.
struct OtherProgram {
  const char *name;
  std::vector<std::vector<const char *>> keys;
};

/// Names from the programs' own examples and configuration classes.
const std::vector<OtherProgram> &otherPrograms() {
  static const std::vector<OtherProgram> programs = {
      {"NeMo",
       {{"exp_manager"},
        {"trainer", "model", "tensor_model_parallel_size"},
        {"trainer", "model", "global_batch_size"},
        {"restore_from_path"}}},
      {"GPT-NeoX",
       {{"pipe-parallel-size"},
        {"pipe_parallel_size"},
        {"model-parallel-size", "num-layers"},
        {"model_parallel_size", "num_layers"},
        {"pos-emb"},
        {"pos_emb"},
        {"attention-config"},
        {"attention_config"},
        {"checkpoint-factor"},
        {"output-layer-parallelism"}}},
      {"nanotron",
       {{"tp_linear_async_communication"},
        {"batch_accumulation_per_replica"},
        {"hf_dataset_or_datasets"},
        {"pp_engine", "tp_mode"},
        {"dp", "pp", "tp", "tokens"}}},
      {"axolotl",
       {{"base_model", "datasets"},
        {"base_model", "micro_batch_size"},
        {"base_model", "sequence_len"},
        {"base_model", "adapter"},
        {"dataset_prepared_path"},
        {"sample_packing"}}},
      {"llm-foundry",
       {{"device_train_microbatch_size"},
        {"global_train_batch_size"},
        {"device_train_microbatch_size", "max_seq_len"},
        {"train_loader", "max_duration"}}},
      {"LLaMA-Factory",
       {{"finetuning_type"},
        {"cutoff_len"},
        {"model_name_or_path", "stage", "template"},
        {"preprocessing_num_workers", "dataset", "template"}}},
      {"MaxText",
       {{"base_emb_dim"},
        {"base_num_decoder_layers"},
        {"ici_tensor_parallelism"},
        {"ici_fsdp_parallelism"},
        {"dcn_data_parallelism"},
        {"per_device_batch_size", "base_output_directory"},
        {"max_target_length", "per_device_batch_size"}}},
      {"torchtune", {{"_component_"}}},
  };
  return programs;
}

bool isPartOfKey(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

/// Words before a colon, in quotes or not.
std::set<std::string_view> keysOf(std::string_view text) {
  std::set<std::string_view> keys;
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    size_t end = colon;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '"' || text[end - 1] == '\''))
      --end;
    size_t begin = end;
    while (begin > 0 && isPartOfKey(text[begin - 1]))
      --begin;
    keys.insert(text.substr(begin, end - begin));
  }
  return keys;
}

} // namespace

const char *otherProgramOf(const std::string &text) {
  std::set<std::string_view> keys = keysOf(text);
  for (const OtherProgram &program : otherPrograms())
    for (const std::vector<const char *> &all : program.keys)
      if (std::all_of(all.begin(), all.end(), [&](const char *key) { return keys.count(key) != 0; }))
        return program.name;
  return nullptr;
}

} // namespace npar::foreign
