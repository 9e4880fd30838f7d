// GPUs and the library that carries their messages.
#include "tools/lib/doctor/Checks.h"

#include "engine/readable/HumanUnits.h"

#include <fmt/format.h>

namespace npar::doctor {

Finding checkGpus(const devices::DeviceSurvey &survey) {
  if (survey.gpus.empty())
    return {"GPU", Health::Note, "none: " + survey.trouble, "if this machine has an NVIDIA GPU, install its driver"};
  std::string text;
  for (size_t i = 0; i < survey.gpus.size(); ++i) {
    const devices::GpuFacts &gpu = survey.gpus[i];
    if (!gpu.trouble.empty())
      return {"GPU", Health::Problem, fmt::format("GPU {}: {}", i, gpu.trouble), "free the GPU, or choose others with --cuda-gpus"};
    text += fmt::format("{}{}: {}, {}, {} free of {}", i ? "; " : "", i, gpu.name, gpu.architecture,
                        readable::humanBytes(static_cast<double>(gpu.freeMemory)), readable::humanBytes(static_cast<double>(gpu.memory)));
  }
  if (!survey.trouble.empty())
    return {"GPU", Health::Problem, text + "; " + survey.trouble, "update the driver"};
  std::string missing;
  for (const auto &[name, trouble] : {std::pair("cuBLASLt", &survey.cublasLtTrouble), {"cuDNN", &survey.cudnnTrouble}})
    if (!trouble->empty())
      missing += fmt::format("; without {}, npar uses its own kernels", name);
  return {"GPU", Health::Ok, fmt::format("{}; CUDA {}{}", text, survey.driver, missing), ""};
}

Finding checkNccl(const devices::DeviceSurvey &survey) {
  if (survey.gpus.empty())
    return {"NCCL", Health::Note, "not needed without a GPU", ""};
  if (survey.nccl.empty())
    return {"NCCL", Health::Note, survey.ncclTrouble + "; messages between the processes of a job go through CPU memory",
            "install NCCL 2, or set NPAR_NCCL to its file"};
  return {"NCCL", Health::Ok, survey.nccl, ""};
}

} // namespace npar::doctor
