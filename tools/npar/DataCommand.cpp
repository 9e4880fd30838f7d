// `npar data`: what feeds a model, counted and shown, without training it.
#include "tools/npar/Command.h"

#include "engine/data/DataSource.h"
#include "engine/data/Samples.h"
#include "engine/files/OutputFile.h"
#include "engine/json/Json.h"
#include "engine/pictures/Codecs.h"
#include "engine/pictures/Sheet.h"
#include "engine/program/PictureInput.h"
#include "engine/readable/Printable.h"
#include "engine/text/Tokenizer.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/train/DataFlags.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <numeric>

namespace npar::driver {
namespace {

using engine::Result;
using engine::Status;

struct DataShowFlags {
  ModelOptions model;
  DataFlags data;
  int64_t count = 4, epoch = 0, part = 1;
  bool json = false;
  std::string sheet; ///< file for the samples as one picture
};

/// Samples by part and file.
using Counts = std::vector<std::vector<int64_t>>;

Result<Counts> countSamples(engine::DataPlan plan, const engine::BatchShape &shape) {
  Counts counts;
  for (plan.split.part = 0; plan.split.part < std::max<size_t>(1, plan.split.shares.size()); ++plan.split.part) {
    std::vector<int64_t> &files = counts.emplace_back();
    for (size_t file = 0; file < plan.groups[0].files.size(); ++file) {
      Result<std::unique_ptr<engine::Samples>> samples = engine::openSamples(plan, file, shape, {false, 0, /*counts=*/true});
      if (!samples.ok())
        return samples.status();
      files.push_back((*samples)->samples());
    }
  }
  return counts;
}

struct ShownSample {
  engine::SamplePlace place;
  engine::Batch values;
  std::string name;               ///< of a sample that is a file, or its line in one
  std::vector<std::string> texts; ///< of a sample of texts
};

/// The first samples of an epoch, in the order in which they are trained on; of data in batches of one sample.
std::vector<ShownSample> firstSamples(engine::DataSource &data, const DataShowFlags &flags) {
  std::vector<ShownSample> shown;
  data.goOnFrom(0, flags.epoch * data.samples());
  for (int64_t step = 0; step < std::min(flags.count, data.samples()); ++step)
    shown.push_back({data.places(step)[0], data.batch(step), data.nameOf(data.places(step)[0]), data.textsOf(data.places(step)[0])});
  return shown;
}

std::string pathOf(const engine::DataPlan &plan, int32_t file) { return plan.groups[0].files[static_cast<size_t>(file)].path; }

OrderedJson describe(const DataShowFlags &flags, const engine::DataPlan &plan, const engine::BatchShape &shape, const Counts &counts,
                     const engine::DataSource &data, const std::vector<ShownSample> &shown) {
  OrderedJson result;
  result["stream"] = plan.stream();
  result["order"] = plan.orderText();
  result["files"] = OrderedJson::array();
  for (size_t file = 0; file < plan.groups[0].files.size(); ++file) {
    int64_t samples = 0;
    for (const std::vector<int64_t> &part : counts)
      samples += part[file];
    OrderedJson entry;
    for (const engine::DataGroup &group : plan.groups)
      entry["paths"].push_back(group.files[file].path);
    entry["samples"] = samples;
    result["files"].push_back(entry);
  }
  result["parts"] = OrderedJson::array();
  for (const std::vector<int64_t> &part : counts)
    result["parts"].push_back(std::accumulate(part.begin(), part.end(), int64_t{0}));
  result["part"] = flags.part;
  if (!data.classes().empty())
    result["classes"] = data.classes();
  result["samples"] = data.samples();
  result["batch"] = shape.rows;
  result["epoch"] = flags.epoch;
  result["first"] = OrderedJson::array();
  for (const ShownSample &sample : shown) {
    OrderedJson entry;
    entry["file"] = pathOf(plan, sample.place.file);
    entry["sample"] = sample.place.sample;
    if (!sample.name.empty())
      entry["name"] = sample.name;
    if (!sample.texts.empty())
      entry["texts"] = sample.texts;
    for (size_t i = 0; i < shape.inputs.size(); ++i)
      std::visit([&](const auto &values) { entry["inputs"][shape.inputs[i].name] = values; }, sample.values[i]);
    result["first"].push_back(entry);
  }
  return result;
}

/// The first values of an input.
std::string valuesText(const engine::InputValues &values) {
  constexpr size_t most = 12;
  std::string text;
  std::visit(
      [&](const auto &list) {
        for (size_t i = 0; i < std::min(most, list.size()); ++i)
          text += fmt::format("{}{}", i ? " " : "", list[i]);
        if (list.size() > most)
          text += fmt::format(" ... ({} in all)", list.size());
      },
      values);
  return text;
}

/// The tokenizers of the inputs that take tokens, by input.
using Tokenizers = std::map<size_t, std::shared_ptr<const engine::Tokenizer>>;

Result<Tokenizers> tokenizersOf(const engine::DataPlan &plan) {
  Tokenizers all;
  for (const engine::DataFeed &feed : plan.groups[0].feeds)
    if (feed.text && feed.text->kind == engine::TextFeedKind::Tokens) {
      TRY(all[feed.input], engine::openTokenizer(feed.text->tokenizer, engine::StatedLength::Ignored));
    }
  return all;
}

/// Returns the texts of the first tokens: "[CLS] the food was good [SEP]".
std::string wordsOf(const engine::Tokenizer &tokenizer, const engine::InputValues &values) {
  constexpr size_t most = 40;
  std::string text;
  std::visit(
      [&](const auto &list) {
        for (size_t i = 0; i < std::min(most, list.size()); ++i)
          if (Result<std::string> word = tokenizer.bytesOf(static_cast<int32_t>(list[i]), i == 0); word.ok())
            text += (i && !word->empty() && (*word)[0] != ' ' ? " " : "") + *word;
        text += list.size() > most ? " ..." : "";
      },
      values);
  return readable::printableName(text);
}

/// The value of an input as a person reads it: the tokens' texts, the name of a class; empty for other inputs.
std::string meaningOf(const engine::DataPlan &plan, const Tokenizers &tokenizers, const std::vector<std::string> &classes, size_t input,
                      const engine::InputValues &values) {
  if (auto tokenizer = tokenizers.find(input); tokenizer != tokenizers.end())
    return wordsOf(*tokenizer->second, values);
  for (const engine::DataFeed &feed : plan.groups[0].feeds) {
    const bool isClass = feed.isClass || (feed.text && feed.text->kind == engine::TextFeedKind::Class);
    const auto label = std::visit([](const auto &list) { return static_cast<size_t>(list[0]); }, values);
    if (feed.input == input && isClass && label < classes.size())
      return classes[label];
  }
  return "";
}

void print(const OrderedJson &summary, const engine::BatchShape &shape, const std::vector<ShownSample> &shown, const engine::DataPlan &plan,
           const Tokenizers &tokenizers) {
  std::cout << fmt::format("{}, {}\n", summary["stream"].get<std::string>(), summary["order"].get<std::string>());
  for (const OrderedJson &file : summary["files"]) {
    std::string paths;
    for (const OrderedJson &path : file["paths"])
      paths += (paths.empty() ? "" : ", ") + path.get<std::string>();
    std::cout << fmt::format("  {}: {} samples\n", paths, file["samples"].get<int64_t>());
  }
  if (summary["parts"].size() > 1)
    for (size_t part = 0; part < summary["parts"].size(); ++part)
      std::cout << fmt::format("  part {}: {} samples{}\n", part + 1, summary["parts"][part].get<int64_t>(), part ? "" : ", trained on");
  const auto classes = summary.value("classes", std::vector<std::string>());
  if (!classes.empty()) {
    std::cout << fmt::format("  {} {}: {}\n", classes.size(), classes.size() == 1 ? "class" : "classes", fmt::join(classes, ", "));
  }
  int64_t samples = summary["samples"], rows = shape.rows;
  std::cout << fmt::format("  an epoch: {} samples, {} batches of {}{}\n", samples, samples / rows, rows,
                           samples % rows ? fmt::format(" and {} samples", samples % rows) : "");
  for (const ShownSample &sample : shown) {
    std::cout << fmt::format("\nsample {} of '{}'{}\n", sample.place.sample,
                             summary["files"][sample.place.file]["paths"][0].get<std::string>(),
                             sample.name.empty() ? "" : ": " + sample.name);
    for (const std::string &text : sample.texts)
      std::cout << fmt::format("  text: {}\n", readable::printableName(text));
    for (size_t i = 0; i < shape.inputs.size(); ++i) {
      const std::string meaning = meaningOf(plan, tokenizers, classes, i, sample.values[i]);
      std::cout << fmt::format("  {}: {}{}\n", shape.inputs[i].name, valuesText(sample.values[i]), meaning.empty() ? "" : " = " + meaning);
    }
  }
}

bool isPicture(const engine::InputShape &input) { return program::holdsPictures(input.type, input.shape); }

/// Values of a smaller range than 0 to 255 are spread over it.
pictures::Picture pictureOf(const engine::InputShape &input, const engine::InputValues &values) {
  int64_t channels = input.shape.size() == 4 ? input.shape[1] : 1;
  pictures::Picture picture(input.shape[input.shape.size() - 2], input.shape.back(), channels);
  int64_t pixels = picture.height * picture.width, classes = input.range.classes;
  int64_t largest = classes > 1 && classes < 256 ? classes - 1 : 255;
  std::visit(
      [&](const auto &list) {
        for (int64_t i = 0; i < pixels * channels; ++i)
          picture.bytes[static_cast<size_t>(i % pixels * channels + i / pixels)] =
              static_cast<uint8_t>(std::clamp<int64_t>(static_cast<int64_t>(list[static_cast<size_t>(i)]) * 255 / largest, 0, 255));
      },
      values);
  return picture;
}

/// Writes the pictures of the first input that has some, side by side.
Status writeSheet(const std::string &path, const engine::BatchShape &shape, const std::vector<ShownSample> &shown) {
  auto input = std::find_if(shape.inputs.begin(), shape.inputs.end(), isPicture);
  if (input == shape.inputs.end())
    return Status::badInput(
        "--sheet needs an input with pictures, over [batch, row, column] or [batch, channel, row, column]; the model has " + shape.names());
  if (shown.empty())
    return Status::usage("--sheet needs at least one sample: raise --count");
  std::vector<pictures::Picture> all;
  for (const ShownSample &sample : shown)
    all.push_back(pictureOf(*input, sample.values[static_cast<size_t>(input - shape.inputs.begin())]));
  TRY(std::vector<uint8_t> bytes, pictures::encodePng(pictures::sheetOf(all)));
  TRY(files::OutputFile file, files::OutputFile::create(path));
  TRY_STATUS(file.write(0, bytes.data(), bytes.size()));
  return file.commit();
}

ExitCode show(const DataShowFlags &flags) {
  FileClaims files;
  models::claim(flags.data, files);
  files.write("--sheet", flags.sheet, {".png"});
  Outcome<ProgramPointer> program = loadModel(flags.model, files, /*withoutKernels=*/true);
  if (!program.ok())
    return program.code();
  const program::Program &root = (*program)->root();
  engine::BatchShape shape = engine::BatchShape::of(root);
  Outcome<engine::DataPlan> plan = reported(planOf(flags.data, root, shape));
  if (!plan.ok())
    return plan.code();
  if (auto parts = static_cast<int64_t>(std::max<size_t>(1, plan->split.shares.size())); flags.part > parts)
    return fail(ExitCode::BadInput, fmt::format("there is no part {} of the data, which {}", flags.part,
                                                parts == 1 ? "are not split" : fmt::format("are split into {}", parts)));
  Result<Counts> counts = countSamples(*plan, shape);
  if (!counts.ok())
    return fail(counts.status());
  plan->split.part = static_cast<size_t>(flags.part - 1);
  engine::BatchShape single = shape; // a part may be smaller than a batch; the order is the same
  single.rows = 1;
  Result<std::unique_ptr<engine::DataSource>> data = engine::DataSource::open(*plan, root.seed(), single);
  if (!data.ok())
    return fail(data.status());
  std::vector<ShownSample> shown = firstSamples(**data, flags);
  if (Status intact = (*data)->intact(); !intact.ok())
    return fail(intact);
  if (Status written = flags.sheet.empty() ? Status() : writeSheet(flags.sheet, shape, shown); !written.ok())
    return fail(written);
  Outcome<Tokenizers> tokenizers = reported(tokenizersOf(*plan));
  if (!tokenizers.ok())
    return tokenizers.code();
  OrderedJson summary = describe(flags, *plan, shape, *counts, **data, shown);
  if (flags.json)
    printJson(summary);
  else
    print(summary, shape, shown, *plan, *tokenizers);
  for (const std::string &text : (*data)->remarks())
    printRemark(text);
  return ExitCode::Good;
}

} // namespace

Command addDataCommand(CLI::App &driver) {
  auto flags = std::make_shared<DataShowFlags>();
  CLI::App *app = driver.add_subcommand("data", "show the data that feed a model\n\n"
                                                "Example:\n"
                                                "  npar data show mlp --data book.txt --tokens bytes\n");
  CLI::App *showing = app->add_subcommand("show", "print counts and the first samples of an epoch, in training order\n\n"
                                                  "Example:\n"
                                                  "  npar data show mlp --set length=8 --data book.txt --tokens bytes --count 2\n");
  addModelFlags(*showing, flags->model);
  flags->data.addFilesTo(*showing);
  flags->data.addTextsTo(*showing);
  showing->add_option("--data-order", flags->data.order, "order of the samples: shuffled (default) or sequential")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"shuffled", "sequential"}));
  showing->add_option("--count", flags->count, "number of samples to print")
      ->type_name("N")
      ->check(wholeNumber(0, 1'000'000))
      ->capture_default_str();
  showing->add_option("--epoch", flags->epoch, "epoch whose first samples are printed, counted from 0")
      ->type_name("N")
      ->check(wholeNumber(0, 1'000'000))
      ->capture_default_str();
  showing->add_option("--part", flags->part, "part of the data block's split, counted from 1")
      ->type_name("N")
      ->check(wholeNumber(1, 1'000'000))
      ->capture_default_str();
  showing->add_option("--sheet", flags->sheet, "also write the samples of an input with pictures side by side to a PNG file")
      ->type_name("FILE.png")
      ->check(notEmpty());
  showing->add_flag("--json", flags->json, "print JSON, with all values of the samples");
  showing->allow_extras();
  showing->footer(exitCodeText);
  return {app, [flags, showing] {
            if (showing->parsed()) {
              ExitCode code = reported(flags->data.check());
              return code == ExitCode::Good ? show(*flags) : code;
            }
            return fail(ExitCode::Usage, "no subcommand: give show\nnpar: see 'npar data --help'");
          }};
}

} // namespace npar::driver
