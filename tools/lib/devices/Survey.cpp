// Queries the operating system, the CUDA driver and the libraries.
#include "tools/lib/devices/Survey.h"

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/library/CublasLt.h"
#include "engine/backends/cuda/library/Cudnn.h"
#include "engine/backends/cuda/nccl/NcclLibrary.h"
#include "engine/device/InstructionSet.h"
#include "engine/runtime/MachineMemory.h"
#include "engine/runtime/WorkerCount.h"

#include <fstream>

namespace npar::devices {

namespace {

using namespace engine;

/// The text after `key` and a colon in a file such as /proc/cpuinfo; empty if no line has the key.
std::string fieldOf(const char *file, const std::string &key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind(key, 0) == 0 && line.find(':') != std::string::npos) {
      size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  return "";
}

ProcessorFacts surveyProcessor() {
  ProcessorFacts facts;
  facts.name = fieldOf("/proc/cpuinfo", "model name");
  facts.cores = workerCount(0);
  for (InstructionSet set : availableInstructionSets())
    facts.instructionSets.push_back(wordOf(set));
  if (Result<InstructionSet> best = bestInstructionSet(); best.ok())
    facts.usedSet = wordOf(*best);
  facts.memory = std::strtoull(fieldOf("/proc/meminfo", "MemTotal").c_str(), nullptr, 10) * 1024;
  facts.freeMemory = machineMemory().bytes;
  return facts;
}

GpuFacts surveyGpu(const cuda::CudaDriver &driver, int ordinal) {
  GpuFacts facts;
  Result<cuda::DeviceIdentity> identity = cuda::identify(driver, ordinal);
  if (!identity.ok()) {
    facts.trouble = identity.status().message();
    return facts;
  }
  facts.name = identity->name, facts.architecture = "sm_" + std::to_string(identity->architecture);
  facts.multiprocessors = identity->multiprocessors, facts.memory = identity->bytes;
  auto device = cuda::CudaDevice::open(driver, ordinal);
  if (device.ok())
    facts.freeMemory = (*device)->freeBytes();
  else
    facts.trouble = device.status().message();
  const cuda::Functions &call = driver.call();
  cuda::DeviceNumber own = 0, other = 0;
  for (int i = 0; i < driver.devices(); ++i)
    if (int can = 0; i != ordinal && call.deviceGet(&own, ordinal) == cuda::Code::Success &&
                     call.deviceGet(&other, i) == cuda::Code::Success &&
                     call.deviceCanAccessPeer(&can, own, other) == cuda::Code::Success && can)
      facts.reaches.push_back(i);
  return facts;
}

} // namespace

DeviceSurvey surveyDevices() {
  DeviceSurvey survey;
  survey.processor = surveyProcessor();
  Result<const cuda::CudaDriver *> driver = cuda::CudaDriver::open();
  if (driver.ok()) {
    survey.driver = cuda::versionText((*driver)->version());
    for (int i = 0; i < (*driver)->devices(); ++i)
      survey.gpus.push_back(surveyGpu(**driver, i));
    Result<std::string> target = cuda::targetOfMachine();
    survey.target = target.ok() ? *target : "";
    survey.trouble = target.status().message();
  } else {
    survey.trouble = driver.status().message();
  }
  if (Result<const cuda::CublasLt *> library = cuda::CublasLt::open(); library.ok())
    survey.cublasLt = (*library)->version();
  else
    survey.cublasLtTrouble = library.status().message();
  if (Result<const cuda::Cudnn *> library = cuda::Cudnn::open(); library.ok())
    survey.cudnn = (*library)->version();
  else
    survey.cudnnTrouble = library.status().message();
  if (Result<const cuda::NcclLibrary *> library = cuda::NcclLibrary::open(); library.ok())
    survey.nccl = (*library)->version();
  else
    survey.ncclTrouble = library.status().message();
  return survey;
}

} // namespace npar::devices
