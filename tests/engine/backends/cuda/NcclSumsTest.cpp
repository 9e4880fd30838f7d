// Sums that NCCL makes in its own order: near those in member order, and the same bits on all ranks.
#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Elements.h"
#include "tests/engine/backends/cuda/Joined.h"
#include "tests/engine/comm/ConformanceGroup.h"

#include <cstdlib>
#include <deque>

namespace npar::testing {
namespace {

using Bytes = std::vector<uint8_t>;

/// A collective of ranks, each in the process of its number; a part for each piece. `library`: of which parts.
struct Wanted {
  CollectiveKind kind;
  ElementType type;
  std::vector<int64_t> members;
  std::vector<uint64_t> pieces;
  std::vector<bool> library;
};

Bytes inputOf(ElementType type, uint64_t count, size_t rank) {
  Bytes bytes(count * program::sizeOf(type));
  for (uint64_t i = 0; i < count; ++i) {
    auto put = [&](auto element) { std::memcpy(&bytes[i * sizeof(element)], &element, sizeof(element)); };
    if (type == ElementType::BF16)
      put(engine::BFloat16(static_cast<float>(std::sin(double(rank * 131 + i * 17 + 1)))));
    else if (type == ElementType::F64)
      put(std::sin(double(rank * 131 + i * 17 + 1)));
    else
      put(static_cast<float>(std::sin(double(rank * 131 + i * 17 + 1))));
  }
  return bytes;
}

std::vector<double> numbersOf(ElementType type, const Bytes &bytes) {
  std::vector<double> all;
  for (size_t at = 0; at < bytes.size(); at += program::sizeOf(type)) {
    auto take = [&](auto element) {
      std::memcpy(&element, &bytes[at], sizeof(element));
      return element;
    };
    all.push_back(type == ElementType::BF16  ? static_cast<double>(static_cast<float>(take(engine::BFloat16())))
                  : type == ElementType::F64 ? take(0.0)
                                             : static_cast<double>(take(0.0f)));
  }
  return all;
}

/// One process's parts of the operations. Posts all of them in their order.
class Process {
public:
  Process(Joined &joined, uint32_t process, const std::vector<Wanted> &wanted)
      : joined(joined), backend(*joined.backends[process]), process(process) {
    for (size_t i = 0; i < wanted.size(); ++i)
      if (std::find(wanted[i].members.begin(), wanted[i].members.end(), process) != wanted[i].members.end())
        add(wanted[i], static_cast<uint32_t>(i));
  }
  ~Process() {
    for (const auto &[memory, bytes] : taken)
      backend.release(memory, bytes);
  }
  std::string prepare() {
    CommunicationPlan plan;
    for (uint32_t other = 0; other < joined.backends.size(); ++other)
      plan.sessionOf.push_back(other);
    plan.ranks = {process};
    for (const auto &[number, parts] : operations)
      plan.operations.push_back(&parts.front());
    return joined.communicators[process]->prepare(plan).message();
  }
  std::string run() {
    for (const auto &[number, parts] : operations)
      joined.communicators[process]->post(parts.front());
    std::string wrong;
    for (Answer &answer : answers)
      if (!answer.done() || !answer.status.ok())
        wrong = answer.calls == 0 ? "hangs" : answer.status.message();
    return wrong;
  }
  /// The output of a part of the operation with that number.
  Bytes output(uint32_t number, size_t part) {
    const Operation &operation = operations.at(number)[part];
    uint64_t count = operation.count;
    if (operation.kind == CollectiveKind::ReduceScatter)
      count /= operation.memberCount;
    if (operation.kind == CollectiveKind::AllGather)
      count *= operation.memberCount;
    Bytes bytes(count * program::sizeOf(operation.type));
    backend.copyOut(bytes.data(), operation.output, bytes.size());
    EXPECT_TRUE(waitUntilDone(backend).ok());
    return bytes;
  }

private:
  void add(const Wanted &wanted, uint32_t number) {
    std::deque<Operation> &parts = operations[number];
    uint64_t n = wanted.members.size();
    for (size_t i = 0; i < wanted.pieces.size(); ++i) {
      Operation &part = parts.emplace_back();
      part.kind = wanted.kind, part.type = wanted.type, part.event = number, part.tag = number, part.library = wanted.library[i];
      part.members = wanted.members.data(), part.memberCount = static_cast<uint32_t>(n);
      part.member = static_cast<uint32_t>(std::find(wanted.members.begin(), wanted.members.end(), process) - wanted.members.begin());
      part.split = wanted.kind == CollectiveKind::AllReduce ? 1 : wanted.pieces[i];
      part.count = wanted.pieces[i] * (wanted.kind == CollectiveKind::ReduceScatter ? n : 1);
      Bytes input = inputOf(wanted.type, part.count, process + 10 * i);
      part.input = take(input.size());
      backend.copyIn(part.input, input.data(), input.size());
      part.output = take(wanted.pieces[i] * program::sizeOf(wanted.type) * (wanted.kind == CollectiveKind::AllGather ? n : 1));
      EXPECT_TRUE(waitUntilDone(backend).ok());
    }
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      parts[i].next = &parts[i + 1];
    parts.front().completion = &answers.emplace_back();
  }
  DeviceAddress take(uint64_t bytes) {
    Result<DeviceAddress> memory = backend.allocate(bytes);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    taken.emplace_back(*memory, bytes);
    return *memory;
  }
  Joined &joined;
  Backend &backend;
  const uint32_t process;
  std::map<uint32_t, std::deque<Operation>> operations;
  std::deque<Answer> answers;
  std::vector<std::pair<DeviceAddress, uint64_t>> taken;
};

/// Outputs by process, operation and part.
using Outputs = std::vector<std::map<uint32_t, std::vector<Bytes>>>;

Outputs outputsOf(size_t processes, const std::vector<Wanted> &wanted) {
  Joined joined(processes);
  Outputs all(processes);
  std::vector<std::string> wrong = joined.told([&](uint32_t process) {
    Process own(joined, process, wanted);
    std::string wrong = own.prepare();
    wrong = wrong.empty() ? own.run() : wrong;
    for (uint32_t number = 0; number < wanted.size() && wrong.empty(); ++number)
      for (size_t part = 0; part < wanted[number].pieces.size(); ++part)
        if (const auto &members = wanted[number].members; std::find(members.begin(), members.end(), process) != members.end())
          all[process][number].push_back(own.output(number, part));
    return wrong;
  });
  EXPECT_EQ(wrong, std::vector<std::string>(processes));
  return all;
}

// Each operation runs once in member order and once so that the library can add it, with members in all groups of a 2 x 2 mesh of four
// processes. In a bucket the library adds only one of the parts.
TEST(NcclSums, areNearThoseInMemberOrderAndTheSameOnAllRanks) {
  std::vector<Wanted> wanted;
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather})
    for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16})
      for (const std::vector<int64_t> &members : {std::vector<int64_t>{0, 1, 2, 3}, {0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 2, 3}, {3, 1, 0}})
        for (bool library : {false, true})
          wanted.push_back({kind, type, members, {777, 50}, {library, false}});
  Outputs all = outputsOf(4, wanted);
  size_t others = 0;
  for (uint32_t number = 0; number < wanted.size(); number += 2) {
    const Wanted &each = wanted[number];
    double rounding = each.type == ElementType::BF16 ? 0.05 : each.type == ElementType::F64 ? 1e-14 : 1e-6;
    auto first = static_cast<size_t>(each.members[0]);
    for (int64_t member : each.members) {
      const auto &own = all[static_cast<size_t>(member)];
      const Bytes &ordered = own.at(number)[0], &library = own.at(number + 1)[0];
      std::vector<double> near = numbersOf(each.type, ordered), is = numbersOf(each.type, library);
      for (size_t i = 0; i < near.size(); ++i)
        ASSERT_NEAR(is[i], near[i], rounding) << "operation " << number << ", element " << i;
      EXPECT_EQ(own.at(number)[1], own.at(number + 1)[1]); // the part that is in member order
      others += ordered != library;
      // Two have one order only, and members that are not in the order of processes are not the library's.
      bool may = each.kind != CollectiveKind::AllGather && each.members.size() > 2 && each.members[0] == 0;
      EXPECT_EQ(ordered != library, may) << "operation " << number << ", member " << member;
      if (each.kind != CollectiveKind::ReduceScatter) {
        EXPECT_EQ(library, all[first].at(number + 1)[0]);
      }
    }
  }
  EXPECT_EQ(others, 2 * 3 * (4 + 3u));
}

