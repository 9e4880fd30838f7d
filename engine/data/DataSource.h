// Global batches by step number: from a file in some order, or random for checks.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/TokenFile.h"
#include "engine/runtime/Batch.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace npar::engine {

/// Any batch can be asked for at any time; the answer depends on the arguments alone, never on the plan. Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;
  virtual Batch batch(int64_t step) const = 0;
  /// From now on batches hold these of their samples alone, ascending, and no other is read: for one of several processes.
  void keepRows(std::vector<int64_t> rows) { kept = std::move(rows); }
  /// From now on the batch of `step` begins with sample number `taken` of all that are ever taken, and those of later steps follow it: for
  /// a training that went there with batches of another size.
  virtual void goOnFrom(int64_t step, int64_t taken) = 0;
  /// The number of the first sample of the batch of a step among all that are ever taken; what an epoch leaves out counts as taken.
  virtual int64_t position(int64_t step) const = 0;
  /// Which samples of which files are in the batch of a step; nothing for data that no file has.
  virtual std::vector<SamplePlace> places(int64_t) const { return {}; }
  /// How many samples there are before they repeat; 0: no end.
  virtual int64_t samples() const = 0;
  /// What the data are and how samples follow each other, in words that a training goes on with: "tokens u16", "shuffled".
  virtual std::string stream() const { return "random"; }
  virtual std::string order() const { return ""; }

  /// Not good once the file could not be read any more, because something cut it say: batches since then are not of the data.
  virtual Status intact() const { return {}; }
  /// What is legal about the data but worth knowing, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// The files of a plan, of its split the part that it names. `seed`: of the order, where the plan has none. Refuses what openSamples
  /// refuses, and fewer samples than a batch takes.
  static Result<std::unique_ptr<DataSource>> open(const DataPlan &plan, uint64_t seed, const BatchShape &shape);
  /// A stream of tokens in one file, for a program whose inputs are fed by one: `Stream` gets the tokens and `Shifted` those one place on.
  /// `mask`: path of a MaskFile for the tokens, whose targets that do not count get the value that the program ignores, or empty.
  static Result<std::unique_ptr<DataSource>> openTokens(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                        const BatchShape &shape, const std::string &mask = "");
  /// A safetensors file with a tensor for each input, whose first dimension are the samples.
  static Result<std::unique_ptr<DataSource>> openTensors(const std::string &path, Order order, uint64_t seed, const BatchShape &shape);
  /// Independent values for every input by seed and step: integers uniform among those that it may have, floats normal with deviation 1.
  /// `maskedRows` other than 0: of a program that ignores targets, some are ignored, spread unevenly: every row loses another share of its
  /// targets, and where the batch has several groups of `maskedRows` rows one of them loses all, another one in each step.
  static std::unique_ptr<DataSource> random(uint64_t seed, const BatchShape &shape, int64_t maskedRows = 0);

protected:
  /// The kept ones of `all`, which are by row of the batch.
  template <typename T> std::vector<T> keptOf(const std::vector<T> &all) const {
    std::vector<T> result;
    for (size_t i = 0; i < (kept ? kept->size() : all.size()); ++i)
      result.push_back(all[kept ? static_cast<size_t>((*kept)[i]) : i]);
    return result;
  }

private:
  std::optional<std::vector<int64_t>> kept; ///< rows of a batch; nothing: all
};

} // namespace npar::engine
