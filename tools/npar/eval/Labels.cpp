// Prints or writes the labels step by step.
#include "tools/npar/eval/Labels.h"

#include "engine/readable/Printable.h"
#include "engine/text/Tokenizer.h"
#include "tools/npar/eval/EvaluatedData.h"
#include "tools/npar/terminal/Terminal.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using engine::Status;

namespace {

void printLabel(const training::PredictedLabel &label) {
  constexpr size_t most = 72; // bytes of a text
  std::string line = fmt::format("{}  {}  {:.4f}", label.name.empty() ? fmt::format("sample {}", label.sample) : label.name,
                                 labelText(label), label.probability);
  for (const std::string &text : label.texts)
    line += "  " + (text.size() > most ? text.substr(0, engine::wholeCharacters(text.substr(0, most))) + " ..." : text);
  std::cout << readable::printableName(line) << '\n';
}

} // namespace

Status Labels::open(const program::Program &program, const trained::NamedModel &named) {
  TRY(training::LabelReader made, training::LabelReader::create(program, flags.output, namesOfClasses(named)));
  reader.emplace(std::move(made));
  if (data && !flags.labels.empty()) {
    TRY(training::LabelFile created, training::LabelFile::create(flags.labelFile()));
    file.emplace(std::move(created));
  }
  return {};
}

Status Labels::add(const engine::Session &session, int64_t first, int64_t samples) {
  TRY(const std::vector<training::PredictedLabel> labels, reader->read(session, data, first, samples));
  for (const training::PredictedLabel &label : data ? labels : std::vector<training::PredictedLabel>()) {
    if (file && written.ok())
      written = file->add(label);
    else if (flags.use.json)
      json.push_back(jsonOf(label));
    else if (!file)
      printLabel(label);
  }
  return {};
}

Status Labels::finish() {
  if (!file || !written.ok())
    return written;
  TRY_STATUS(file->commit());
  if (!flags.use.quiet)
    printRemark(fmt::format("wrote {} {} to '{}'", file->rows(), file->rows() == 1 ? "label" : "labels", flags.labelFile()));
  return {};
}

} // namespace npar::driver
