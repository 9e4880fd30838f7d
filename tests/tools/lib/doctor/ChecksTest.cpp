// Each fault of a machine is found by one check, with what to do, and a sound machine has none.
#include "tools/lib/doctor/Checks.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sys/stat.h>

namespace npar::doctor {
namespace {

using engine::Status;

constexpr uint64_t gigabyte = uint64_t{1} << 30;

/// A sound machine with a GPU; a test changes one thing.
class Machine : public Surroundings {
public:
  Machine() {
    found.processor = {"Processor 9", 8, {}, "avx2", 32 * gigabyte, 16 * gigabyte};
    found.gpus = {{"GPU X", "sm_90", 132, 80 * gigabyte, 79 * gigabyte, {}, ""}};
    found.driver = "13.0", found.cublasLt = "13.1", found.cudnn = "9.19", found.nccl = "2.28.9", found.target = "sm_90";
  }
  const char *variable(const char *name) const override {
    auto value = variables.find(name);
    return value == variables.end() ? nullptr : value->second.c_str();
  }
  devices::DeviceSurvey devices() const override { return found; }
  std::optional<bool> hasFeature(std::string_view name) const override { return name != lacking; }
  engine::MachineMemory memory() const override { return {freeMemory, "the machine's free memory"}; }
  std::optional<double> processorQuota() const override { return quota; }
  Status startThreads(int) const override { return threads; }
  std::optional<DiskSpace> space(const std::string &) const override { return disk; }
  std::vector<MpiState> mpi() const override { return mpis; }
  int64_t seconds() const override { return now; }
  std::optional<ClockState> clock() const override { return wall; }
  Status listenAt(uint32_t, uint16_t port) const override { return port == busy ? Status::badInput("port 5000 is in use") : Status(); }
  std::vector<uint32_t> addresses() const override { return own; }

