#include "engine/data/ReadRows.h"

#include "engine/device/HandOver.h"
#include "engine/runtime/WorkerCount.h"

#include <algorithm>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace npar::engine {
namespace {

void fillRow(const BatchShape &shape, Batch &batch, size_t row) {
  for (size_t i = 0; i < batch.size(); ++i)
    std::visit(
        [&](auto &values) {
          const InputShape &input = shape.inputs[i];
          std::fill_n(rowOf(values, input, row), input.elementsOfSample(),
                      static_cast<std::decay_t<decltype(values[0])>>(input.ignore.value_or(0)));
        },
        batch[i]);
}

} // namespace

Status readRows(const std::vector<std::unique_ptr<Samples>> &files, const std::vector<SamplePlace> &places, const BatchShape &shape,
                int workers, Batch &batch) {
  batch = batchOf(shape, places.size());
  std::vector<Status> results(places.size());
  auto make = [&](int64_t index) {
    auto row = static_cast<size_t>(index);
    const SamplePlace &place = places[row];
    if (place.fills())
      fillRow(shape, batch, row);
    else
      results[row] = files[static_cast<size_t>(place.file)]->write(place.sample, place.epoch, batch, row);
  };
  const auto rows = static_cast<int64_t>(places.size());
  if (workerCount(workers) > 1 && rows > 1 &&
      std::any_of(files.begin(), files.end(), [](const auto &file) { return file->isComputed(); })) {
    tbb::task_arena arena(workerCount(workers), 1, tbb::task_arena::priority::low); // a step that runs meanwhile gets its workers first
    HandOver begin, end;
    begin.give();
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<int64_t>(0, rows, 1),
          [&](const tbb::blocked_range<int64_t> &range) NPAR_TAKES_OVER {
            begin.take();
            for (int64_t row = range.begin(); row != range.end(); ++row)
              make(row);
            end.give();
          },
          tbb::simple_partitioner());
    });
    end.take();
  } else {
    for (int64_t row = 0; row < rows; ++row)
      make(row);
  }
  auto failed = std::find_if(results.begin(), results.end(), [](const Status &status) { return !status.ok(); });
  return failed == results.end() ? Status() : *failed;
}

} // namespace npar::engine
