// The variables of each launcher, and what is to be thought of several.
#include "engine/comm/process/Launcher.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace npar::engine {
namespace {

/// Where a launcher says who a process is.
struct Variables {
  const char *process, *processes;
};

constexpr Variables ofOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
constexpr Variables ofPmi = {"PMI_RANK", "PMI_SIZE"};
constexpr Variables ofPmix = {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"};
constexpr Variables ofStep = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};

std::optional<uint32_t> numberIn(const char *text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == 0 && *text ? std::optional(value) : std::nullopt;
}

/// What a pair of variables says; nothing where they are not both set.
Result<std::optional<Launch>> read(const Environment &environment, const Variables &variables, std::string launcher, std::string mpi) {
  const char *process = environment(variables.process), *processes = environment(variables.processes);
  if (!process || !processes)
    return std::optional<Launch>();
  std::optional<uint32_t> number = numberIn(process), count = numberIn(processes);
  if (!number || !count || *number >= *count)
    return Status::badInput(std::string(variables.process) + " is '" + process + "' and " + variables.processes + " is '" + processes +
                            "', which is no process of a job of " + launcher +
                            ": start npar with a launcher, or with --alone, which looks at none of its variables");
  return std::optional<Launch>({std::move(launcher), std::move(mpi), *number, *count});
}

} // namespace

Result<Launch> findLaunch(const Environment &environment) {
  bool step = environment(ofStep.process) && environment(ofStep.processes);
  bool hydra = environment("HYDI_CONTROL_FD") || !step; // Hydra starts its own helpers with srun where it finds Slurm
  std::vector<Launch> found;
  for (Result<std::optional<Launch>> each : {
           read(environment, ofOpenMpi, "Open MPI's mpiexec", "openmpi"),
           read(environment, ofPmi, hydra ? "MPICH's mpiexec" : "Slurm's srun (PMI)", "mpich"),
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
                              " processes and gives no MPI a way to join them: give it --mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI), or "
                              "npar --alone where each is to work by itself");
    if (*pmix)
      return **pmix;
    return Launch();
  }
  // A launcher of one process may well stand around the one that started several: srun around mpiexec, say.
  const Launch *several = nullptr;
  for (const Launch &each : found)
    if (!each.isAlone()) {
      if (several)
        return Status::badInput("the environment has the variables of " + several->launcher + " (" + std::to_string(several->processes) +
                                " processes) and of " + each.launcher + " (" + std::to_string(each.processes) +
                                "): start npar with one of them, or with --alone, which looks at neither");
      several = &each;
    }
  return several ? *several : found.front();
}

} // namespace npar::engine
