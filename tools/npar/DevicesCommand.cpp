// `npar devices`: what this machine has to compute with, and what npar would use of it.
#include "engine/json/Json.h"
#include "tools/npar/Command.h"

#include "tools/lib/devices/Survey.h"
#include "tools/npar/terminal/PrintJson.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using namespace devices;

namespace {

OrderedJson wordOrNull(const std::string &word) { return word.empty() ? OrderedJson() : OrderedJson(word); }

OrderedJson jsonOf(const DeviceSurvey &survey) {
  const ProcessorFacts &processor = survey.processor;
  OrderedJson json;
  json["processor"] = {{"name", processor.name},    {"cores", processor.cores},         {"instruction_sets", processor.instructionSets},
                       {"uses", processor.usedSet}, {"memory_bytes", processor.memory}, {"free_bytes", processor.freeMemory}};
  json["gpus"] = OrderedJson::array();
  for (const GpuFacts &gpu : survey.gpus)
    json["gpus"].push_back({{"name", gpu.name},
                            {"architecture", gpu.architecture},
                            {"multiprocessors", gpu.multiprocessors},
                            {"memory_bytes", gpu.memory},
                            {"free_bytes", gpu.freeMemory},
                            {"reaches", gpu.reaches},
                            {"trouble", wordOrNull(gpu.trouble)}});
  json["cuda_driver"] = wordOrNull(survey.driver);
  json["trouble"] = wordOrNull(survey.trouble);
  json["cublaslt"] = wordOrNull(survey.cublasLt);
  json["cublaslt_trouble"] = wordOrNull(survey.cublasLtTrouble);
  json["cudnn"] = wordOrNull(survey.cudnn);
  json["cudnn_trouble"] = wordOrNull(survey.cudnnTrouble);
  json["nccl"] = wordOrNull(survey.nccl);
  json["nccl_trouble"] = wordOrNull(survey.ncclTrouble);
  json["target"] = wordOrNull(survey.target);
  return json;
}

std::string gigabytes(uint64_t bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9); }

std::string textOf(const DeviceSurvey &survey) {
  const ProcessorFacts &processor = survey.processor;
  std::string text = fmt::format("CPU          {}, {} cores, {} of memory, {} free\n", processor.name.empty() ? "unknown" : processor.name,
                                 processor.cores, gigabytes(processor.memory), gigabytes(processor.freeMemory));
  text += fmt::format("  products   {}; npar uses {}\n", fmt::join(processor.instructionSets, ", "),
                      processor.usedSet.empty() ? "none: NPAR_INSTRUCTIONS is no set" : processor.usedSet);
  for (size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuFacts &gpu = survey.gpus[i];
    text += fmt::format("GPU {:<8} {}, {}, {} multiprocessors, {} of memory, {} free\n", i, gpu.name, gpu.architecture, gpu.multiprocessors,
                        gigabytes(gpu.memory), gigabytes(gpu.freeMemory));
    if (!gpu.reaches.empty())
      text += fmt::format("  reaches    the memory of GPU {}\n", fmt::join(gpu.reaches, ", "));
    if (!gpu.trouble.empty())
      text += fmt::format("  trouble    {}\n", gpu.trouble);
  }
  if (!survey.driver.empty())
    text += fmt::format("CUDA driver  {}\n", survey.driver);
  text +=
      fmt::format("cuBLASLt     {}\n", survey.cublasLt.empty() ? survey.cublasLtTrouble + "; matrix products are npar's own kernels"
                                                               : survey.cublasLt + "; multiplies with --cuda-products matching or library");
  text += fmt::format("cuDNN        {}\n", survey.cudnn.empty() ? survey.cudnnTrouble + "; attention is npar's own kernels"
                                                                : survey.cudnn + "; computes attention with --cuda-attention library");
  text += fmt::format("NCCL         {}\n", survey.nccl.empty() ? survey.ncclTrouble + "; messages between processes go through CPU memory"
                                                               : survey.nccl + "; carries messages between the GPUs of several processes");
  text += survey.trouble.empty()
              ? fmt::format("npar uses    the CPU; with --backend cuda a GPU, for programs compiled with --target {}\n", survey.target)
              : fmt::format("npar uses    the CPU; no GPU: {}\n", survey.trouble);
  return text;
}

} // namespace

Command addDevicesCommand(CLI::App &driver) {
  auto json = std::make_shared<bool>(false);
  CLI::App *app = driver.add_subcommand("devices", "list this machine's CPU, GPUs and libraries\n\n"
                                                   "Example:\n"
                                                   "  npar devices\n");
  app->add_flag("--json", *json, "print the result as one JSON object");
  return {app, [json] {
            DeviceSurvey survey = surveyDevices();
            if (*json)
              printJson(jsonOf(survey));
            else
              std::cout << textOf(survey);
            return ExitCode::Good;
          }};
}

} // namespace npar::driver
