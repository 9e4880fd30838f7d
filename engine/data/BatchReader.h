// Reads batches ahead of the training that uses them.
#pragma once

#include "engine/data/DataSource.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace npar::engine {

/// Reads the batches of the steps [first, end) in order on a thread of its own, and keeps up to two ready. The source must outlive it.
class BatchReader {
public:
  BatchReader(const DataSource &source, int64_t first, int64_t end);
  ~BatchReader();
  BatchReader(const BatchReader &) = delete;

  struct Read {
    Batch batch;
    Status intact; ///< state of the source after this batch
  };
  /// Returns the next step's batch. Call it at most once for each step.
  Read next();
  /// Seconds for which next() waited for a batch; the first batch, which could not be read in advance, does not count.
  double waited() const { return secondsWaited; }

private:
  void readAll(int64_t first, int64_t end);

  static constexpr size_t ahead = 2;
  const DataSource &source;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Read> ready;
  bool stopped = false, begun = false;
  double secondsWaited = 0;
  std::thread thread; ///< declared last, because it uses all others
};

} // namespace npar::engine
