// Reads and writes schedules in PyTorch's action format. Reading goes over the bytes once; every refusal has its row and column.
#include "compiler/schedules/Text.h"

#include "compiler/schedules/Validate.h"

#include <algorithm>
#include <set>
#include <utility>

namespace npar::schedules {

namespace {

constexpr size_t mostTextErrors = 20; // of the text; what follows is mostly noise

/// `word` as messages show it: printable, and short.
std::string shown(std::string_view word) {
  std::string text;
  for (unsigned char letter : word.substr(0, 40)) {
    constexpr const char *hex = "0123456789abcdef";
    if (letter >= ' ' && letter < 0x7f)
      text += static_cast<char>(letter);
    else
      text += std::string("\\x") + hex[letter / 16] + hex[letter % 16];
  }
  return "'" + (word.size() > 40 ? text + "..." : text) + "'";
}

using What = ListedAction::What;

struct Kind {
  std::string_view name;
  bool micro; ///< whether it must name a micro-batch
  int peer;   ///< it exchanges with the part before (-1) or after (1)
  bool listed = false;
  What what = What::Task;
  Phase phase = Phase::F;
};

constexpr Kind kinds[] = {
    {"F", true, 0, true, What::Task, Phase::F},
    {"I", true, 0, true, What::Task, Phase::B},
    {"B", true, 0, true, What::Task, Phase::B},
    {"W", true, 0, true, What::Task, Phase::W},
    {"SEND_F", true, 1, true, What::Send, Phase::F},
    {"RECV_F", true, -1, true, What::Receive, Phase::F},
    {"SEND_B", true, -1, true, What::Send, Phase::B},
    {"RECV_B", true, 1, true, What::Receive, Phase::B},
    {"WAIT_SEND_F", true, 1, true, What::Wait, Phase::F},
    {"WAIT_SEND_B", true, -1, true, What::Wait, Phase::B},
    {"UNSHARD", false, 0},
    {"RESHARD", false, 0},
    {"REDUCE_GRAD", false, 0},
    {"WAIT_REDUCE_GRAD", false, 0},
};

/// One action of the text.
struct Action {
  int part = 0; ///< virtual stage
  const Kind *kind = nullptr;
  int micro = -1;
  int row = 0; ///< from 0: the stage
  TextPlace at;
  std::string_view word;
  bool overlaps = false; ///< the task before it

  bool isTask() const { return kind->listed && kind->what == What::Task; }
};

class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  ReadSchedule run() {
    result.schedule.kind = "csv";
    if (text.size() > maximumScheduleText)
      error(TextPlace{}, "the schedule has " + std::to_string(text.size()) + " bytes, at most " + std::to_string(maximumScheduleText) +
                             " (16 MiB) are read");
    else if (readRows())
      build();
    sort(result.errors);
    return std::move(result);
  }

  /// Returns whether the text has any send, receive or wait.
  bool givesCommunications() const {
    return std::any_of(actions.begin(), actions.end(), [](const Action &action) { return action.kind->listed && !action.isTask(); });
  }

  /// Checks the sends and receives of a text that has no errors yet; the result is in the order of the text.
  std::vector<TextError> checkCommunications(const ReadSchedule &read, Sending sending) const {
    std::vector<std::vector<ListedAction>> lists(read.schedule.lists.size());
    std::vector<std::vector<TextPlace>> places(lists.size());
    for (const Action &action : actions)
      if (action.kind->listed) {
        lists[action.row].push_back({action.kind->what, action.kind->phase, action.kind->name, action.part, action.micro});
        places[action.row].push_back(action.at);
      }
    std::vector<TextError> errors;
    for (const CommunicationError &error : schedules::checkCommunications(read.schedule.placement, read.schedule.micros, lists, sending)) {
      errors.push_back({places[error.stage][error.place], error.stage, error.place, error.reason, true, {}});
      for (const CycleLink &link : error.cycle)
        errors.back().cycle.push_back(
            {nameOf(lists[link.stage][link.place]), places[link.stage][link.place], link.stage, link.place, link.otherEnd});
      errors.back().reason += describe(errors.back().cycle);
    }
    sort(errors);
    return errors;
  }

private:
  static void sort(std::vector<TextError> &errors) {
    std::stable_sort(errors.begin(), errors.end(), [](const TextError &a, const TextError &b) {
      return std::pair(a.at.row, a.at.column) < std::pair(b.at.row, b.at.column);
    });
  }

