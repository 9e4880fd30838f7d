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
  bool temporary = false; ///< the folder is where others may write too: it must be this user's alone, and no link
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
  FlightRecord(const FlightOptions &options, int folder) : options(options), folder(folder) {}
  std::string name() const;
  std::string path() const;
  void write(uint32_t local, uint32_t node, int64_t trainingStep, FlightEvent event);
  void unmap();

  FlightOptions options;
  int folder; ///< a descriptor, for its name may lead elsewhere meanwhile
  std::mutex mutex; ///< held while the file comes, goes, or is written to by anyone but `note`
  uint8_t *memory = nullptr;
  size_t size = 0;
  FlightLive *live = nullptr;
  uint8_t *rings = nullptr;
  std::vector<uint32_t> firstNode; ///< of the graph, by place of the rank
};

/// A folder in the system's one for temporary files. All processes of a job get the same random `token`, which other users cannot guess, so
/// the processes of one host use the same folder.
std::string flightFolderOf(const std::string &token);

} // namespace npar::engine
