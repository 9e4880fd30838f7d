// Checks what jobs of several processes need: MPI, clock, ports and the secret.
#include "tools/lib/doctor/Checks.h"

#include "engine/comm/process/Launcher.h"
#include "engine/network/JobSecret.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace npar::doctor {

namespace {

/// 2025-01-01: npar is younger, so that a clock before this is wrong.
constexpr int64_t earliest = 1735689600;
/// Times of log lines and files of several hosts cannot be compared beyond this error.
constexpr double largestClockError = 1;

std::string joined(const std::vector<uint32_t> &addresses) {
  std::string text;
  for (uint32_t address : addresses)
    text += (text.empty() ? "" : ", ") + engine::textOf(address);
  return text;
}

} // namespace

Finding checkMpi(const Surroundings &surroundings) {
  std::vector<MpiState> all = surroundings.mpi();
  if (all.empty())
    return {"MPI", Health::Note, "this npar was built without MPI, which npar launch needs; torchrun and srun do not",
            "for npar launch, install libmpich-dev or libopenmpi-dev and build npar again"};
  std::string text;
  for (const MpiState &mpi : all) {
    if (!mpi.loads.ok())
      return {"MPI", Health::Problem, mpi.loads.message(), ""};
    if (mpi.mpiexec.empty())
      return {"MPI", Health::Problem, fmt::format("{} has no mpiexec", mpi.library),
              "install mpich or openmpi-bin, or start npar with your own launcher"};
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", mpi.library, mpi.mpiexec);
  }
  return {"MPI", Health::Ok, text, ""};
}

Finding checkClock(const Surroundings &surroundings) {
  const std::string name = "clock", fix = "run timedatectl set-ntp true, or ask who runs this machine";
  int64_t now = surroundings.seconds();
  if (now < earliest)
    return {name, Health::Problem,
            fmt::format("it says {:%Y-%m-%d}, which is before npar existed", fmt::gmtime(static_cast<std::time_t>(now))), fix};
  std::string date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(now)));
  std::optional<ClockState> state = surroundings.clock();
  if (!state)
    return {name, Health::Ok, date, ""};
  if (!state->synchronized)
    return {name, Health::Note, date + ", not synchronized: times in logs of several hosts cannot be compared", fix};
  if (state->largestError > largestClockError)
    return {
        name, Health::Note,
        fmt::format("{}, synchronized within {:.1f} s only: times in logs of several hosts cannot be compared", date, state->largestError),
        fix};
  return {name, Health::Ok, date + ", synchronized", ""};
}

Finding checkPorts(const Surroundings &surroundings) {
  const std::string name = "ports";
  engine::Result<engine::Launch> launch = engine::findLaunch([&](const char *variable) { return surroundings.variable(variable); });
  if (!launch.ok())
    return {name, Health::Problem, launch.status().message(), "unset the variables, or start npar by that launcher"};
  uint16_t port = 0;
  if (const char *given = surroundings.variable("NPAR_PORT"); given && *given) {
    char *end = nullptr;
    long number = std::strtol(given, &end, 10);
    if (*end != '\0' || number < 1 || number > 65535)
      return {name, Health::Problem, fmt::format("NPAR_PORT is '{}'", given), "set it to a number from 1 to 65535"};
    port = static_cast<uint16_t>(number);
  }
  if (engine::Status listens = surroundings.listenAt(engine::loopbackAddress, port); !listens.ok())
    return {name, Health::Problem, listens.message(),
            port ? "set NPAR_PORT to a port that is free on the host of process 0" : "allow this user to open TCP ports"};
  std::vector<uint32_t> addresses = surroundings.addresses();
  std::string text = port ? fmt::format("port {} (NPAR_PORT) is free", port) : "npar can listen";
  if (addresses.empty())
    return {name, Health::Note, text + ", but only on this host: it has no other network address", ""};
  return {name, Health::Ok, fmt::format("{}; this host is {}", text, joined(addresses)), ""};
}

Finding checkSecret(const Surroundings &surroundings) {
  const std::string name = "job secret";
  engine::Result<engine::JobKeyPointer> key = engine::findJobKey([&](const char *variable) { return surroundings.variable(variable); });
  if (!key.ok())
    return {name, Health::Problem, key.status().message(), ""};
  if (!*key)
    return {name, Health::Note, "not set; only jobs over TCP on several hosts need one",
            fmt::format("{}, the same on every host", engine::secretLine)};
  const char *file = surroundings.variable("NPAR_JOB_SECRET_FILE");
  return {name, Health::Ok, file && *file ? "set by NPAR_JOB_SECRET_FILE" : "set by NPAR_JOB_SECRET", ""};
}

} // namespace npar::doctor
