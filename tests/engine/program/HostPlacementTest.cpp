// Compares the placement of ranks on hosts and in processes with maps written out by hand; refusals name placements that work.
#include "engine/program/HostPlacement.h"
#include "tests/engine/program/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

/// A mesh with its batch over `data` and its pipeline over `pipeline` (mesh axis indices; -1: none), packed.
class Mesh {
public:
  Mesh(const std::vector<std::pair<std::string, uint32_t>> &axes, std::vector<uint32_t> data, int pipeline) {
    ProgramT program = emptyProgram(axes, 1);
    program.data_axes = std::move(data);
    for (uint32_t stage = 0; stage < (pipeline < 0 ? 1 : axes[static_cast<size_t>(pipeline)].second); ++stage)
      addClass(program, "stage" + std::to_string(stage),
               pipeline < 0 ? std::map<uint32_t, uint32_t>{} : std::map<uint32_t, uint32_t>{{static_cast<uint32_t>(pipeline), stage}});
    builder.Finish(Program::Pack(builder, &program));
  }
  const Program &root() const { return *flatbuffers::GetRoot<Program>(builder.GetBufferPointer()); }

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// dp = 2, pp = 2, tp = 2: rank = 4 dp + 2 pp + tp.
Mesh cube() { return Mesh({{"dp", 2}, {"pp", 2}, {"tp", 2}}, {0}, 1); }

PlaceWords words(const std::string &text) {
  engine::Result<PlaceWords> read = readPlace(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status().message();
  return read.ok() ? *read : PlaceWords{};
}

std::vector<HostRoom> hosts(size_t count, int64_t each) {
  std::vector<HostRoom> rooms;
  for (size_t i = 0; i < count; ++i)
    rooms.push_back({"host" + std::to_string(i), each});
  return rooms;
}

Lists placed(const Mesh &mesh, const PlaceWords &words, const std::vector<HostRoom> &rooms) {
  engine::Result<Lists> result = placeOnHosts(mesh.root(), words, rooms);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : Lists{};
}

std::string refusal(const engine::Result<Lists> &result) { return result.ok() ? "accepted" : result.status().message(); }

// The tables that SageMaker's documentation gives for 8 devices: cluster is DPT, spread is TPD, and PTD.
TEST(HostPlacement, OrdersAsTheLettersDo) {
  Mesh mesh = cube();
  EXPECT_EQ(placed(mesh, {}, hosts(1, 8)), (Lists{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(placed(mesh, words("cluster"), hosts(1, 8)), (Lists{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(placed(mesh, words("spread"), hosts(1, 8)), (Lists{{0, 4, 2, 6, 1, 5, 3, 7}}));
  EXPECT_EQ(placed(mesh, words("tp, pp, dp"), hosts(1, 8)), (Lists{{0, 4, 2, 6, 1, 5, 3, 7}}));
  EXPECT_EQ(placed(mesh, words("pp,tp,dp"), hosts(1, 8)), (Lists{{0, 4, 1, 5, 2, 6, 3, 7}}));
}

// The words go by what axes are for, not by the order in which the mesh has them; axes of one kind keep that order.
TEST(HostPlacement, WordsGoByTheKindOfAxis) {
  Mesh mesh({{"tp", 2}, {"node", 2}, {"pp", 2}, {"dp", 2}, {"cp", 2}}, {1, 3}, 2);
  engine::Result<PlaceOrder> cluster = placeOrder(mesh.root(), words("cluster")), spread = placeOrder(mesh.root(), words("spread"));
  EXPECT_EQ(cluster->axes, (std::vector<uint32_t>{1, 3, 2, 0, 4}));
  EXPECT_EQ(spread->axes, (std::vector<uint32_t>{0, 4, 2, 1, 3}));
  engine::Result<PlaceOrder> inside = placeOrder(mesh.root(), words("spread inside tp"));
  EXPECT_EQ(inside->axes, (std::vector<uint32_t>{4, 2, 1, 3, 0}));
  EXPECT_EQ(inside->inside, 1u);
}

// Groups along an axis that stays inside are whole on every host, in the mesh's order except for these axes.
TEST(HostPlacement, KeepsGroupsInsideAHost) {
  Mesh mesh = cube();
  EXPECT_EQ(placed(mesh, words("pp, dp inside tp"), hosts(2, 4)), (Lists{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(placed(mesh, words("inside dp"), hosts(4, 2)), (Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(placed(mesh, words("inside tp, dp"), {{"a", 8}}), (Lists{{0, 4, 1, 5, 2, 6, 3, 7}}));
  EXPECT_EQ(refusal(placeOnHosts(mesh.root(), words("inside tp, dp"), hosts(4, 2))),
            "--place: a host of 2 ranks has no room for whole groups of 4 that stay inside a host (tp = 2, dp = 2); hosts of 4 or 8 ranks "
            "would do");
  Mesh three({{"dp", 4}, {"tp", 3}}, {0}, -1);
  EXPECT_EQ(refusal(placeOnHosts(three.root(), words("dp inside tp"), {{"a", 8}, {"b", 4}})),
            "--place: host 'a' of 8 ranks has no room for whole groups of 3 that stay inside a host (tp = 3); hosts of 3, 6 or 12 ranks "
            "would do");
  EXPECT_EQ(placed(three, words("dp inside tp"), {{"a", 9}, {"b", 3}}), (Lists{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11}}));
}

TEST(HostPlacement, RefusesHostsOfOtherNumbersOfRanks) {
  Mesh mesh = cube();
  EXPECT_EQ(
      refusal(placeOnHosts(mesh.root(), {}, hosts(2, 8))),
      "2 hosts of 8 ranks hold 16, and the plan has 8 ranks (dp = 2, pp = 2, tp = 2); one host of 8 ranks or 2 hosts of 4 ranks would "
      "do");
  EXPECT_EQ(refusal(placeOnHosts(mesh.root(), {}, hosts(3, 2))),
            "3 hosts of 2 ranks hold 6, and the plan has 8 ranks (dp = 2, pp = 2, tp = 2); 4 hosts of 2 ranks would do");
  EXPECT_EQ(refusal(placeOnHosts(mesh.root(), {}, hosts(1, 1))),
            "one host of 1 rank holds 1, and the plan has 8 ranks (dp = 2, pp = 2, tp = 2); 8 hosts of 1 rank would do");
  EXPECT_EQ(refusal(placeOnHosts(mesh.root(), {}, hosts(3, 5))),
            "3 hosts of 5 ranks hold 15, and the plan has 8 ranks (dp = 2, pp = 2, tp = 2); 1, 2, 4 or 8 hosts can share them equally");
}

TEST(HostPlacement, RefusesWrongNames) {
  Mesh mesh = cube();
  auto wrong = [&](const std::string &text) { return refusal(placeOnHosts(mesh.root(), words(text), hosts(1, 8))); };
  EXPECT_EQ(wrong("dp, pp, xp"), "--place: unknown mesh axis 'xp'; the mesh has dp = 2, pp = 2, tp = 2");
  EXPECT_EQ(wrong("dp, pp"), "--place: mesh axis 'tp' of size 2 is missing; name all of dp = 2, pp = 2, tp = 2");
  EXPECT_EQ(wrong("dp, pp, dp"), "--place: mesh axis 'dp' is given twice");
  EXPECT_EQ(wrong("dp, pp, tp inside tp"), "--place: mesh axis 'tp' is given twice");
  EXPECT_EQ(wrong("cluster, dp"), "--place: 'cluster' orders all mesh axes and must be the only word");
  EXPECT_EQ(wrong("inside spread"), "--place: 'spread' orders all mesh axes and must be the only word");
  for (const char *text : {"", " ", ",", "dp,", "dp,,tp", ",dp", "dp inside", "inside", "dp inside tp inside pp", "dp, inside tp"})
    EXPECT_FALSE(readPlace(text).ok()) << text;
}

// A place may omit axes of one rank; an axis that was cut for a product axis keeps its name.
TEST(HostPlacement, KnowsSmallAxesAndParts) {
  Mesh small({{"dp", 4}, {"tp", 1}}, {0}, -1);
  EXPECT_EQ(placed(small, words("dp"), hosts(2, 2)), (Lists{{0, 1}, {2, 3}}));
  Mesh cut({{"dp", 2}, {"tp.0", 2}, {"tp.1", 2}, {"tps", 1}}, {0}, -1);
  EXPECT_EQ(placed(cut, words("tp, dp"), hosts(2, 4)), (Lists{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(placeOrder(cut.root(), words("dp inside tp"))->inside, 2u);
}

// Processes of a host need not be next to each other: hosts fill up by their lowest process.
TEST(HostPlacement, GivesProcessesTheirRanks) {
  Mesh mesh = cube();
  auto of = [&](const PlaceWords &place, const std::vector<std::string> &names) {
    engine::Result<Lists> result = ranksOfProcesses(mesh.root(), place, names);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : Lists{};
  };
  EXPECT_EQ(of({}, {"a"}), (Lists{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(of({}, {"a", "a", "b", "b"}), (Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(of({}, {"a", "b", "a", "b"}), (Lists{{0, 1}, {4, 5}, {2, 3}, {6, 7}}));
  EXPECT_EQ(of({}, {"a", "b", "b", "b"}), (Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(of(words("spread"), {"a", "a", "b", "b"}), (Lists{{0, 4}, {2, 6}, {1, 5}, {3, 7}}));
}

TEST(HostPlacement, RefusesUnequalProcesses) {
  Mesh mesh = cube();
  EXPECT_EQ(refusal(ranksOfProcesses(mesh.root(), {}, std::vector<std::string>(3, "a"))),
            "3 processes cannot share 8 ranks (dp = 2, pp = 2, tp = 2) equally; 1, 2, 4 or 8 processes would do");
  EXPECT_EQ(refusal(ranksOfProcesses(mesh.root(), {}, std::vector<std::string>(16, "a"))),
            "16 processes cannot share 8 ranks (dp = 2, pp = 2, tp = 2) equally; 1, 2, 4 or 8 processes would do");
  EXPECT_EQ(
      refusal(ranksOfProcesses(mesh.root(), words("dp inside pp, tp"), {"a", "b", "b", "b"})),
      "--place: host 'a' of 2 ranks has no room for whole groups of 4 that stay inside a host (pp = 2, tp = 2); hosts of 4 or 8 ranks "
      "would do");
}

// Every rank has one place, whatever the order, on a mesh of a million ranks too.
TEST(HostPlacement, PlacesEachRankOnce) {
  Mesh large({{"dp", 64}, {"pp", 64}, {"cp", 16}, {"tp", 16}}, {0}, 1);
  Lists lists = placed(large, words("cp, pp, dp inside tp"), hosts(1 << 13, 128));
  std::vector<bool> seen(1 << 20);
  for (const std::vector<int64_t> &host : lists) {
    ASSERT_EQ(host.size(), 128u);
    for (int64_t rank : host) {
      ASSERT_FALSE(seen[static_cast<size_t>(rank)]);
      seen[static_cast<size_t>(rank)] = true;
    }
  }
}

} // namespace
} // namespace npar::program
