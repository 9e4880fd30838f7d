// Words the outcome of a tuning.
#include "tools/npar/train/RunTuning.h"

#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/simulate/Prediction.h"
#include "tools/npar/terminal/Terminal.h"

#include <fmt/format.h>

namespace npar::driver {

engine::Status RunTuning::simulate(const std::optional<std::string> &machine) {
  TRY(dsl::Machine figures, planner::readMachineFile(machine, terminal()));
  for (const models::BucketProgram &each : sizes) {
    const program::Program &root = each.program->root();
    TRY(std::vector<program::HostRoom> rooms, planner::roomsFor(figures, program::worldOf(root), /*hosts=*/0));
    TRY(std::vector<std::vector<int64_t>> places, program::placeOnHosts(root, program::placeOf(root), rooms));
    TRY(planner::Prediction prediction, planner::predict(root, figures, places));
    planned.push_back(prediction.seconds);
  }
  return {};
}

void RunTuning::prepare() {
  std::vector<training::TunedProgram> programs;
  for (const models::BucketProgram &each : sizes)
    programs.push_back({models::bucketText(each.bytes), each.program});
  steps = training::Tuning(std::move(programs));
}

std::string RunTuning::setting() const { return models::bucketSetting(sizes[steps.kept()].bytes); }

std::string RunTuning::text(const std::string &plan) const {
  std::string text = fmt::format("tuned in {} steps, which count; a step {}:\n", steps.steps(),
                                 planned.empty() ? "took, in the slowest process" : "takes on the machine, simulated");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const training::TunedTime &time = steps.times()[i];
    const std::string note = fmt::format("{}{}", i == 0 ? "  the plan's" : "", i == steps.kept() ? "  kept" : "");
    text += readable::TableRow(2)
                .left(models::bucketText(sizes[i].bytes), 18)
                .right(readable::humanTime(time.seconds), 10)
                .text("  +- ")
                .left(readable::humanTime(time.spread), note.empty() ? 0 : 9)
                .text(note)
                .str();
  }
  if (steps.kept() == 0)
    return text + "no size is faster than the plan's own by more than 1 % and the spread of the steps";
  const int64_t bytes = sizes[steps.kept()].bytes;
  return text + (bytes == 0 ? fmt::format("to keep it in later runs, remove `{}` from plan '{}'", models::bucketText(sizes[0].bytes), plan)
                            : fmt::format("to keep it in later runs, write `{}` in plan '{}'", models::bucketText(bytes), plan));
}

OrderedJson RunTuning::json() const {
  OrderedJson rows = OrderedJson::array();
  for (size_t i = 0; i < sizes.size(); ++i)
    rows.push_back({{"bucket_bytes", sizes[i].bytes},
                    {"text", models::bucketText(sizes[i].bytes)},
                    {"seconds_per_step", steps.times()[i].seconds},
                    {"spread_seconds", steps.times()[i].spread}});
  return {{"what", "buckets"}, {"steps", steps.steps()}, {"kept", models::bucketText(sizes[steps.kept()].bytes)}, {"tried", rows}};
}

} // namespace npar::driver
