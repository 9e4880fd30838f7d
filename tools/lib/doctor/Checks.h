// The checks of the doctor, one function each. They change nothing.
#pragma once

#include "tools/lib/doctor/Finding.h"
#include "tools/lib/doctor/Surroundings.h"

#include <vector>

namespace npar::doctor {

Finding checkProcessor(const Surroundings &surroundings, const devices::ProcessorFacts &processor);
Finding checkMemory(const Surroundings &surroundings, const devices::ProcessorFacts &processor);
Finding checkCores(const Surroundings &surroundings, const devices::ProcessorFacts &processor);

/// `folder`: of the standard library; `models`: how many it has.
Finding checkLibrary(const std::string &folder, size_t models);
Finding checkCache(const Surroundings &surroundings);
/// Room in the current folder and in the cache.
Finding checkDisk(const Surroundings &surroundings);

Finding checkMpi(const Surroundings &surroundings);
Finding checkGpus(const devices::DeviceSurvey &survey);
Finding checkNccl(const devices::DeviceSurvey &survey);

Finding checkClock(const Surroundings &surroundings);
Finding checkPorts(const Surroundings &surroundings);
Finding checkSecret(const Surroundings &surroundings);

/// All checks, in the order in which they are printed.
std::vector<Finding> checkAll(const Surroundings &surroundings, const std::string &library, size_t models);

} // namespace npar::doctor
