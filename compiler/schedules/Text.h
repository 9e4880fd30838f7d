// Schedules as text in PyTorch's pipelining action format (torch.distributed.pipelining.schedules), to exchange them and to write own ones.
#pragma once

#include "compiler/schedules/Communications.h"

#include <string>
#include <string_view>
#include <vector>

namespace npar::schedules {

/// Rows and columns (bytes) count from 1.
struct TextPlace {
  int row = 1, column = 1, length = 1;
};

/// A link of a cycle of waiting: it ends only after the next one, the last only after the first.
struct TextLink {
  std::string action; ///< the word in the text
  TextPlace at;
  int stage = 0, place = 0; ///< place: index in the stage's list of tasks and communications
  bool otherEnd = false;    ///< whether the next link is the other end of its message; else it comes before this one in its stage's list
};

struct TextError {
  TextPlace at;
  int stage = 0;
  int place = 0; ///< index in the stage's list of compute tasks; `ofCommunication`: in that of tasks and communications
  std::string reason;
  bool ofCommunication = false;
  std::vector<TextLink> cycle; ///< sends and receives that wait for each other
};

/// A schedule as read; its `kind` is "csv".
struct ReadSchedule {
  Schedule schedule;
  std::vector<std::vector<TextPlace>> places; ///< per stage: of each task in its list, then of the row's end
  std::vector<TextError> errors;              ///< in the order of the text; after errors the schedule is incomplete
  int communications = 0;                     ///< sends and receives that the text gives
};

constexpr size_t maximumScheduleText = 16 << 20; ///< bytes
constexpr size_t maximumActions = 2'000'000;     ///< tasks and communications
constexpr int maximumVirtualStages = 1 << 14;
constexpr int maximumMicros = 1 << 20;

/// One row per stage, cells with a comma between; an empty cell is a bubble. A cell is an action: virtual stage (place in the chain), kind,
/// micro-batch. Compute actions are `0F3`, `0B3` (full backward), `0I3` and `0W3` (input and weight part). `(0F3;1B2)OVERLAP_F_B` is two
/// of them at the same time. UNSHARD, RESHARD and REDUCE_GRAD are checked and dropped: they follow from the plan. SEND_F, RECV_F, SEND_B,
/// RECV_B and the waits for sends are no part of the schedule either: npar makes its own. Which row has a virtual stage is the placement.
/// Reads CRLF, quoted cells and a byte order mark, as spreadsheets write them. Checks the text alone and what the split of backwards needs
/// (an `I` has its `W`, a `B` has none); no text crashes it.
ReadSchedule parseCsv(std::string_view text);

/// The same with the checks of `validate` and, where the text gives communications, of `checkCommunications`, located in the text.
ReadSchedule checkCsv(std::string_view text, Sending sending = Sending::Rendezvous);

/// Compute actions only, no bubbles; parseCsv(printCsv(s)).schedule == s for every s that `validate` accepts.
std::string printCsv(const Schedule &schedule);

/// `2I1`: as printCsv writes a task; B is I where the stage has the W of it.
std::string actionName(const Schedule &schedule, int stage, const Task &task);

} // namespace npar::schedules
