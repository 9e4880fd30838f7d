// Reads batches ahead of the training that asks for them.
#pragma once

#include "engine/data/DataSource.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace npar::engine {

/// Has a thread of its own, which reads the batches of the steps [first, end) in order and keeps up to two ready. The source must outlive
/// it.
class BatchReader {
public:
  BatchReader(const DataSource &source, int64_t first, int64_t end);
  ~BatchReader();
  BatchReader(const BatchReader &) = delete;

  struct Read {
    Batch batch;
    Status intact; ///< of the source after this batch
  };
  /// The next step's batch. Asked for once for each step at most.
  Read next();
  /// Seconds in which a batch that next() was asked for was not ready, but for the first, which nobody could have read before.
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
  std::thread thread; ///< last: it uses all others
};

} // namespace npar::engine