  /// `: it waits for '1RECV_F1' (2:14), which comes after '1SEND_B0' (2:7); that waits for ...`
  static std::string describe(const std::vector<TextLink> &cycle) {
    auto written = [](const TextLink &link) {
      return "'" + link.action + "' (" + std::to_string(link.at.row) + ":" + std::to_string(link.at.column) + ")";
    };
    std::string text;
    for (size_t i = 0; i < cycle.size() && i < mostCycleLinks; ++i) {
      const TextLink &next = cycle[(i + 1) % cycle.size()];
      text += (!cycle[i].otherEnd ? ", which comes after " : i == 0 ? ": it waits for " : "; that waits for ") + written(next);
    }
    return cycle.size() > mostCycleLinks ? text + "; and so on, over " + std::to_string(cycle.size() / 2) + " stages" : text;
  }

  void error(TextPlace at, const std::string &reason) {
    if (result.errors.size() < mostTextErrors)
      result.errors.push_back({at, at.row - 1, 0, reason, false, {}});
  }
  void error(const Action &action, const std::string &reason) { error(action.at, reason); }

  bool readRows() {
    size_t at = text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
    for (int row = 1; at < text.size(); ++row) {
      size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
      at = end + 1;
      for (size_t i = 0; i < line.size(); ++i)
        if (static_cast<unsigned char>(line[i]) < ' ' && line[i] != '\t') {
          error({row, static_cast<int>(i + 1), 1}, "this is binary data, not text: byte " + shown(line.substr(i, 1)));
          return false;
        }
      readRow(line, row);
      rowEnds.push_back({row, static_cast<int>(line.size() + 1), 1});
      if (result.errors.size() >= mostTextErrors || isFull)
        return false;
    }
    rowEnds.resize(lastFilled); // empty lines at the end are no stages
    return result.errors.empty();
  }

  void readRow(std::string_view line, int row) {
    for (size_t begin = 0; begin <= line.size();) {
      size_t comma = std::min(line.find(',', begin), line.size());
      size_t first = begin, last = comma;
      auto blank = [&](size_t i) { return line[i] == ' ' || line[i] == '\t'; };
      while (first < last && blank(first))
        ++first;
      while (last > first && blank(last - 1))
        --last;
      if (last - first >= 2 && line[first] == '"' && line[last - 1] == '"')
        ++first, --last;
      if (first < last) {
        readCell(line.substr(first, last - first), {row, static_cast<int>(first + 1), static_cast<int>(last - first)});
        lastFilled = row;
      }
      begin = comma + 1;
      if (result.errors.size() >= mostTextErrors || isFull)
        return;
    }
  }

  /// Reads a cell: an action, or two in `(0F3;1B2)OVERLAP_F_B`.
  void readCell(std::string_view cell, TextPlace at) {
    constexpr std::string_view overlap = ")OVERLAP_F_B";
    if (cell[0] != '(')
      return readAction(cell, at);
    if (cell.size() <= overlap.size() || cell.substr(cell.size() - overlap.size()) != overlap)
      return error(at, shown(cell) + " is no action; overlapped ones are written (0F3;1B2)OVERLAP_F_B");
    std::string_view inside = cell.substr(1, cell.size() - 1 - overlap.size());
    const size_t first = actions.size();
    for (size_t begin = 0; begin <= inside.size();) {
      size_t end = std::min(inside.find(';', begin), inside.size());
      TextPlace place{at.row, at.column + 1 + static_cast<int>(begin), static_cast<int>(std::max<size_t>(1, end - begin))};
      size_t before = actions.size();
      readAction(inside.substr(begin, end - begin), place);
      if (actions.size() > before && !actions.back().isTask())
        error(actions.back(), shown(actions.back().word) + " is not a compute action: only these can overlap");
      begin = end + 1;
    }
    if (actions.size() == first + 2 && canOverlap(actions[first], actions[first + 1]))
      actions.back().overlaps = true;
  }

  /// A forward and a backward of two micro-batches, of which none waits for the other. Other pairs are two actions, one after the other.
  static bool canOverlap(const Action &a, const Action &b) {
    if (!a.isTask() || !b.isTask() || a.micro == b.micro)
      return false;
    Phase one = a.kind->phase, other = b.kind->phase;
    return (one == Phase::F && other == Phase::B) || (one == Phase::B && other == Phase::F);
  }

