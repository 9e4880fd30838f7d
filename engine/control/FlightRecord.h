// Writes the last events of each rank into a mapped file that outlives its process.
#pragma once

#include "engine/control/FailureReport.h"
#include "engine/control/FlightFormat.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/StepGraph.h"

#include <memory>
#include <mutex>
#include <string>

namespace npar::engine {

struct FlightOptions {
  std::string folder; ///< is made where it is not there
  uint32_t process = 0, processes = 1;
  std::string host;
};

/// One file per process, `process-N.flight`. `note` takes no lock, allocates nothing and calls nothing of the system; any thread may call
/// it.
class FlightRecord {
public:
  static Result<std::unique_ptr<FlightRecord>> create(const FlightOptions &options);
  ~FlightRecord();
  FlightRecord(const FlightRecord &) = delete;
  FlightRecord &operator=(const FlightRecord &) = delete;

  /// Lays out the file for these ranks; what it held of ranks before is gone. Without room on the disk there is no record: the error says
  /// so, and `note` does nothing.
  Status open(const program::Program &program, const StepGraph &graph, const Operations &operations);
  /// An event of a rank by its place in StepGraph::ranks; `node` of the graph, or noIndex.
  void note(uint32_t local, uint32_t node, int64_t trainingStep, FlightEvent event) {
    if (rings)
      write(local, node, trainingStep, event);
  }
  /// The process is alive.
  void alive();
  /// Why the job has failed; of many who wait, those that there is room for.
  void verdict(FailureReport report);
  /// The job has ended well: the file is removed, and the folder where it is empty then.
  void discard();

private:
  explicit FlightRecord(const FlightOptions &options) : options(options) {}
  std::string path() const;
  void write(uint32_t local, uint32_t node, int64_t trainingStep, FlightEvent event);
  void unmap();

  FlightOptions options;
  std::mutex mutex; ///< held while the file comes, goes, or is written to by anyone but `note`
  uint8_t *memory = nullptr;
  size_t size = 0;
  FlightLive *live = nullptr;
  uint8_t *rings = nullptr;
  std::vector<uint32_t> firstNode; ///< of the graph, by place of the rank
};

/// The same folder for all processes of a job that run on one host, under the system's folder for temporary files.
std::string flightFolderOf(int64_t pidOfProcess0, uint64_t startOfProcess0);

} // namespace npar::engine
