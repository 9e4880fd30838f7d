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

/// One event of a rank. `local` is the rank's place in StepGraph::ranks of the session, `node` a node of that graph or noIndex.
struct FlightNote {
  uint32_t session = 0, local = 0, node = noIndex;
  int64_t round = 0, trainingStep = 0;
  FlightEvent event = FlightEvent::Began;
};

/// One file per process, `process-N.flight`. `note` takes no lock, allocates nothing and calls nothing of the system; any thread may call
/// it.
class FlightRecord {
public:
  static Result<std::unique_ptr<FlightRecord>> create(const FlightOptions &options);
  ~FlightRecord();
  FlightRecord(const FlightRecord &) = delete;
  FlightRecord &operator=(const FlightRecord &) = delete;

  /// Makes room for one more session, whose number is below `mostSessions`: the file is written again, with the events that it holds. Not
  /// while any session is in a step. Without room on the disk the file stays as it was, the session's events are dropped, and this returns
  /// an error.
  Status open(const program::Program &program, const StepGraph &graph, const Operations &operations, uint32_t session = 0);
  void note(const FlightNote &note) {
    if (note.session < parts.size() && !parts[note.session].rings.empty())
      write(note);
  }
  static constexpr uint32_t mostSessions = 1024;
  /// The process is alive.
  void alive();
  /// Why the job has failed; of many who wait, those that there is room for.
  void verdict(FailureReport report);
  /// The job has ended well: the file is removed, and the folder where it is empty then.
  void discard();

private:
  FlightRecord(const FlightOptions &options, int folder) : options(options), folder(folder) {}
  /// The layout of one session, by place of the rank in its graph: the ring of the rank, its first node in the graph, and the number of
  /// that node in the file.
  struct Part {
    std::vector<uint32_t> rings, firstNode, firstInFile;
  };
  std::string name() const;
  std::string path() const;
  void write(const FlightNote &note);
  void unmap();
  Status replaceFile(wire::FlightTablesT &next);

  FlightOptions options;
  int folder; ///< a descriptor, for its name may lead elsewhere meanwhile
  std::mutex mutex; ///< held while the file comes, goes, or is written to by anyone but `note`
  uint8_t *memory = nullptr;
  size_t size = 0;
  FlightLive *live = nullptr;
  uint8_t *rings = nullptr;
  wire::FlightTablesT written;      ///< tables of the file
  std::vector<uint32_t> nodeCounts; ///< by ring, nodes of all sessions
  std::vector<Part> parts;          ///< by session
};

/// A folder in the system's one for temporary files. All processes of a job get the same random `token`, which other users cannot guess, so
/// the processes of one host use the same folder.
std::string flightFolderOf(const std::string &token);

} // namespace npar::engine
