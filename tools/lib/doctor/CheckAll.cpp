// The list of checks.
#include "tools/lib/doctor/Checks.h"

namespace npar::doctor {

std::vector<Finding> checkAll(const Surroundings &surroundings, const std::string &library, size_t models) {
  devices::DeviceSurvey survey = surroundings.devices();
  return {checkProcessor(surroundings, survey.processor),
          checkMemory(surroundings, survey.processor),
          checkCores(surroundings, survey.processor),
          checkLibrary(library, models),
          checkCache(surroundings),
          checkDisk(surroundings),
          checkMpi(surroundings),
          checkGpus(survey),
          checkNccl(survey),
          checkClock(surroundings),
          checkPorts(surroundings),
          checkSecret(surroundings)};
}

} // namespace npar::doctor
