// The inspector's model of one compiled program: computed once from its root, then printed as text, JSON, SVG, page and trace.
//
//   program root --viewOf--> View --+--> viewText, viewJson      (ViewText.cpp, ViewJson.cpp)
//                                   +--> timelineOf, timelineSvg (Timeline.h)
//                                   +--> viewTrace               (ViewTrace.cpp)
//                                   +--> viewPage                (ViewPage.h)
//
// Pure: needs no compiler and no run time. Times are the program's planned seconds from the step's start, or measured ones (MeasuredRun.h).
#pragma once

#include "engine/program/Cause.h"
#include "engine/show/Legend.h"
#include "engine/show/StepVolume.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::show {

constexpr uint32_t noTask = ~0u;

struct ViewLabel {
  std::string text, path, file;
  uint32_t line = 0, column = 0;
  /// `gpt2.npar:34:15`, empty when the program does not know.
  std::string place() const;
};

/// The data that a step sends, receives or reduces.
struct ViewMessage {
  std::string kind;                        ///< "all_reduce", ..., "send", "receive"; empty: the step computes
  program::CollectiveKind collective = {}; ///< of a collective: what `kind` is the word of
  std::string over;                        ///< mesh axes "tp", or a transfer's coordinate difference "pp+1"
  program::CauseT cause;                   ///< of a collective: why the compiler inserted it
  std::string from, to;                    ///< of a collective: the layouts of its input and output
  std::vector<uint32_t> rules;             ///< of a collective: labels of the plan's rules that ask for it
  int64_t members = 1;                     ///< of a collective: ranks in a group
  uint32_t event = 0;                      ///< the same for all members
  int32_t peerClass = -1;                  ///< of a transfer: index into View::classes
};

struct ViewStep {
  program::StepKind kind = program::StepKind::Kernel;
  uint32_t label = 0;
  double begin = 0, end = 0; ///< seconds from the task's begin; a message may begin before its task or end after it
  uint64_t bytes = 0;        ///< read and written; of a message: its payload on this rank, at a balanced load of experts
  uint64_t worst = 0;        ///< the payload if all places for rows are in use; otherwise `bytes`
  double flops = 0;
  std::vector<uint32_t> dependencies; ///< earlier steps of the fragment
  ViewMessage message;
  bool communicates() const { return !message.kind.empty(); }
  bool transfers() const { return kind == program::StepKind::Send || kind == program::StepKind::Receive; }
};

struct ViewFragment {
  std::string name;
  program::Phase phase = program::Phase::Forward;
  uint32_t chunk = 0;
  std::vector<ViewStep> steps;
};

struct ViewTask {
  uint32_t fragment = 0, micro = 0;
  double begin = 0, end = 0;
  uint32_t pattern = 0; ///< index into ClassMemory::patterns
};

/// Step `step` waits for `onStep` of another task, because it uses its memory again.
struct ViewWait {
  uint32_t task = 0, step = 0, onTask = 0, onStep = 0;
};

/// Live bytes of a kind change by `bytes` at `at` seconds from a task's begin.
struct MemoryChange {
  double at = 0;
  MemoryKind kind = MemoryKind::Stash;
  int64_t bytes = 0;
};

/// A tensor, or tensors of the same source at several micro-batches, that are live at the peak.
struct PeakTensor {
  MemoryKind kind = MemoryKind::Stash;
  std::string name, place;
  uint64_t bytes = 0; ///< of all
  uint32_t count = 1;
};

/// Bytes that hold something that is still needed; the arena is reserved whole, so this is what the plan could not do without.
struct ClassMemory {
  std::array<uint64_t, memoryKinds> always{};      ///< from begin to end: parameters, states, accumulators, outputs
  std::array<uint64_t, memoryKinds> atStart{};     ///< there at the step's start, freed by patterns: data
  std::vector<std::vector<MemoryChange>> patterns; ///< by time; tasks with the same changes of memory share one
  uint64_t peakBytes = 0;
  double peakAt = 0;
  std::vector<PeakTensor> peak; ///< descending bytes, all of them
};

struct CollectiveUse {
  std::string kind, over, phase;
  program::CauseT cause;
  std::string path;                ///< of the operations that made it; numbers of blocks that differ are `*`
  std::vector<std::string> places; ///< their source lines
  uint64_t count = 0, bytes = 0;
  double seconds = 0;
};

struct ClassView {
  std::string name, ranks;
  std::vector<int64_t> rankList;
  uint32_t programClass = 0; ///< index in the program
  uint32_t stage = 0;
  uint64_t arenaBytes = 0;
  std::vector<ViewFragment> fragments;
  std::vector<ViewTask> tasks;
  std::vector<ViewWait> waits;
  ClassMemory memory;
  std::vector<CollectiveUse> collectives; ///< descending bytes
  double busy = 0;                        ///< seconds in tasks that run per micro-batch, collectives included
  double communication = 0;               ///< seconds of collectives in them
  StepVolume volume;                      ///< what it sends for data parallelism
  uint64_t sentBytes = 0;                 ///< bytes that a rank sends in a training step: messages, and collectives by `sentBytes`
  double bubble = 0;                      ///< share of the window from the program's first to last such task in which this class waits
  double balance = 1;                     ///< busy over the mean of all classes

  std::string taskName(uint32_t task) const; ///< "F0:3"
  /// `ranks`, shortened to about `width` characters.
  std::string ranksWithin(size_t width) const;
};

struct View {
  std::string model, plan, schedule, title;
  std::string origin = "planned";     ///< or "measured"
  std::string step = "training step"; ///< stepWord(program)
  bool trains = true;                 ///< false: it only goes forward
  std::vector<std::pair<std::string, uint32_t>> mesh;
  int64_t world = 1, microCount = 1;
  std::vector<ViewLabel> labels;
  std::vector<ClassView> classes; ///< ascending stage
  bool timed = true;              ///< false: the program holds no times, every task counts one second in program order
  double span = 0;                ///< end of the last task or message
  /// From the first to the last task that runs per micro-batch: 1 - busy / (time * classes), 0..1.
  double bubble = 0;
};

View viewOf(const program::Program &program);

/// The name of a program's step: "training step", or "step" if it trains nothing.
const char *stepWord(const program::Program &program);

/// Fills what follows from the times of tasks and steps: span, bubble, balance, memory, seconds of collectives.
void finishTimes(const program::Program &program, View &view);

/// The view for people, `width` columns wide: stages, timeline, peaks, collectives.
std::string viewText(const View &view, size_t width = 100);
/// The main figures of several views side by side.
std::string comparisonText(const std::vector<const View *> &views);

/// Chrome/Perfetto trace events: a process per class, flow arrows for messages and collectives, counters of live memory.
std::string viewTrace(const View &view);

} // namespace npar::show
