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
  EXPECT_TRUE(launchIn({{"RANK", "1"}, {"WORLD_SIZE", "4"}})->isAlone()) << "variables that many set for something else";
  // A script that sets them from an MPI's.
  EXPECT_EQ(launchIn(hydra + Variables{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}})->mpi, "mpich");
}

TEST(Launcher, SlurmWithoutPmiIsRefused) { expectRefused(step, "Slurm's srun has started 4 processes, but MPI cannot join them"); }

TEST(Launcher, TwoLaunchersAreRefused) { expectRefused(hydra + openMpi, "of Open MPI's mpiexec (8 processes) and of MPICH's mpiexec (4)"); }

TEST(Launcher, WhatIsNoProcessOfAJobIsRefused) {
  Variables port = torchrun, rank = torchrun;
  port["MASTER_PORT"] = "65536", rank["RANK"] = "4";
  expectRefused(port, "MASTER_PORT is '65536', which is not a port");
  expectRefused(rank, "RANK is '4' and WORLD_SIZE is '4'");
  expectRefused(torchrun + Variables{{"NPAR_PORT", "http"}}, "NPAR_PORT is 'http', which is not a port");
  expectRefused(hydra + torchrun, "of MPICH's mpiexec (4 processes) and of torchrun (4)");
  for (auto [process, processes] : {std::pair("4", "4"), std::pair("-1", "4"), std::pair("x", "4"), std::pair("0", ""),
                                    std::pair("1", "4x"), std::pair("0", "0"), std::pair("0", "99999999999")})
    expectRefused({{"PMI_RANK", process}, {"PMI_SIZE", processes}}, std::string("PMI_SIZE is '") + processes + "'");
}

} // namespace
} // namespace npar::testing
