// Outputs that are pipes: a reader may come later, and a signal that is held back ends the wait for it.
#include "engine/files/OutputFile.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

class PipeOutputTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/npar-pipe-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name, pipe = folder + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  }
  void TearDown() override { ::unlink(pipe.c_str()), ::rmdir(folder.c_str()); }

  std::string folder, pipe;
};

TEST_F(PipeOutputTest, TheReaderMayComeLater) {
  std::thread reader([&] {
    ::usleep(200000);
    int from = ::open(pipe.c_str(), O_RDONLY);
    char bytes[8] = "";
    EXPECT_EQ(::read(from, bytes, sizeof(bytes)), 3);
    EXPECT_STREQ(bytes, "abc");
    ::close(from);
  });
  auto output = files::OutputFile::create(pipe);
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_TRUE(output->write(0, "abc", 3).ok());
  EXPECT_TRUE(output->commit().ok());
  reader.join();
}

TEST_F(PipeOutputTest, ASignalThatIsHeldBackEndsTheWait) {
  sigset_t stop, before;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &stop, &before);
  ::pthread_kill(::pthread_self(), SIGTERM);
  auto output = files::OutputFile::create(pipe);
  int taken = 0;
  ::sigwait(&stop, &taken);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.status().message(), "cannot write '" + pipe + "': a signal came before a reader of the pipe");
}

} // namespace
} // namespace npar::testing
