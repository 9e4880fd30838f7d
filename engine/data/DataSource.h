// Provides global batches by step number: from a file in some order, or random for checks.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/TokenFile.h"
#include "engine/runtime/Batch.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace npar::engine {

/// DataSource::stream of batches in the memory of a program that embeds npar (tools/api). npar cannot read them again.
inline constexpr const char *hostStream = "host";

/// Any batch can be requested at any time; the result depends only on the arguments, never on the plan. Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;
  virtual Batch batch(int64_t step) const = 0;
  /// Restricts batches to these of their samples, ascending; only these are read. For one of several processes.
  void keepRows(std::vector<int64_t> rows) { kept = std::move(rows); }
  /// Number of threads that may compute samples of one batch at the same time, the calling one included; 0: as many as there are
  /// processors.
  void useWorkers(int count) { workers = count; }
  /// Makes the batch of `step` begin with sample number `taken` of all samples ever taken, and later steps continue from there: for a
  /// training that got there with batches of another size.
  virtual void goOnFrom(int64_t step, int64_t taken) = 0;
  /// The number of the first sample of a step's batch among all samples ever taken; samples that an epoch leaves out count as taken.
  virtual int64_t position(int64_t step) const = 0;
  /// The files and samples in the batch of a step; empty if the data come from no file.
  virtual std::vector<SamplePlace> places(int64_t) const { return {}; }
  /// The name of a sample that is a file; empty if it is none.
  virtual std::string nameOf(const SamplePlace &) const { return ""; }
  /// The names of the classes that folders of pictures state, by number; empty if they state none.
  virtual std::vector<std::string> classes() const { return {}; }
  /// Number of samples before they repeat; 0: they never do.
  virtual int64_t samples() const = 0;
  /// Steps in which an epoch's samples come, not always whole; 0 if data have no end.
  virtual double stepsPerEpoch() const { return 0; }
  /// Kind and order of the data in words, which must match when a training resumes: "tokens u16", "shuffled".
  virtual std::string stream() const { return "random"; }
  virtual std::string order() const { return ""; }

  /// An error once the file could not be read any more, for example because it was truncated: later batches are not valid data.
  virtual Status intact() const { return {}; }
  /// Remarks on legal but surprising data, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// Opens the files of a plan, and of its split the part that it names. `seed`: seed of the order, if the plan has none. Refuses what
  /// openSamples refuses, and fewer samples than a batch takes.
  static Result<std::unique_ptr<DataSource>> open(const DataPlan &plan, uint64_t seed, const BatchShape &shape);
  /// A stream of tokens in one file, for a program whose inputs take one: `Stream` gets the tokens and `Shifted` the tokens one position
  /// later. `mask`: path of a MaskFile for the tokens, or empty; targets that do not count get the value that the program ignores.
  static Result<std::unique_ptr<DataSource>> openTokens(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                        const BatchShape &shape, const std::string &mask = "");
  /// A safetensors file with a tensor for each input, whose first dimension is the samples.
  static Result<std::unique_ptr<DataSource>> openTensors(const std::string &path, Order order, uint64_t seed, const BatchShape &shape);
  /// Independent values for every input by seed and step: integers uniform over their range, floats normal with deviation 1. With
  /// `maskedRows` not 0, in a program that ignores targets, some targets are ignored, unevenly: every row loses a different share of its
  /// targets, and if the batch has several groups of `maskedRows` rows, one of them loses all, a different one in each step.
  static std::unique_ptr<DataSource> random(uint64_t seed, const BatchShape &shape, int64_t maskedRows = 0);

protected:
  /// The elements of `all`, one per row of the batch, for the kept rows.
  template <typename T> std::vector<T> keptOf(const std::vector<T> &all) const {
    std::vector<T> result;
    for (size_t i = 0; i < (kept ? kept->size() : all.size()); ++i)
      result.push_back(all[kept ? static_cast<size_t>((*kept)[i]) : i]);
    return result;
  }
  int workers = 1;

private:
  std::optional<std::vector<int64_t>> kept; ///< rows of a batch; nothing: all
};

} // namespace npar::engine