TEST(NcclSums, anAbortEndsWorkOfAnyCommunicator) {
  Wanted sum{CollectiveKind::AllReduce, ElementType::F32, {0, 1}, {5000}, {true}};
  for (bool library : {false, true}) {
    if (library && !std::getenv("NPAR_LONG"))
      continue;
    Joined joined(2);
    std::vector<Wanted> two = {sum, sum};
    two[0].library = {library};
    std::vector<std::string> said = joined.told([&](uint32_t process) {
      Process own(joined, process, two);
      std::string wrong = own.prepare();
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (process == 0)
          joined.communicators[0]->abort(Status::runFailed("rank 9 broke"));
      });
      wrong = !wrong.empty() ? wrong : process == 0 ? own.run() : "";
      other.join();
      return wrong;
    });
    EXPECT_EQ(said, (std::vector<std::string>{"rank 9 broke", ""}));
  }
}

// A difference between processes ends with an error of the library, and the devices cannot be used any more.
TEST(NcclSums, sizesThatDifferAreNoticed) {
  Joined joined(2, /*required=*/true, /*devices=*/2, /*first=*/8);
  std::vector<uint8_t> job = *joined.backends[0]->network()->newJob();
  std::vector<std::string> said = joined.told([&](uint32_t process) {
    Backend &backend = *joined.backends[process];
    backend.enterThread();
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto goOn = [&] { return std::chrono::steady_clock::now() < end ? Status() : Status::runFailed("it takes too long"); };
    auto messages = backend.network()->join(job, 2, process, goOn);
    if (!messages.ok() || !(*messages)->makeGroups({{0, 1}}).ok())
      return messages.status().message() + " no groups";
    DeviceAddress memory = *backend.allocate(4096);
    backend.zero(memory, 4096);
    Status status = (*messages)->collect(0, {{CollectiveKind::AllReduce, ElementType::F32, memory, memory, 100 + process}});
    while (status.ok() && goOn().ok())
      status = (*messages)->health();
    (*messages)->abort();
    return status.message();
  });
  for (const std::string &words : said)
    EXPECT_NE(words.find("bytes where"), std::string::npos) << words;
}

} // namespace
} // namespace npar::testing
