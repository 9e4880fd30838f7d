// Processor, memory and cores.
#include "tools/lib/doctor/Checks.h"

#include "engine/device/InstructionSet.h"
#include "engine/readable/HumanUnits.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace npar::doctor {

using readable::humanBytes;

namespace {

/// Compiling GPT-2 takes 140 MiB.
constexpr uint64_t leastMemory = uint64_t{256} << 20;

struct Level {
  const char *name;
  std::vector<const char *> features; ///< beyond the level before
};

/// The levels of the x86-64 psABI (section 3.1.1), by their features that ProcessorFeatures.h knows.
const std::vector<Level> &levels() {
  static const std::vector<Level> all = {
      {"x86-64-v2", {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}},
      {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
  };
  return all;
}

} // namespace

Finding checkProcessor(const Surroundings &surroundings, const devices::ProcessorFacts &processor) {
  std::string level = "x86-64", lacking;
  for (const Level &next : levels()) {
    for (const char *feature : next.features)
      if (!surroundings.hasFeature(feature).value_or(false))
        lacking += (lacking.empty() ? "" : ", ") + std::string(feature);
    if (!lacking.empty())
      break;
    level = next.name;
  }
  std::string name = processor.name.empty() ? "unknown processor" : processor.name;
  if (level == "x86-64")
    return {"processor", Health::Problem, fmt::format("{}: it lacks {}", name, lacking),
            "use a processor of class x86-64-v2 (2009 or later)"};
  const char *most = surroundings.variable("NPAR_INSTRUCTIONS");
  engine::Result<engine::InstructionSet> used = engine::bestInstructionSet(most);
  if (!used.ok())
    return {"processor", Health::Problem, used.status().message(), "unset NPAR_INSTRUCTIONS"};
  std::string text = fmt::format("{}, class {}; products use {}", name, level, engine::wordOf(*used));
  if (most && *most && *used != engine::availableInstructionSets().back())
    return {"processor", Health::Note, fmt::format("{}, as NPAR_INSTRUCTIONS={} asks", text, most),
            "unset NPAR_INSTRUCTIONS for full speed"};
  return {"processor", Health::Ok, text, ""};
}

Finding checkMemory(const Surroundings &surroundings, const devices::ProcessorFacts &processor) {
  engine::MachineMemory memory = surroundings.memory();
  if (memory.bytes == UINT64_MAX)
    return {"memory", Health::Note, "the system does not tell how much is free", ""};
  std::string text = fmt::format("{} free ({}) of {}", humanBytes(static_cast<double>(memory.bytes)), memory.limit,
                                 humanBytes(static_cast<double>(processor.memory)));
  if (memory.bytes < leastMemory)
    return {"memory", Health::Problem, text,
            fmt::format("end other programs or raise the limit: compiling a small model takes up to {}", humanBytes(leastMemory))};
  return {"memory", Health::Ok, text, ""};
}

Finding checkCores(const Surroundings &surroundings, const devices::ProcessorFacts &processor) {
  if (engine::Status threads = surroundings.startThreads(processor.cores); !threads.ok())
    return {"cores", Health::Problem, threads.message(), ""};
  std::optional<double> quota = surroundings.processorQuota();
  if (!quota || *quota >= processor.cores)
    return {"cores", Health::Ok, std::to_string(processor.cores), ""};
  int threads = std::max(1, static_cast<int>(std::floor(*quota)));
  return {"cores", Health::Problem, fmt::format("{}, but the control group allows the time of {:g}", processor.cores, *quota),
          fmt::format("pass --threads {}: npar starts a worker per core", threads)};
}

} // namespace npar::doctor
