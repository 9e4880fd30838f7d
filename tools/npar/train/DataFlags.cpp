// Defines the flags of data.
#include "tools/npar/train/DataFlags.h"

#include "tools/npar/model/FlagChecks.h"

namespace npar::driver {

void DataFlags::addFilesTo(CLI::App &app) {
  app.add_option("--data", files,
                 "data for the inputs: tokens, a FILE.safetensors with a tensor per input, samples first, texts (.csv, .tsv, .jsonl), or "
                 "for a data block "
                 "of pictures an IDX file or a folder; INPUT=FILE feeds a single input (default: the model's data block)")
      ->type_name("[INPUT=]FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(notEmpty());
  app.add_option("--tokens", tokens, "content of the file: bytes (a text), u16 or i32 (little-endian token numbers)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"bytes", "u16", "i32"}));
}

void DataFlags::addTextsTo(CLI::App &app) {
  app.add_option("--text", columns,
                 "column of the file's texts, by its name, or by its number from 1 in a file without names; given twice: pairs of texts "
                 "(default: the "
                 "data block's, or the only column)")
      ->type_name("COLUMN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--tokenizer", tokenizer,
                 "tokenizer of texts: a folder or file, or bytes (default: the data block's, or the files next to the weights)")
      ->type_name("FOLDER|FILE")
      ->check(notEmpty());
}

void DataFlags::addOrderTo(CLI::App &app) {
  mayBeRandom = true;
  app.add_option("--mask", mask, "file with one byte per token of the data: 1 if the token is a target of the loss, else 0")
      ->type_name("FILE")
      ->check(notEmpty());
  app.add_option("--data-order", order,
                 "order of the samples: shuffled (default; by seed and epoch) or sequential; the same under every plan")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"shuffled", "sequential"}));
  app.add_flag("--random-data", random, "use random values instead of a file, for trials and benchmarks");
}

} // namespace npar::driver
