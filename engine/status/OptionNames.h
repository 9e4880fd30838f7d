// How messages name what the user can set: the driver has flags, programs that load npar as a library have members of npar.h.
#pragma once

#include <string>

namespace npar::engine {

enum class Option {
  Backend,
  Batch,
  Checkpoint,
  Config,
  Data,
  DataOrder,
  Devices,
  EvaluateData,
  EvaluateEvery,
  Fresh,
  Full,
  Hosts,
  Kind,
  LoadWeights,
  Machine,
  Mask,
  Plan,
  RandomData,
  Resume,
  Seed,
  Setting,
  Slow,
  SlowLink,
  Targets,
  Tokens,
  TotalTokens,
  Train
};

/// True in the libraries of tools/api, which set it when they are loaded; false in the driver.
inline bool optionsAreMembers = false;

/// The flag, and the member or function of npar.h. Only the driver has `fresh` and `mask`.
struct OptionSpelling {
  const char *flag, *member;
};

inline OptionSpelling spellingOf(Option option) {
  switch (option) {
  case Option::Backend:
    return {"--backend", "backend"};
  case Option::Batch:
    return {"--batch", "batch"};
  case Option::Checkpoint:
    return {"--checkpoint", "checkpoint"};
  case Option::Config:
    return {"--config", "config"};
  case Option::Data:
    return {"--data", "data"};
  case Option::DataOrder:
    return {"--data-order", "data_order"};
  case Option::Devices:
    return {"--devices", "devices"};
  case Option::EvaluateData:
    return {"--eval-data", "evaluate_data"};
  case Option::EvaluateEvery:
    return {"--eval-every", "evaluate_every"};
  case Option::Fresh:
    return {"--fresh", "fresh"};
  case Option::Full:
    return {"--full", "any_size"};
  case Option::Hosts:
    return {"--hosts", "hosts"};
  case Option::Kind:
    return {"--for", "kind"};
  case Option::LoadWeights:
    return {"--weights", "load_weights"};
  case Option::Machine:
    return {"--machine", "machine"};
  case Option::Mask:
    return {"--mask", "mask"};
  case Option::Plan:
    return {"--plan", "plan"};
  case Option::RandomData:
    return {"--random-data", "random_data"};
  case Option::Resume:
    return {"--resume", "resume"};
  case Option::Seed:
    return {"--seed", "seed"};
  case Option::Setting:
    return {"--set", "settings"};
  case Option::Slow:
    return {"--slow", "slow"};
  case Option::SlowLink:
    return {"--slow-link", "slow_links"};
  case Option::Targets:
    return {"--target", "targets"};
  case Option::Tokens:
    return {"--tokens", "tokens"};
  case Option::TotalTokens:
    return {"--total-tokens", "total_tokens"};
  case Option::Train:
    return {"--train", "train"};
  }
  return {"", ""};
}

/// `--data-order`, or `'data_order'`.
inline std::string nameOf(Option option) {
  OptionSpelling spelling = spellingOf(option);
  return optionsAreMembers ? std::string("'") + spelling.member + "'" : spelling.flag;
}

/// The name as the place of an error in what the option has: `--plan`, or `plan`.
inline std::string labelOf(Option option) { return optionsAreMembers ? spellingOf(option).member : spellingOf(option).flag; }

/// `--data FILE`, or `data = FILE`. A setting is `--set batch=16`, or `the setting batch=16`.
inline std::string nameOf(Option option, const std::string &value) {
  OptionSpelling spelling = spellingOf(option);
  if (!optionsAreMembers)
    return std::string(spelling.flag) + " " + value;
  return option == Option::Setting ? "the setting " + value : std::string(spelling.member) + " = " + value;
}

/// The way for a process of a launcher to run by itself, in a sentence after "or".
inline std::string wayToBeAlone() { return optionsAreMembers ? "create the trainer without 'job'" : "with --alone"; }

} // namespace npar::engine
