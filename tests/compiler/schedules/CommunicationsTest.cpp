// Communications in a schedule's text: actions that are missing, duplicated, misplaced or wait for ever are reported with their place. A
// second, independent check confirms the result.
#include "compiler/schedules/Text.h"

#include "Make.h"

#include <map>
#include <random>

namespace npar::schedules {

static std::string errors(const std::string &text, Sending sending = Sending::Rendezvous) {
  std::string result;
  for (const TextError &error : checkCsv(text, sending).errors)
    result += std::to_string(error.at.row) + ":" + std::to_string(error.at.column) + ": " + error.reason + "\n";
  return result;
}

// The order of pytorch#172668: stage 0 sends its second activation before it takes the first gradient, stage 1 the other way round.
TEST(Communications, CycleOfSends) {
  const std::string text = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                           "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  ReadSchedule read = checkCsv(text);
  ASSERT_EQ(read.errors.size(), 1u);
  const TextError &error = read.errors[0];
  EXPECT_EQ(error.reason, "'0SEND_F1' never ends: it waits for '1RECV_F1' (2:27), which comes after '1SEND_B0' (2:18); that waits for "
                          "'0RECV_B0' (1:27), which comes after '0SEND_F1' (1:18)");
  EXPECT_TRUE(error.ofCommunication);
  EXPECT_EQ(error.place, 3);
  ASSERT_EQ(error.cycle.size(), 4u);
  EXPECT_EQ(error.cycle[2].action, "1SEND_B0");
  EXPECT_EQ(error.cycle[2].place, 3);
  EXPECT_EQ(read.communications, 8);
  EXPECT_EQ(errors(text, Sending::Eager), "");
  EXPECT_EQ(errors("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                   "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"),
            "");
}

TEST(Communications, AllOrNone) {
  EXPECT_EQ(errors("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n"),
            "2:14: '1SEND_B0' is missing: a file that gives communications must give all of them; write it after '1B0'\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n"),
            "2:1: '1RECV_F0' is missing: a file that gives communications must give all of them; write it before '1F0'\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"), "1:14: '0SEND_F0' appears twice\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1RECV_F0,1B0,1SEND_B0\n"), "2:14: '1RECV_F0' appears twice\n");
}