  void readAction(std::string_view word, TextPlace at) {
    Action action{0, nullptr, -1, at.row - 1, at, word, false};
    size_t digits = 0, letters;
    auto digit = [&](size_t i) { return i < word.size() && word[i] >= '0' && word[i] <= '9'; };
    while (digit(digits))
      ++digits;
    for (letters = digits; letters < word.size() && !digit(letters);)
      ++letters;
    size_t rest = letters;
    while (digit(rest))
      ++rest;
    std::string_view name = word.substr(digits, letters - digits);
    for (const Kind &kind : kinds)
      if (kind.name == name)
        action.kind = &kind;
    if (digits == 0 || !action.kind || rest != word.size())
      return error(at, shown(word) + " is not an action: write virtual stage, kind (F, B, I or W) and micro-batch, such as 0F3");
    if (action.kind->micro && letters == word.size())
      return error(at, shown(word) + " lacks a micro-batch: write " + std::string(word) + "0 for the first");
    if (!number(word.substr(0, digits), maximumVirtualStages, action.part))
      return error(at, "the virtual stage of " + shown(word) + " is above " + std::to_string(maximumVirtualStages - 1));
    if (letters < word.size() && !number(word.substr(letters), maximumMicros, action.micro))
      return error(at, "the micro-batch of " + shown(word) + " is above " + std::to_string(maximumMicros - 1));
    if (actions.size() < maximumActions)
      return actions.push_back(action);
    if (!std::exchange(isFull, true))
      error(at, "the schedule has more than " + std::to_string(maximumActions) + " actions, the most that are read");
  }

  /// False when it is `limit` or more.
  static bool number(std::string_view digits, int limit, int &value) {
    value = 0;
    for (char digit : digits)
      if ((value = value * 10 + (digit - '0')) >= limit)
        return false;
    return true;
  }

  void build() {
    Schedule &schedule = result.schedule;
    size_t rows = rowEnds.size();
    std::vector<const Action *> first; // per virtual stage, its first compute action
    for (const Action &action : actions) {
      if (!action.isTask())
        continue;
      if (action.part >= static_cast<int>(first.size()))
        first.resize(action.part + 1);
      const Action *&owner = first[action.part];
      if (owner && owner->row != action.row)
        error(action, "virtual stage " + std::to_string(action.part) + " is in row " + std::to_string(owner->at.row) + " already (" +
                          shown(owner->word) + "): each is on one stage");
      owner = owner ? owner : &action;
      schedule.micros = std::max(schedule.micros, action.micro + 1);
    }
    if (first.empty())
      return error(TextPlace{}, text.empty() ? "the schedule is empty" : "the schedule has no compute action such as 0F0");
    std::vector<int> parts(rows, 0), chunkOf(first.size());
    for (size_t part = 0; part < first.size(); ++part) {
      if (!first[part]) {
        const Action &highest = *first.back();
        return error(highest, shown(highest.word) + " belongs to virtual stage " + std::to_string(highest.part) + ", but virtual stage " +
                                  std::to_string(part) + " has no compute action");
      }
      chunkOf[part] = parts[first[part]->row]++;
      schedule.placement.push_back(first[part]->row);
    }
    for (size_t row = 0; row < rows; ++row)
      if (parts[row] == 0)
        error({static_cast<int>(row + 1), 1, 1}, "this row has no compute action: each row is a stage");
      else if (parts[row] != parts[0])
        error({static_cast<int>(row + 1), 1, 1}, "this row holds " + std::to_string(parts[row]) +
                                                     (parts[row] == 1 ? " virtual stage" : " virtual stages") + ", row 1 holds " +
                                                     std::to_string(parts[0]) + ": all stages must hold equally many");
    if (!result.errors.empty())
      return;
    schedule.chunks = parts[0];
    schedule.lists.resize(rows);
    result.places.resize(rows);
    for (const Action &action : actions) {
      if (!action.isTask()) {
        checkDropped(action);
        continue;
      }
      schedule.lists[action.row].push_back({action.kind->phase, action.micro, chunkOf[action.part], action.overlaps});
      result.places[action.row].push_back(action.at);
    }
    for (size_t row = 0; row < rows; ++row)
      result.places[row].push_back(rowEnds[row]);
    checkSplit();
  }

