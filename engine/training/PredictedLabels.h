// The most probable class of each sample, from an output of the model that has the scores of classes.
#pragma once

#include "engine/data/OncePass.h"
#include "engine/files/OutputFile.h"
#include "engine/json/JsonForward.h"
#include "engine/runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::training {

struct PredictedLabel {
  int64_t sample = 0;             ///< counted in the order of the data, from 0
  std::string name;               ///< file or line of the sample; empty if it has none
  std::vector<std::string> texts; ///< one or two, if the data are texts
  int64_t label = 0;
  std::string className; ///< empty if the classes have no names
  double probability = 0;
};

/// "positive", or the number of a class without a name.
std::string labelText(const PredictedLabel &label);
OrderedJson jsonOf(const PredictedLabel &label);

/// Reads the scores of a step and finds the labels.
class LabelReader {
public:
  /// `output`: name of the output with the scores; empty: the only one that has scores. Refuses a program without such an output, and names
  /// of classes that are not as many as the scores. `names`: of the classes; may be empty.
  static engine::Result<LabelReader> create(const program::Program &program, const std::string &output, std::vector<std::string> names);
  /// The labels of the first `samples` samples of the last step's batch, which start at sample `first` of the data. Every session must call
  /// it, and gets the same labels. `data` adds names and texts; null: they stay empty.
  engine::Result<std::vector<PredictedLabel>> read(const engine::Session &session, const engine::OncePass *data, int64_t first,
                                                   int64_t samples) const;

private:
  LabelReader(std::string result, uint64_t classes, std::vector<std::string> names)
      : result(std::move(result)), classes(classes), names(std::move(names)) {}
  std::string result;
  uint64_t classes;
  std::vector<std::string> names;
};

/// A file with one row for each sample: `FILE.csv` with a line of names first, or `FILE.jsonl` with an object in each line.
class LabelFile {
public:
  /// Refuses other endings.
  static engine::Status checkName(const std::string &path);
  static engine::Result<LabelFile> create(const std::string &path);
  engine::Status add(const PredictedLabel &label);
  engine::Status commit();
  int64_t rows() const { return count; }

private:
  LabelFile(files::OutputFile file, bool isTable) : file(std::move(file)), isTable(isTable) {}
  files::OutputFile file;
  bool isTable;
  uint64_t offset = 0;
  int64_t count = 0;
};

} // namespace npar::training