TEST(Communications, BehindTheirTaskAndBeforeTheirUse) {
  EXPECT_EQ(errors("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "1:1: '0SEND_F0' comes before '0F0', which makes what it sends\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n"),
            "2:5: '1RECV_F0' comes after '1F0', which uses what it receives\n");
  // If a backward is split, its input part makes and uses gradients.
  EXPECT_EQ(errors("0F0,0SEND_F0,0I0,0RECV_B0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0\n"),
            "1:18: '0RECV_B0' comes after '0I0', which uses what it receives\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0WAIT_SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"), "");
  EXPECT_EQ(errors("0F0,0WAIT_SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "1:5: '0WAIT_SEND_F0' waits for a send that does not precede it\n");
}

TEST(Communications, BetweenStagesOnly) {
  // Parts 1 and 2 are on one stage: nothing travels there.
  EXPECT_EQ(errors("0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n"), "");
  EXPECT_EQ(
      errors(
          "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n"),
      "2:14: '1SEND_F0' is within this row, which holds virtual stages 1 and 2: nothing travels, remove it\n"
      "2:23: '2RECV_F0' is within this row, which holds virtual stages 1 and 2: nothing travels, remove it\n");
  EXPECT_EQ(errors("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0,0SEND_F0\n"),
            "2:27: '0SEND_F0' belongs to virtual stage 0, which has no compute action in this row\n");
  EXPECT_EQ(errors("0F0,(0SEND_F0;0RECV_B0)OVERLAP_F_B,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "1:6: '0SEND_F0' is not a compute action: only these can overlap\n1:15: '0RECV_B0' is not a compute action: only these can "
            "overlap\n");
}

// Messages carry no names: what is taken first is what was sent first.
TEST(Communications, EagerMessagesArriveInOrder) {
  const std::string text = "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
                           "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
  EXPECT_EQ(errors(text, Sending::Eager),
            "2:1: '1RECV_F0' would take what '0SEND_F1' sent: messages from stage 0 arrive in the order in which it sends them\n"
            "2:14: '1RECV_F1' would take what '0SEND_F0' sent: messages from stage 0 arrive in the order in which it sends them\n");
  EXPECT_EQ(errors(text).find("1:9: '0SEND_F1' never ends"), 0u) << errors(text);
}

/// The actions of each stage, which a text has one after the other.
using Words = std::vector<std::vector<std::string>>;

static std::string join(const Words &words) {
  std::string text;
  for (const std::vector<std::string> &row : words) {
    for (size_t i = 0; i < row.size(); ++i)
      text += (i ? "," : "") + row[i];
    text += '\n';
  }
  return text;
}

/// The words of a schedule with a send somewhere after what makes it and a receive somewhere before what uses it. `spread`: how far.
static Words withCommunications(const Schedule &schedule, std::mt19937 &chance, int spread) {
  Words words(schedule.lists.size());
  int last = static_cast<int>(schedule.placement.size()) - 1;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    std::multimap<double, std::string> row; // by place, after or before the task's own
    for (size_t i = 0; i < schedule.lists[stage].size(); ++i) {
      const Task &task = schedule.lists[stage][i];
      int part = schedule.place(stage, task.chunk), step = task.phase == Phase::F ? 1 : -1;
      std::string letter = task.phase == Phase::F ? "F" : "B", micro = std::to_string(task.micro);
      auto away = [&] { return 0.25 + (chance() % 1000) * 1e-4 + chance() % (spread + 1); };
      auto other = [&](int peer) { return peer >= 0 && peer <= last && schedule.placement[peer] != stage; };
      row.emplace(i, actionName(schedule, stage, task));
      if (task.phase != Phase::W && other(part - step))
        row.emplace(i - away(), std::to_string(part) + "RECV_" + letter + micro);
      if (task.phase != Phase::W && other(part + step))
        row.emplace(i + away(), std::to_string(part) + "SEND_" + letter + micro);
    }
    for (const auto &[place, word] : row)
      words[stage].push_back(word);
  }
  return words;
}

/// Returns whether all actions complete, found differently than by the check: in rounds over all stages on the words themselves, until none
/// advances.
static bool allEnd(const Words &words, Sending sending) {
  std::map<std::string, std::pair<size_t, size_t>> where;
  for (size_t stage = 0; stage < words.size(); ++stage)
    for (size_t place = 0; place < words[stage].size(); ++place)
      where[words[stage][place]] = {stage, place};
  auto partner = [&](const std::string &word) -> std::string {
    size_t mark = word.find("SEND_"), receive = word.find("RECV_");
    if (mark == std::string::npos && receive == std::string::npos)
      return "";
    size_t at = std::min(mark, receive);
    bool forward = word[at + 5] == 'F', sends = mark != std::string::npos;
    int part = std::stoi(word.substr(0, at)) + (forward == sends ? 1 : -1);
    return std::to_string(part) + (sends ? "RECV_" : "SEND_") + word.substr(at + 5);
  };
  std::vector<size_t> next(words.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < words.size(); ++stage) {
      if (next[stage] == words[stage].size())
        continue;
      const std::string &word = words[stage][next[stage]];
      std::string other = partner(word);
      if (other.empty() || (sending == Sending::Eager && word.find("SEND") != std::string::npos)) {
        ++next[stage], moved = true;
        continue;
      }
      auto [peer, place] = where.at(other);
      if (sending == Sending::Eager ? next[peer] > place : next[peer] == place) {
        ++next[stage], moved = true;
        next[peer] += sending == Sending::Rendezvous;
      }
    }
  }
  for (size_t stage = 0; stage < words.size(); ++stage)
    if (next[stage] < words[stage].size())
      return false;
  return true;
}

/// Expects that each link of a cycle is valid: the two ends of a message, or an earlier place in a row.
static void isCycle(const TextError &error, const Words &words) {
  for (size_t i = 0; i < error.cycle.size(); ++i) {
    const TextLink &link = error.cycle[i], &next = error.cycle[(i + 1) % error.cycle.size()];
    EXPECT_EQ(words[link.stage][link.place], link.action);
    if (link.otherEnd) {
      EXPECT_NE(link.stage, next.stage);
      EXPECT_EQ(link.action.substr(link.action.find('_')), next.action.substr(next.action.find('_')));
      EXPECT_NE(link.action.find("SEND") == std::string::npos, next.action.find("SEND") == std::string::npos);
    } else {
      EXPECT_EQ(link.stage, next.stage);
      EXPECT_GT(link.place, next.place);
    }
  }
}

TEST(Communications, FindsWhatASimulationFinds) {
  std::mt19937 chance(5);
  std::map<std::pair<Sending, bool>, int> seen;
  for (int trial = 0; trial < 800; ++trial) {
    const ScheduleKind &kind = scheduleKinds()[chance() % scheduleKinds().size()];
    Request request;
    request.stages = 2 + static_cast<int>(chance() % 4), request.micros = 1 + static_cast<int>(chance() % 6);
    Made made = makeSchedule(kind, request);
    if (!made.refusal.empty())
      continue;
    for (std::vector<Task> &tasks : made.schedule.lists)
      for (Task &task : tasks)
        task.overlaps = false; // the text has every action in a cell of its own
    Words words = withCommunications(made.schedule, chance, static_cast<int>(chance() % 4));
    for (Sending sending : {Sending::Rendezvous, Sending::Eager}) {
      ReadSchedule read = checkCsv(join(words), sending);
      bool disordered = !read.errors.empty() && read.errors[0].reason.find("would take what") != std::string::npos;
      bool good = allEnd(words, sending);
      SCOPED_TRACE(join(words));
      if (disordered) { // eager alone, and then a rendezvous would be a cycle
        EXPECT_EQ(sending, Sending::Eager);
        EXPECT_FALSE(allEnd(words, Sending::Rendezvous));
        continue;
      }
      EXPECT_EQ(read.errors.empty(), good);
      ++seen[{sending, good}];
      for (const TextError &error : read.errors)
        isCycle(error, words);
      EXPECT_EQ(read.schedule, made.schedule);
    }
  }
  EXPECT_GT((seen[{Sending::Rendezvous, true}]), 50);
  EXPECT_GT((seen[{Sending::Rendezvous, false}]), 50);
  EXPECT_GT((seen[{Sending::Eager, true}]), 50);
}

} // namespace npar::schedules
