// Reads how long the Trainer trains, its files, and when it evaluates and saves.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include <sstream>

namespace npar::foreign {
namespace {

using Every = Repetition::Every;

/// A strategy of the Trainer: "no", "steps" or "epoch".
Repetition repetition(Reading &in, const ForeignEntry *strategy, const std::string &otherwise, const ForeignEntry *steps, double usual) {
  Repetition result;
  const std::string word = lowerCase(in.word(strategy, otherwise));
  if (word == "epoch")
    result.every = Every::Epoch;
  if (word != "steps")
    return result;
  result.every = Every::Steps;
  const double every = in.number(steps, usual > 0 ? usual : 500, 1e9);
  if (every <= 0)
    in.error(*steps, "'" + steps->key + "' must be more than 0, not '" + steps->value.substr(0, 60) + "'");
  else if (every < 1)
    result.share = every;
  else
    result.steps = static_cast<int64_t>(every);
  return result;
}

std::vector<std::string> filesOf(std::initializer_list<const ForeignEntry *> entries) {
  std::vector<std::string> files;
  for (const ForeignEntry *entry : entries)
    if (entry) {
      std::istringstream words(entry->value);
      for (std::string word; words >> word;)
        files.push_back(word);
    }
  return files;
}

std::optional<std::string> textOf(const ForeignEntry *entry) { return entry ? std::optional(entry->value) : std::nullopt; }

/// Tells whether the script trains. The examples do so with --do_train alone; those without a Trainer, and most other scripts, always.
bool trains(Reading &in) {
  const ForeignEntry *train = in.find("do_train");
  const std::string script = scriptOf(in.file);
  if (train)
    return in.isTrue(train);
  return script.compare(0, 4, "run_") != 0 || script.find("no_trainer") != std::string::npos;
}

} // namespace

void readTrainersRequest(Reading &in) {
  RunRequest &request = in.run.request;
  in.find(""); // the script
  const ForeignEntry *epochs = in.find("num_train_epochs"), *kept = in.find("save_total_limit");
  request.epochs = in.number(epochs, 3, 1e6);
  if (*request.epochs < 0) // which only a file can have
    in.error(*epochs, "'num_train_epochs' must be at least 0, not '" + epochs->value.substr(0, 60) + "'");
  request.seed = in.run.training.seed.value;
  request.evaluation = repetition(in, in.find("eval_strategy"), "no", in.find("eval_steps"), in.number(in.find("logging_steps"), 500, 1e9));
  request.saving = repetition(in, in.find("save_strategy"), "steps", in.find("save_steps"), 500);
  if (kept)
    request.mostSaved = in.whole(kept, 1);
  request.trainFiles = filesOf({in.find("train_file"), in.find("train_dir")});
  request.evaluationFiles = filesOf({in.find("validation_file"), in.find("validation_dir")});
  request.dataset = textOf(in.find("dataset_name"));
  request.weights = textOf(in.find("model_name_or_path"));
  request.resume = textOf(in.find("resume_from_checkpoint"));
  request.output = textOf(in.find("output_dir"));
  request.trains = trains(in);
  if (!request.trains)
    in.run.assumed.push_back("a step of training is meant, although the script does not train without --do_train");
}

} // namespace npar::foreign