  /// Checks that an action outside of the schedule, such as a send, is consistent with it.
  void checkDropped(const Action &action) {
    result.communications += action.kind->listed && action.kind->what != What::Wait;
    const Placement &placement = result.schedule.placement;
    int parts = static_cast<int>(placement.size()), peer = action.part + action.kind->peer;
    if (action.part >= parts || placement[action.part] != action.row)
      error(action,
            shown(action.word) + " belongs to virtual stage " + std::to_string(action.part) + ", which has no compute action in this row");
    else if (peer < 0 || peer >= parts)
      error(action, shown(action.word) + " has no peer: virtual stage " + std::to_string(action.part) +
                        (peer < 0 ? " is the first" : " is the last"));
    else if (action.kind->micro && action.micro >= result.schedule.micros)
      error(action,
            shown(action.word) + " is for no micro-batch: there are " + std::to_string(result.schedule.micros) + ", counted from 0");
  }

  /// PyTorch says by the word which backward it is: `I` is followed by its `W`, `B` is the whole.
  void checkSplit() {
    std::set<std::pair<int, int>> weights; // virtual stage, micro-batch
    for (const Action &action : actions)
      if (action.kind->name == "W")
        weights.emplace(action.part, action.micro);
    for (const Action &action : actions) {
      std::string part = std::to_string(action.part), micro = std::to_string(action.micro);
      bool split = weights.count({action.part, action.micro}) != 0;
      if (action.kind->name == "B" && split)
        error(action, shown(action.word) + " is the full backward, but there is '" + part + "W" + micro + "' as well: write " + part + "I" +
                          micro + " for the input part");
      if (action.kind->name == "I" && !split)
        error(action, shown(action.word) + " is the input part of a backward, but there is no '" + part + "W" + micro +
                          "': add it, or write " + part + "B" + micro + " for the full backward");
    }
  }

  std::string_view text;
  std::vector<Action> actions;
  std::vector<TextPlace> rowEnds;
  size_t lastFilled = 0; ///< the last row with an action
  bool isFull = false;   ///< one action more than are read
  ReadSchedule result;
};

std::set<std::pair<int, int>> splitOf(const std::vector<Task> &tasks) {
  std::set<std::pair<int, int>> split; // chunk, micro-batch
  for (const Task &task : tasks)
    if (task.phase == Phase::W)
      split.emplace(task.chunk, task.micro);
  return split;
}

std::string action(int part, const Task &task, bool split) {
  return std::to_string(part) + (task.phase == Phase::B && split ? 'I' : letter(task.phase)) + std::to_string(task.micro);
}

} // namespace

ReadSchedule parseCsv(std::string_view text) { return Reader(text).run(); }

ReadSchedule checkCsv(std::string_view text, Sending sending) {
  Reader reader(text);
  ReadSchedule read = reader.run();
  if (!read.errors.empty())
    return read;
  auto name = [&](int stage, const Task &task) { return actionName(read.schedule, stage, task); };
  for (const ScheduleError &error : validate(read.schedule, name))
    read.errors.push_back({read.places[error.stage][error.place], error.stage, error.place, error.reason, false, {}});
  if (read.errors.empty() && reader.givesCommunications())
    read.errors = reader.checkCommunications(read, sending);
  return read;
}

std::string printCsv(const Schedule &schedule) {
  std::string text;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const std::vector<Task> &tasks = schedule.lists[stage];
    std::set<std::pair<int, int>> split = splitOf(tasks);
    std::vector<int> parts;
    for (int chunk = 0; chunk < schedule.chunks; ++chunk)
      parts.push_back(schedule.place(stage, chunk));
    for (const Task &task : tasks) {
      bool opens = &task != &tasks.back() && (&task)[1].overlaps;
      text += task.overlaps ? ";" : &task == &tasks.front() ? "" : ",";
      text += (opens ? "(" : "") + action(parts[task.chunk], task, split.count({task.chunk, task.micro}) != 0);
      text += task.overlaps ? ")OVERLAP_F_B" : "";
    }
    text += '\n';
  }
  return text;
}

std::string actionName(const Schedule &schedule, int stage, const Task &task) {
  const std::vector<Task> &tasks = schedule.lists[stage];
  bool split = std::find(tasks.begin(), tasks.end(), Task{Phase::W, task.micro, task.chunk}) != tasks.end();
  return action(schedule.place(stage, task.chunk), task, split);
}

} // namespace npar::schedules
