// Reads the variables of each launcher, and resolves several of them.
#include "engine/comm/process/Launcher.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace npar::engine {
namespace {

/// Environment variables in which a launcher passes a process its number and the number of processes.
struct Variables {
  const char *process, *processes;
};

constexpr Variables ofOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
constexpr Variables ofPmi = {"PMI_RANK", "PMI_SIZE"};
constexpr Variables ofPmix = {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"};
constexpr Variables ofTorchrun = {"RANK", "WORLD_SIZE"};
constexpr Variables ofStep = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};

std::optional<uint32_t> numberIn(const char *text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == 0 && *text ? std::optional(value) : std::nullopt;
}

/// Reads a pair of variables; nothing if they are not both set.
Result<std::optional<Launch>> read(const Environment &environment, const Variables &variables, std::string launcher, std::string mpi) {
  const char *process = environment(variables.process), *processes = environment(variables.processes);
  if (!process || !processes)
    return std::optional<Launch>();
  std::optional<uint32_t> number = numberIn(process), count = numberIn(processes);
  if (!number || !count || *number >= *count)
    return Status::badInput(std::string(variables.process) + " is '" + process + "' and " + variables.processes + " is '" + processes +
                            "', which is no process of a job of " + launcher +
                            ": start npar with a launcher, or with --alone, which ignores these variables");
  Launch launch;
  launch.launcher = std::move(launcher), launch.mpi = std::move(mpi), launch.process = *number, launch.processes = *count;
  return std::optional<Launch>(std::move(launch));
}

std::optional<uint16_t> portIn(const char *text, uint32_t add) {
  std::optional<uint32_t> port = numberIn(text);
  return port && *port > 0 && *port + add <= UINT16_MAX ? std::optional(static_cast<uint16_t>(*port + add)) : std::nullopt;
}

/// Reads torchrun's variables; nothing if they are not all set.
Result<std::optional<Launch>> readTorchrun(const Environment &environment) {
  const char *address = environment("MASTER_ADDR"), *port = environment("MASTER_PORT");
  if (!address || !port)
    return std::optional<Launch>();
  Result<std::optional<Launch>> read = npar::engine::read(environment, ofTorchrun, "torchrun", "tcp");
  if (!read.ok() || !*read)
    return read;
  const char *own = environment("NPAR_PORT"), *agent = environment("TORCHELASTIC_USE_AGENT_STORE"),
             *run = environment("TORCHELASTIC_RUN_ID");
  bool taken = !own && agent && std::strcmp(agent, "True") == 0;
  std::optional<uint16_t> number = portIn(own ? own : port, taken ? 1 : 0);
  if (!number)
    return Status::badInput(std::string(own ? "NPAR_PORT" : "MASTER_PORT") + " is '" + (own ? own : port) +
                            "', which is not a port: npar --alone ignores launchers' variables");
  Launch &launch = **read;
  launch.address = address, launch.port = *number, launch.run = run ? run : "";
  return read;
}

} // namespace

Result<Launch> findLaunch(const Environment &environment) {
  bool step = environment(ofStep.process) && environment(ofStep.processes);
  bool hydra = environment("HYDI_CONTROL_FD") || !step; // Hydra starts its own helpers with srun where it finds Slurm
  std::vector<Launch> found;
  for (Result<std::optional<Launch>> each : {
           read(environment, ofOpenMpi, "Open MPI's mpiexec", "openmpi"),
           read(environment, ofPmi, hydra ? "MPICH's mpiexec" : "Slurm's srun (PMI)", "mpich"),
           readTorchrun(environment),
       }) {
    if (!each.ok())
      return each.status();
    if (*each)
      found.push_back(**each);
  }
  if (found.empty()) {
    Result<std::optional<Launch>> pmix = read(environment, ofPmix, "Slurm's srun (PMIx)", "openmpi");
    if (!pmix.ok())
      return pmix.status();
    Result<std::optional<Launch>> bare = *pmix ? std::optional<Launch>() : read(environment, ofStep, "Slurm's srun", "");
    if (!bare.ok())
      return bare.status();
    if (*bare && !(*bare)->isAlone())
      return Status::badInput("Slurm's srun has started " + std::to_string((*bare)->processes) +
                              " processes, but MPI cannot join them: start srun with --mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI), or "
                              "npar with --alone to run each process separately");
    if (*pmix)
      return **pmix;
    return Launch();
  }
  // A single-process launcher may wrap the one that started several processes: for example, srun around mpiexec.
  const Launch *several = nullptr;
  for (const Launch &each : found)
    if (!each.isAlone()) {
      if (several && each.mpi == "tcp" && each.process == several->process && each.processes == several->processes)
        continue; // a script has set these from the others
      if (several)
        return Status::badInput("the environment has the variables of " + several->launcher + " (" + std::to_string(several->processes) +
                                " processes) and of " + each.launcher + " (" + std::to_string(each.processes) +
                                "): start npar with one of them, or with --alone, which ignores both");
      several = &each;
    }
  return several ? *several : found.front();
}

} // namespace npar::engine
