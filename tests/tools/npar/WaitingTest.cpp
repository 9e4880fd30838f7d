// Operations longer than two seconds report progress; shorter ones print nothing.
#include "tools/npar/terminal/Waiting.h"

#include <gtest/gtest.h>

namespace npar::driver {
namespace {

using namespace std::chrono_literals;

TEST(WaitingTest, speaksAfterTwoSecondsAndNamesThePhase) {
  ::testing::internal::CaptureStderr();
  {
    Waiting waiting("setting up");
    waiting.phase("taking memory");
    std::this_thread::sleep_for(2300ms);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "npar: setting up: taking memory, 2 s\n");
}

TEST(WaitingTest, speaksOnceForWhatIsInsideOfIt) {
  ::testing::internal::CaptureStderr();
  {
    Waiting waiting("verifying");
    waiting.phase("twice");
    {
      Waiting inside("setting up");
      std::this_thread::sleep_for(2300ms);
      inside.phase("taking memory");
    }
    EXPECT_EQ(waiting.phase(""), "twice");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "npar: verifying: setting up, 2 s\n");
}

TEST(WaitingTest, endsAtOnceAndSilently) {
  ::testing::internal::CaptureStderr();
  auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i)
    Waiting("compiling").phase("a pass");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

} // namespace
} // namespace npar::driver
