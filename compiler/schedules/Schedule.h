// A pipeline schedule is data: where the chunks of the model are, and for each stage the order of its compute tasks. Transfers follow.
#pragma once

#include "engine/program/Enums_generated.h"

#include <string>
#include <string_view>
#include <vector>

namespace npar::schedules {

/// The phases of a micro-batch in a chunk. Where the list of a stage has W for a chunk and a micro-batch, its B is the input part of the
/// backward alone; where it has not, B is the whole backward. A list may mix both.
enum class Phase { F, B, W };

struct Task {
  Phase phase = Phase::F;
  int micro = 0;
  int chunk = 0;         ///< number among the stage's chunks, ascending along the chain
  bool overlaps = false; ///< runs at the same time as the task before it: a forward and a backward of two micro-batches

  bool operator==(const Task &other) const {
    return phase == other.phase && micro == other.micro && chunk == other.chunk && overlaps == other.overlaps;
  }
};

constexpr size_t mostScheduleErrors = 100; ///< limit of an error list; a text can ask for a million micro-batches
constexpr size_t mostCycleLinks = 12;      ///< number of links of a cycle of waiting that are written out

/// The tasks of each stage, in order.
using TaskLists = std::vector<std::vector<Task>>;

/// The chain of stages * chunks model parts; `placement[place]` is the stage that holds the part. Each stage holds `chunks` of them.
using Placement = std::vector<int>;

/// Part c * stages + s on stage s: Megatron's interleaving, and the plain pipeline for one chunk.
Placement loopPlacement(int stages, int chunks);
/// Two chunks per stage, down the stages and back up: part p and part 2 stages - 1 - p on stage p.
Placement vPlacement(int stages);

struct Schedule {
  std::string kind;
  int micros = 0;
  int chunks = 1; ///< per stage
  Placement placement;
  TaskLists lists;

  int stages() const { return static_cast<int>(lists.size()); }
  /// Place in the chain of a stage's chunk; -1 when the stage has no such chunk.
  int place(int stage, int chunk) const;
  /// The chunk that the part at a place of the chain is on its stage.
  int chunkAt(int place) const;

  bool operator==(const Schedule &other) const {
    return micros == other.micros && chunks == other.chunks && placement == other.placement && lists == other.lists;
  }
};

/// Times of a whole stage, in seconds or any unit; each of its chunks takes 1/chunks of them. A backward that is not split takes
/// `backward + weight`.
struct StageCost {
  double forward = 1, backward = 1, weight = 1;
  bool operator==(const StageCost &other) const { return forward == other.forward && backward == other.backward && weight == other.weight; }
};

/// The parameters for which a schedule is made.
struct Request {
  int stages = 1, micros = 1;
  int chunks = 0;               ///< per stage; 0: the schedule's own number
  std::vector<StageCost> costs; ///< per stage; empty: all 1
  double transfer = 0;          ///< time of a message between stages
  double memoryCap = 0;         ///< most forward activations of a stage (all its chunks: 1) held at once; 0: no limit
  bool operator==(const Request &other) const {
    return stages == other.stages && micros == other.micros && chunks == other.chunks && costs == other.costs &&
           transfer == other.transfer && memoryCap == other.memoryCap;
  }
};

/// A schedule, or why there is none for the request.
struct Made {
  Schedule schedule;
  std::string refusal; ///< empty if there is a schedule; otherwise the reason, with both numbers
};

/// Properties of a stage that follow from a request alone, if all stages take the same time and messages take none.
struct Estimate {
  double held = 1;  ///< micro-batches of all its chunks that it holds at most; a limit is the request's memory cap
  double waits = 0; ///< its bubble, in forward and full backward passes of a micro-batch
};

/// When a search for the best plan tries a schedule. Never: another one has the same bubble and holds less. Limited: only with a memory cap
/// of at most one micro-batch per stage, for without one another schedule has the same bubble and holds less.
enum class Worth { Never, Limited, Always };

/// A schedule as plans name it (`h -> pp by 1f1b`).
struct ScheduleKind {
  const char *name;
  const char *source; ///< paper, figure
  int chunks;         ///< its own number; 0: it chooses
  bool anyChunks;     ///< whether a request may ask for another number
  Made (*make)(const Request &request);
  Estimate (*estimate)(const Request &request); ///< of one with chunks, and with the memory cap if the schedule keeps it
  bool splitsBackward;                          ///< the weights' gradients are tasks of their own
  Worth worth = Worth::Always;
  int microsPerStage = 0; ///< least number of micro-batches per stage; 0: any number
  bool keepsCap = false;  ///< it holds no more than the memory cap; the others ignore it
};

Made naive(const Request &request);
Made gpipe(const Request &request);
Made oneFOneB(const Request &request);
Made interleaved(const Request &request);
Made backwardFirst(const Request &request);
Made loopedBfs(const Request &request);
Made zbH1(const Request &request);
Made zbH2(const Request &request);
Made zbV(const Request &request);
Made zbAuto(const Request &request);
Made vHalf(const Request &request);
Made vMin(const Request &request);
Made dualPipeV(const Request &request);

Estimate estimateNaive(const Request &request);
Estimate estimateGPipe(const Request &request);
Estimate estimateOneFOneB(const Request &request);
Estimate estimateInterleaved(const Request &request);
Estimate estimateBackwardFirst(const Request &request);
Estimate estimateLoopedBfs(const Request &request);
Estimate estimateZbH1(const Request &request);
Estimate estimateZbH2(const Request &request);
Estimate estimateZbV(const Request &request);
Estimate estimateZbAuto(const Request &request);
Estimate estimateVHalf(const Request &request);
Estimate estimateVMin(const Request &request);
Estimate estimateDualPipeV(const Request &request);

/// All schedules, in order of publication. A new one is a function in its own file and a line here.
const std::vector<ScheduleKind> &scheduleKinds();

/// The schedule of this name; null when there is none.
const ScheduleKind *findSchedule(std::string_view name);

/// Checks the numbers of a request against the kind (at least one stage and micro-batch, chunks that the kind can have), fills in
/// `chunks` and `costs`, and makes the schedule.
Made makeSchedule(const ScheduleKind &kind, Request request);

/// One line per stage, such as `F0 F1 B0 B1`; a number after a dot names the chunk if there are several (`F0.1`).
std::string print(const TaskLists &lists);

/// The phase of a training step that tasks of a phase belong to.
program::Phase seamOf(Phase phase);

/// The word of that phase: 'F', 'B' or 'W'.
char letter(Phase phase);

} // namespace npar::schedules