  std::map<std::string, std::string> variables;
  devices::DeviceSurvey found;
  std::string lacking;
  uint64_t freeMemory = 16 * gigabyte;
  std::optional<double> quota;
  Status threads;
  std::optional<DiskSpace> disk = DiskSpace{50 * gigabyte, 1000, false};
  std::vector<MpiState> mpis = {{"MPICH", "/usr/bin/mpiexec.mpich", {}}};
  int64_t now = 1800000000;
  std::optional<ClockState> wall = ClockState{true, 0.01};
  int busy = -1;
  std::vector<uint32_t> own = {0x0200000a};
};

class ChecksTest : public ::testing::Test {
protected:
  ChecksTest() {
    char pattern[] = "/tmp/npar-doctor-XXXXXX";
    folder = mkdtemp(pattern);
    ::setenv("NPAR_CACHE", (folder + "/cache").c_str(), 1);
  }
  ~ChecksTest() override {
    ::unsetenv("NPAR_CACHE");
    std::filesystem::remove_all(folder);
  }
  /// The findings that are not ok, each as "check: state: text: fix".
  std::vector<std::string> faults() const {
    std::vector<std::string> all;
    for (const Finding &finding : checkAll(machine, "library", 3))
      if (finding.health != Health::Ok)
        all.push_back(finding.check + ": " + wordOf(finding.health) + ": " + finding.text + ": " + finding.fix);
    return all;
  }
  /// Expects one fault, with these words.
  void expectFault(const std::string &begin, const std::string &words) const {
    std::vector<std::string> all = faults();
    ASSERT_EQ(all.size(), 1u) << ::testing::PrintToString(all);
    EXPECT_EQ(all[0].rfind(begin, 0), 0u) << all[0];
    EXPECT_NE(all[0].find(words), std::string::npos) << all[0];
  }
  std::string folder;
  Machine machine;
};

TEST_F(ChecksTest, ASoundMachineHasNoFaults) {
  machine.variables["NPAR_JOB_SECRET"] = "0123456789abcdef0123";
  EXPECT_EQ(faults(), std::vector<std::string>());
  EXPECT_EQ(checkAll(machine, "library", 3).size(), 12u);
  EXPECT_FALSE(std::filesystem::exists(folder + "/cache")) << "the doctor makes nothing";
}

TEST_F(ChecksTest, WithoutASecretThereIsANote) { expectFault("job secret: note: not set", "export NPAR_JOB_SECRET="); }

class FaultTest : public ChecksTest {
protected:
  FaultTest() { machine.variables["NPAR_JOB_SECRET"] = "0123456789abcdef0123"; }
};

TEST_F(FaultTest, Processor) {
  machine.lacking = "sse4.2";
  expectFault("processor: fix: ", "it lacks sse4.2: use a processor of class x86-64-v2");
  machine.lacking = "avx512vl";
  EXPECT_NE(checkProcessor(machine, machine.found.processor).text.find("class x86-64-v3;"), std::string::npos);
  machine.variables["NPAR_INSTRUCTIONS"] = "fast";
  expectFault("processor: fix: ", "unset NPAR_INSTRUCTIONS");
  machine.variables["NPAR_INSTRUCTIONS"] = "plain";
  EXPECT_NE(checkProcessor(machine, machine.found.processor).text.find("products use plain"), std::string::npos);
}

TEST_F(FaultTest, Memory) {
  machine.freeMemory = gigabyte / 4;
  expectFault("memory: fix: 256 MiB free", "npar needs 512 MiB");
}

TEST_F(FaultTest, Cores) {
  machine.quota = 2.5;
  expectFault("cores: fix: 8, but the control group allows the time of 2.5", "--threads 2");
  machine.quota = 8;
  EXPECT_EQ(faults().size(), 0u);
  machine.threads = Status::runFailed("the system starts 3 threads of 8");
  expectFault("cores: fix: ", "3 threads of 8");
}

TEST_F(FaultTest, Library) {
  EXPECT_EQ(checkLibrary("/nowhere", 0).health, Health::Problem);
  EXPECT_NE(checkLibrary("/nowhere", 0).fix.find("NPAR_STDLIB"), std::string::npos);
}

TEST_F(FaultTest, Cache) {
  ASSERT_EQ(::mkdir((folder + "/cache").c_str(), 0700), 0);
  EXPECT_EQ(faults().size(), 0u);
  ASSERT_EQ(::chmod((folder + "/cache").c_str(), 0777), 0);
  expectFault("cache: fix: ", "chmod go-w");
  std::ofstream(folder + "/file") << "text";
  ::setenv("NPAR_CACHE", (folder + "/file/cache").c_str(), 1);
  expectFault("cache: fix: ", "set NPAR_CACHE to a folder of your own");
  if (::geteuid() != 0) { // root writes anywhere
    ASSERT_EQ(::chmod((folder + "/cache").c_str(), 0500), 0);
    ::setenv("NPAR_CACHE", (folder + "/cache").c_str(), 1);
    expectFault("cache: fix: ", "cannot be written");
    ::setenv("NPAR_CACHE", (folder + "/cache/below").c_str(), 1);
    expectFault("cache: fix: ", "cannot be written");
  }
  for (const char *name : {"HOME", "XDG_CACHE_HOME", "NPAR_CACHE"})
    ::unsetenv(name);
  expectFault("cache: fix: no place", "set NPAR_CACHE");
}

TEST_F(FaultTest, Disk) {
  machine.disk->freeBytes = 1000;
  expectFault("disk: fix: 1000 B free here", "make room");
  machine.disk = DiskSpace{gigabyte, 0, false};
  expectFault("disk: fix: ", "no room for another file");
  machine.disk = DiskSpace{gigabyte, 10, true};
  expectFault("disk: fix: ", "read-only");
}

TEST_F(FaultTest, Mpi) {
  machine.mpis[0].mpiexec = "";
  expectFault("MPI: fix: MPICH has no mpiexec", "install mpich");
  machine.mpis[0].loads = Status::badInput("libmpich.so.12 is missing");
  expectFault("MPI: fix: ", "libmpich.so.12 is missing");
  machine.mpis.clear();
  expectFault("MPI: note: ", "libmpich-dev");
}

TEST_F(FaultTest, Gpus) {
  machine.found.gpus[0].trouble = "the GPU is lost";
  expectFault("GPU: fix: GPU 0: the GPU is lost", "--cuda-gpus");
  machine.found.gpus[0].trouble = "", machine.found.nccl = "", machine.found.ncclTrouble = "there is no NCCL";
  expectFault("NCCL: note: there is no NCCL", "NPAR_NCCL");
  machine.found.gpus.clear(), machine.found.trouble = "there is no CUDA driver";
  EXPECT_EQ(faults().size(), 2u) << "neither is a problem";
}

TEST_F(FaultTest, Clock) {
  machine.wall->synchronized = false;
  expectFault("clock: note: 2027-01-15 08:00:00 UTC, not synchronized", "timedatectl set-ntp true");
  machine.wall = ClockState{true, 16};
  expectFault("clock: note: ", "within 16.0 s");
  machine.now = 3600;
  expectFault("clock: fix: it says 1970-01-01", "timedatectl");
}

TEST_F(FaultTest, Ports) {
  machine.busy = 0;
  expectFault("ports: fix: ", "allow this user to open TCP ports");
  machine.busy = 5000, machine.variables["NPAR_PORT"] = "5000";
  expectFault("ports: fix: port 5000 is in use", "set NPAR_PORT");
  machine.variables["NPAR_PORT"] = "80000";
  expectFault("ports: fix: NPAR_PORT is '80000'", "1 to 65535");
  machine.variables.erase("NPAR_PORT");
  machine.variables["RANK"] = "3", machine.variables["WORLD_SIZE"] = "2";
  expectFault("ports: fix: ", "unset");
  machine.variables.erase("RANK"), machine.variables.erase("WORLD_SIZE");
  machine.own.clear();
  expectFault("ports: note: ", "only on this host");
}

TEST_F(FaultTest, Secret) {
  std::string file = folder + "/secret";
  std::ofstream(file) << "0123456789abcdef0123";
  machine.variables = {{"NPAR_JOB_SECRET_FILE", file}};
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  expectFault("job secret: fix: ", "chmod 600");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(faults().size(), 0u);
  machine.variables = {{"NPAR_JOB_SECRET", "aaaaaaaaaaaaaaaaaaaaaaaa"}};
  std::vector<std::string> all = faults();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].find("aaaa"), std::string::npos) << "a secret is never printed";
}

} // namespace
} // namespace npar::doctor
