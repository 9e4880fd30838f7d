// Operations reach a transport in the program's order, whatever order steps become ready in.
#include "engine/comm/ordered/OrderedCommunicator.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/comm/BytesCommunicator.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// Notes what it is given. Completes what is posted after an abort.
struct Notes final : Communicator {
  Status prepare(const CommunicationPlan &) override { return {}; }
  bool needsOrder() const override { return true; }
  void beginStep(int64_t trainingStep) override { step = trainingStep; }
  void post(const Operation &operation) override {
    posted.push_back(operation.tag);
    if (onPost)
      onPost(operation.tag);
    if (!reason.ok())
      operation.completion->completed(reason);
  }
  void abort(const Status &status) override { reason = status; }
  std::vector<PendingOperation> pending() const override { return {}; }
  Status abortedElsewhere() const override { return {}; }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double) override {
    return std::vector<std::vector<uint8_t>>{own};
  }
  int64_t step = -1;
  std::vector<uint64_t> posted;
  std::function<void(uint64_t)> onPost;
  Status reason;
};

struct Ended final : Completion {
  void completed(const Status &status) override { message = status.message(); }
  std::string message;
};

/// Three operations, with tags 5, 6 and 7, in this order.
struct OrderedCommunicatorTest : ::testing::Test {
  void SetUp() override {
    for (uint64_t i = 0; i < 3; ++i) {
      operations[i].tag = 5 + i, operations[i].members = members, operations[i].memberCount = 1;
      operations[i].completion = &ended[i];
      plan.operations.push_back(&operations[i]);
    }
    ASSERT_TRUE(ordered.prepare(plan).ok());
  }
  void post(uint64_t tag) { ordered.post(operations[tag - 5]); }

  const int64_t members[1] = {0};
  Operation operations[3];
  Ended ended[3];
  CommunicationPlan plan;
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
  OrderedCommunicator ordered{notes};
};

using Tags = std::vector<uint64_t>;

TEST_F(OrderedCommunicatorTest, everyTrainingStepHasTheSameOrder) {
  Tags order = {5, 6, 7}, all;
  do {
    for (uint64_t tag : order)
      post(tag);
    all.insert(all.end(), {5, 6, 7});
    EXPECT_EQ(notes->posted, all);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(OrderedCommunicatorTest, nothingOvertakes) {
  post(6);
  EXPECT_EQ(notes->posted, Tags{});
  ASSERT_EQ(ordered.pending().size(), 1u);
  EXPECT_EQ(ordered.pending()[0].tag, 6u);
  post(5);
  EXPECT_EQ(notes->posted, (Tags{5, 6}));
  EXPECT_TRUE(ordered.pending().empty());
}

// An operation that a completion starts from within `post` is posted by the thread that is posting.
TEST_F(OrderedCommunicatorTest, aPostMayLeadToTheNext) {
  notes->onPost = [&](uint64_t tag) {
    if (tag == 5)
      post(6);
  };
  post(7);
  post(5);
  EXPECT_EQ(notes->posted, (Tags{5, 6, 7}));
}

TEST_F(OrderedCommunicatorTest, anAbortEndsWhatWaitsForItsTurn) {
  post(6);
  ordered.abort(Status::runFailed("rank 9 broke"));
  post(7);
  EXPECT_EQ(ended[1].message, "rank 9 broke");
  EXPECT_EQ(ended[2].message, "rank 9 broke");
}

/// Two sessions with one rank each over a transport that matches by order do two all_reduces, which become ready in opposite orders.
struct Opposite {
  explicit Opposite(bool ordered) {
    auto queues = std::make_shared<ByteQueues>(2);
    BytesOptions byOrder;
    byOrder.matchByOrder = true;
    for (uint32_t session = 0; session < 2; ++session) {
      communicators[session] = std::make_shared<BytesCommunicator>(backend, queues, session, byOrder);
      if (ordered)
        communicators[session] = std::make_shared<OrderedCommunicator>(communicators[session]);
      CommunicationPlan plan;
      plan.sessionOf = {0, 1}, plan.ranks = {session};
      for (uint32_t event = 0; event < 2; ++event) {
        Operation &operation = operations[session][event];
        operation.event = event, operation.tag = event, operation.count = 4 + 4 * event;
        operation.members = members, operation.memberCount = 2, operation.member = session;
        operation.input = operation.output = *backend.allocate(32);
        operation.completion = &answers[session][event];
        plan.operations.push_back(&operation);
      }
      EXPECT_TRUE(communicators[session]->prepare(plan).ok());
    }
    for (uint32_t i = 0; i < 2; ++i)
      communicators[0]->post(operations[0][i]), communicators[1]->post(operations[1][1 - i]);
  }
  ~Opposite() {
    for (auto &session : operations)
      for (Operation &operation : session)
        backend.release(operation.output, 32);
  }
  struct Answer final : Completion {
    void completed(const Status &status) override { promise.set_value(status.message()); }
    std::promise<std::string> promise;
    std::future<std::string> future = promise.get_future();
  };
  /// "late" when it takes 5 s.
  std::string answer(size_t session, size_t event) {
    std::future<std::string> &future = answers[session][event].future;
    return future.wait_for(std::chrono::seconds(5)) == std::future_status::ready ? future.get() : "late";
  }
  const int64_t members[2] = {0, 1};
  CpuBackend backend{Spread{}};
  Operation operations[2][2];
  Answer answers[2][2];
  std::shared_ptr<Communicator> communicators[2];
};

TEST(OrderOfTransportsTest, isKeptForThoseThatNeedIt) {
  Opposite kept(/*ordered=*/true), broken(/*ordered=*/false);
  for (size_t session = 0; session < 2; ++session)
    for (size_t event = 0; event < 2; ++event) {
      EXPECT_EQ(kept.answer(session, event), "");
      EXPECT_NE(broken.answer(session, event).find("members disagree: number of elements"), std::string::npos);
    }
}

} // namespace
} // namespace npar::testing
