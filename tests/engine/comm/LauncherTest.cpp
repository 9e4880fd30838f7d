// Tests the environment variables of each launcher, as recorded, and environments that must not be taken for a job.
#include "engine/comm/process/Launcher.h"

#include <gtest/gtest.h>
#include <map>

namespace npar::testing {
namespace {

using namespace engine;

using Variables = std::map<std::string, std::string>;

Result<Launch> launchIn(const Variables &variables) {
  return findLaunch([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables operator+(Variables one, const Variables &other) {
  one.insert(other.begin(), other.end());
  return one;
}

const Variables hydra = {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"PMI_FD", "8"}, {"HYDI_CONTROL_FD", "7"}, {"MPI_LOCALNRANKS", "4"}};
const Variables openMpi = {
    {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "325844993"}};
const Variables allocation = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_NPROCS", "4"}, {"SLURM_NNODES", "2"}};
const Variables step = allocation + Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}};

struct Known {
  const char *name;
  Variables variables;
  const char *launcher, *mpi;
  uint32_t process, processes;
};

TEST(Launcher, IsKnownByItsVariables) {
  for (const Known &known : {
           Known{"a plain shell", {{"PATH", "/bin"}}, "", "", 0, 1},
           Known{"mpiexec of MPICH", hydra, "MPICH's mpiexec", "mpich", 2, 4},
           Known{"mpiexec of Open MPI", openMpi, "Open MPI's mpiexec", "openmpi", 1, 8},
           Known{"srun --mpi=pmi2", step + Variables{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_FD", "5"}}, "Slurm's srun (PMI)", "mpich",
                 3, 4},
           Known{"srun --mpi=pmix", step + Variables{{"PMIX_RANK", "3"}}, "Slurm's srun (PMIx)", "openmpi", 3, 4},
           Known{"mpiexec of MPICH in a Slurm job", step + hydra, "MPICH's mpiexec", "mpich", 2, 4},
           Known{"mpiexec of Open MPI in a Slurm job", step + openMpi, "Open MPI's mpiexec", "openmpi", 1, 8},
           Known{"the shell of salloc", allocation, "", "", 0, 1},
           Known{"a batch script", allocation + Variables{{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}, "", "", 0, 1},
           Known{"srun of one task", allocation + Variables{{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, "", "", 0, 1},
           Known{"mpiexec of one process", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, "MPICH's mpiexec", "mpich", 0, 1},
           Known{"mpiexec in srun --pty --mpi=pmi2", openMpi + Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, "Open MPI's mpiexec",
                 "openmpi", 1, 8},
       }) {
    Result<Launch> launch = launchIn(known.variables);
    ASSERT_TRUE(launch.ok()) << known.name << ": " << launch.status().message();
    EXPECT_EQ(launch->launcher, known.launcher) << known.name;
    EXPECT_EQ(launch->mpi, known.mpi) << known.name;
    EXPECT_EQ(launch->process, known.process) << known.name;
    EXPECT_EQ(launch->processes, known.processes) << known.name;
    EXPECT_EQ(launch->isAlone(), known.processes == 1) << known.name;
  }
}

void expectRefused(const Variables &variables, const std::string &words) {
  Result<Launch> launch = launchIn(variables);
  ASSERT_FALSE(launch.ok()) << words;
  EXPECT_EQ(launch.status().code(), Code::BadInput);
  EXPECT_NE(launch.status().message().find(words), std::string::npos) << launch.status().message();
  EXPECT_NE(launch.status().message().find("--alone"), std::string::npos) << launch.status().message();
}

const Variables sageMaker = {{"SM_HOSTS", R"(["algo-1","algo-2"])"}, {"SM_CURRENT_HOST", "algo-2"}, {"SM_NUM_GPUS", "8"}};
const Variables torchrun = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};

TEST(Launcher, TorchrunSaysWhereProcessesMeet) {
  Result<Launch> launch = launchIn(torchrun);
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->launcher, "torchrun");
  EXPECT_EQ(launch->mpi, "tcp");
  EXPECT_EQ(launch->process, 1u);
  EXPECT_EQ(launch->processes, 4u);
  EXPECT_EQ(launch->address, "node0");
  EXPECT_EQ(launch->port, 29500);
  Variables agent = torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RUN_ID", "seven"}};
  EXPECT_EQ(launchIn(agent)->port, 29501) << "its agent listens at the port itself";
  EXPECT_EQ(launchIn(agent)->run, "seven");
  EXPECT_EQ(launchIn(agent + Variables{{"NPAR_PORT", "7000"}})->port, 7000);
  EXPECT_EQ(launchIn(step + torchrun)->mpi, "tcp") << "within a step of Slurm that has no PMI";
  // A script that sets them from an MPI's.
  EXPECT_EQ(launchIn(hydra + Variables{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}})->mpi, "mpich");
}

void expectIncomplete(const Variables &variables, const std::string &words) {
  Result<Launch> launch = launchIn(variables);
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_NE(launch->incomplete.find(words), std::string::npos) << launch->incomplete;
  EXPECT_NE(launch->incomplete.find("--alone"), std::string::npos) << launch->incomplete;
}

// A process that is one of several must not train alone because some of its variables are missing.
TEST(Launcher, IncompleteVariablesAreNamed) {
  expectIncomplete({{"WORLD_SIZE", "4"}},
                   "WORLD_SIZE is 4, so this is one of several processes, but RANK, MASTER_ADDR, MASTER_PORT are not set");
  expectIncomplete({{"RANK", "1"}}, "RANK is 1, so this is one of several processes, but WORLD_SIZE, MASTER_ADDR, MASTER_PORT are not set");
  expectIncomplete({{"RANK", "0"}, {"WORLD_SIZE", "4"}}, "MASTER_ADDR, MASTER_PORT are not set");
  expectIncomplete({{"LOCAL_RANK", "3"}}, "LOCAL_RANK is 3");
  expectIncomplete({{"LOCAL_WORLD_SIZE", "2"}}, "LOCAL_WORLD_SIZE is 2");
  for (const char *missing : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables some = torchrun;
    some.erase(missing);
    expectIncomplete(some, std::string("but ") + missing + " is not set");
    EXPECT_EQ(launchIn(some + Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})->incomplete, "") << "mpiexec -n 1 counts";
    EXPECT_EQ(launchIn(some + hydra)->processes, 4u) << "the launcher counts";
    EXPECT_EQ(launchIn(some + sageMaker)->processes, 2u) << "its list counts";
  }
  expectIncomplete({{"PMI_SIZE", "2"}}, "PMI_RANK is not set");
  expectIncomplete({{"OMPI_COMM_WORLD_RANK", "1"}}, "OMPI_COMM_WORLD_SIZE is not set");
  expectIncomplete({{"HOROVOD_SIZE", "2"}}, "HOROVOD_RANK is not set");
  for (const Variables &one : std::vector<Variables>{{{"WORLD_SIZE", "1"}},
                                                     {{"RANK", "0"}},
                                                     {{"RANK", "0"}, {"WORLD_SIZE", "1"}},
                                                     {{"LOCAL_RANK", "-1"}},
                                                     {{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}}})
    EXPECT_EQ(launchIn(one)->incomplete, "") << one.begin()->first;
}

TEST(Launcher, SlurmWithoutPmiIsRefused) { expectRefused(step, "Slurm's srun has started 4 processes, but MPI cannot join them"); }

TEST(Launcher, TwoLaunchersAreRefused) {
  expectRefused(hydra + openMpi, "of Open MPI's mpiexec (process 1 of 8) and of MPICH's mpiexec (process 2 of 4)");
}

TEST(Launcher, WhatIsNoProcessOfAJobIsRefused) {
  Variables port = torchrun, rank = torchrun;
  port["MASTER_PORT"] = "65536", rank["RANK"] = "4";
  expectRefused(port, "MASTER_PORT is '65536', which is not a port");
  expectRefused(rank, "RANK is '4' and WORLD_SIZE is '4'");
  expectRefused(torchrun + Variables{{"NPAR_PORT", "http"}}, "NPAR_PORT is 'http', which is not a port");
  expectRefused(hydra + torchrun, "of MPICH's mpiexec (process 2 of 4) and of torchrun (process 1 of 4)");
  for (auto [process, processes] : {std::pair("4", "4"), std::pair("-1", "4"), std::pair("x", "4"), std::pair("0", ""),
                                    std::pair("1", "4x"), std::pair("0", "0"), std::pair("0", "99999999999")})
    expectRefused({{"PMI_RANK", process}, {"PMI_SIZE", processes}}, std::string("PMI_SIZE is '") + processes + "'");
}

Variables tensorflow(const std::string &cluster, const std::string &task) {
  return {{"TF_CONFIG", "{\"cluster\": " + cluster + ", \"task\": " + task + "}"}};
}

const char *const twoWorkers = R"({"worker": ["a:12345", "b:23456"]})";

// The examples of TensorFlow's guide to distributed training, and a cluster with a chief, which is process 0.
TEST(Launcher, TfConfigListsTheProcesses) {
  Result<Launch> launch = launchIn(tensorflow(twoWorkers, R"({"type": "worker", "index": 1})"));
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_EQ(launch->mpi, "tcp");
  EXPECT_EQ(launch->process, 1u);
  EXPECT_EQ(launch->processes, 2u);
  EXPECT_EQ(launch->address, "a");
  EXPECT_EQ(launch->port, 12345);
  const char *withChief = R"({"worker": ["w:1", "x:2"], "chief": ["c:2222"]})";
  launch = launchIn(tensorflow(withChief, R"({"type": "worker", "index": "1"})"));
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_EQ(launch->process, 2u);
  EXPECT_EQ(launch->processes, 3u);
  EXPECT_EQ(launch->address, "c");
  EXPECT_EQ(launchIn(tensorflow(withChief, R"({"type": "chief", "index": 0})"))->process, 0u);
  EXPECT_EQ(launchIn(tensorflow(withChief, R"({"type": "chief", "index": 0})") + Variables{{"NPAR_PORT", "7"}})->port, 7);
  EXPECT_TRUE(launchIn(tensorflow("{}", "{}"))->isAlone());
  EXPECT_TRUE(launchIn({{"TF_CONFIG", "{}"}})->isAlone());
  EXPECT_TRUE(launchIn(tensorflow(R"({"worker": ["a:1"]})", R"({"type": "worker", "index": 0})"))->isAlone());
}

TEST(Launcher, TfConfigIsRefusedWhereNparCannotMeanTheSame) {
  expectRefused(tensorflow(R"({"worker": ["a:1", "b:2"], "ps": ["c:3"]})", R"({"type": "worker", "index": 0})"),
                "parameter servers (`ps`)");
  expectRefused(tensorflow(twoWorkers, R"({"type": "evaluator", "index": 0})"), "makes this process an evaluator");
  expectRefused(tensorflow(twoWorkers, R"({"type": "worker", "index": 2})"), "makes this process worker 2, and its cluster has 2");
  expectRefused(tensorflow(twoWorkers, R"({"type": "worker", "index": -1})"), "makes this process worker -1");
  expectRefused(tensorflow(twoWorkers, R"({"type": "chief", "index": 0})"), "makes this process chief 0, and its cluster has 0");
  expectRefused(tensorflow(twoWorkers, R"({"type": "boss", "index": 0})"), "a task of type 'boss'");
  expectRefused(tensorflow(twoWorkers, "7"), "has no `task` with `type` and `index`");
  expectRefused(tensorflow(R"({"worker": "a:1"})", "{}"), "needs a list of \"host:port\" for `worker`");
  expectRefused(tensorflow(R"({"worker": ["a", "b"]})", R"({"type": "worker", "index": 0})"), "has 'a' as process 0");
  expectRefused(tensorflow(R"({"chief": ["a:1", "b:1"]})", R"({"type": "chief", "index": 0})"), "has 2 chiefs");
  expectRefused({{"TF_CONFIG", "[1"}}, "is no JSON object");
}

TEST(Launcher, SageMakerHasAProcessOnEachHost) {
  Result<Launch> launch = launchIn(sageMaker);
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_EQ(launch->mpi, "tcp");
  EXPECT_EQ(launch->process, 1u);
  EXPECT_EQ(launch->processes, 2u);
  EXPECT_EQ(launch->address, "algo-1");
  EXPECT_EQ(launch->port, 7777);
  EXPECT_TRUE(launchIn({{"SM_HOSTS", R"(["algo-1"])"}, {"SM_CURRENT_HOST", "algo-1"}})->isAlone());
  expectRefused({{"SM_HOSTS", R"(["algo-1"])"}, {"SM_CURRENT_HOST", "algo-2"}},
                "SM_CURRENT_HOST is 'algo-2', which is no host of SM_HOSTS");
  expectRefused({{"SM_HOSTS", R"(["a","a"])"}, {"SM_CURRENT_HOST", "a"}}, "SM_HOSTS has 'a' twice");
  expectRefused({{"SM_HOSTS", R"(["algo-1","algo-2"])"}}, "SM_CURRENT_HOST does not tell which of them this host is");
  EXPECT_TRUE(launchIn({{"SM_HOSTS", R"(["algo-1"])"}})->isAlone());
  expectRefused({{"SM_HOSTS", "algo-1"}, {"SM_CURRENT_HOST", "algo-1"}}, "which is no JSON list of hosts");
}

// SageMaker sets its lists in addition to the variables of the launcher that it starts.
TEST(Launcher, ListsOfHostsAgreeWithTheLauncher) {
  EXPECT_EQ(launchIn(sageMaker + openMpi)->mpi, "openmpi") << "8 processes on 2 hosts";
  EXPECT_EQ(launchIn(sageMaker + torchrun)->port, 29500) << "4 processes on 2 hosts";
  EXPECT_EQ(launchIn(sageMaker + tensorflow(twoWorkers, R"({"type": "worker", "index": 1})"))->address, "a");
  EXPECT_EQ(launchIn(sageMaker + Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})->processes, 2u) << "mpiexec -n 1 on each host";
  EXPECT_EQ(launchIn(sageMaker + step)->processes, 2u) << "a step without PMI";
  expectRefused(sageMaker + tensorflow(twoWorkers, R"({"type": "worker", "index": 0})"),
                "of the launcher of TF_CONFIG (process 0 of 2) and of SageMaker (process 1 of 2)");
  Variables three = torchrun;
  three["WORLD_SIZE"] = "3";
  expectRefused(sageMaker + three, "of torchrun (process 1 of 3) and of SageMaker (process 1 of 2)");
  three["WORLD_SIZE"] = "1", three["RANK"] = "0";
  expectRefused(sageMaker + three, "of torchrun (process 0 of 1) and of SageMaker (process 1 of 2)");
}

// None of these trains alone without a word.
TEST(Launcher, LaunchersThatHideProcess0AreRefused) {
  expectRefused({{"HOROVOD_RANK", "1"}, {"HOROVOD_SIZE", "2"}}, "horovodrun has started 2 processes (HOROVOD_RANK=1, HOROVOD_SIZE=2)");
  expectRefused({{"NODE_RANK", "0"}, {"AZUREML_NODE_COUNT", "4"}}, "Azure Machine Learning has started 4 processes");
  expectRefused({{"PMIX_RANK", "0"}}, "a launcher with PMIx has started several processes (PMIX_RANK=0)");
  EXPECT_TRUE(launchIn({{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "1"}})->isAlone());
  EXPECT_EQ(launchIn(torchrun + Variables{{"HOROVOD_RANK", "1"}, {"HOROVOD_SIZE", "4"}})->launcher, "torchrun");
}

} // namespace
} // namespace npar::testing
