// Simulates a training step of a request's program, for a report and for pictures.
#include "tools/api/Texts.h"
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "dsl/machine/Hosts.h"
#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "tools/lib/models/LoadModel.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/simulate/OutlookPicture.h"

#include <algorithm>

namespace npar::api {

using engine::Result;
using engine::Status;

namespace {

/// The slow parts of the options. Usage for a text of another form.
Result<planner::SlowParts> slowOf(const npar_simulate_options &options) {
  planner::SlowParts slow;
  for (size_t i = 0; i < options.slow_count; ++i)
    if (!planner::namesSlowRanks(slow.ranks.emplace_back(textOf(options.slow[i]))))
      return Status::usage("npar_simulate_options: slow[" + std::to_string(i) + "] is '" + slow.ranks.back() +
                           "': name ranks and a factor of at least 1, such as rank=3:1.5 or host=0-1:1.2");
  for (size_t i = 0; i < options.slow_link_count; ++i)
    if (!planner::namesSlowLinks(slow.links.emplace_back(textOf(options.slow_links[i]))))
      return Status::usage("npar_simulate_options: slow_links[" + std::to_string(i) + "] is '" + slow.links.back() +
                           "': name a level of links (pair, host, rack or cluster) and a factor of at least 1, such as cluster:2");
  return slow;
}

/// Reads the disturbances and the length of the run. Usage for members that do not fit together.
Result<planner::OutlookRequest> outlookRequestOf(const npar_simulate_options &options) {
  const bool fails = options.device_mtbf > 0 || options.host_mtbf > 0;
  if (fails != (options.checkpoint_seconds > 0) || fails != (options.restart_seconds > 0))
    return Status::usage(
        "npar_simulate_options: give checkpoint_seconds and restart_seconds with device_mtbf or host_mtbf, or none of them");
  planner::OutlookRequest wanted;
  TRY(wanted.slow, slowOf(options));
  wanted.jitter = options.jitter, wanted.tokens = options.total_tokens;
  wanted.deviceHours = options.device_mtbf, wanted.hostHours = options.host_mtbf;
  wanted.checkpoint = options.checkpoint_seconds, wanted.restart = options.restart_seconds;
  if (options.jitter > 0) {
    wanted.seed = options.jitter_seed;
    if (options.jitter_samples > 0)
      wanted.samples = options.jitter_samples;
  }
  return wanted;
}

cost::Deviations deviationsOf(const npar_simulate_options &options) {
  cost::Deviations deviations;
  deviations.postValidated = options.post_validated != 0, deviations.gathersPassOn = options.overlapped_gathers != 0;
  deviations.sumsApart = options.unfused_sums != 0;
  if (const double *rows = options.rows_sent)
    deviations.sentToRanks = rows[0], deviations.sentToHosts = rows[1];
  if (const double *times = options.task_times)
    deviations.taskTimes = {times[0] / 1000, times[1] / 1000, times[2] / 1000, times[3] / 1000};
  return deviations;
}

struct Simulated {
  program::ProgramPointer program;
  planner::Outlook outlook;
};

Result<Simulated> simulated(const npar_request &request, const npar_simulate_options &options, RequestObserver &observer) {
  TRY(planner::OutlookRequest wanted, outlookRequestOf(options));
  TRY(models::ModelOptions model, modelOf(request, observer));
  TRY(dsl::Machine machine, planner::readMachineFile(model.machine, observer, model.texts));
  TRY_STATUS(planner::limitDevices(machine, options.devices));
  model.devices = options.devices, model.movesWork = options.unmoved_work == 0;
  if (options.hosts > 0 || options.devices > 0)
    model.world = dsl::placesOf(machine, std::max<int64_t>(1, options.hosts));
  if (options.place.len)
    model.place = textOf(options.place);
  models::FileClaims files;
  Simulated made;
  TRY(made.program, models::loadModel(model, files, observer, /*withoutKernels=*/true));
  const program::Program &program = made.program->root();
  program::PlaceWords words = program::placeOf(program);
  if (model.place) {
    TRY(words, program::readPlace(*model.place));
    words.source = "place";
  }
  TRY(std::vector<program::HostRoom> rooms, planner::roomsFor(machine, program::worldOf(program), options.hosts));
  TRY(std::vector<std::vector<int64_t>> places, placeOnHosts(program, words, rooms));
  engine::Activity simulating(observer, "simulating a step");
  TRY(made.outlook, planner::outlookOf(wanted, program, machine, places, deviationsOf(options), observer));
  return made;
}

} // namespace

Status simulate(const npar_request &request, const npar_simulate_options &options, const Answer &answer) {
  RequestObserver observer(request);
  TRY(Simulated step, simulated(request, options, observer));
  OrderedJson json = planner::predictionJson(step.program->root(), step.outlook.prediction);
  planner::addOutlook(json, step.outlook);
  giveReport(answer, json);
  return {};
}

Status draw(const npar_request &request, const npar_simulate_options &options, npar_format format, const Answer &answer) {
  RequestObserver observer(request);
  TRY(Simulated step, simulated(request, options, observer));
  planner::PictureKind kind = format == NPAR_SVG    ? planner::PictureKind::Svg
                              : format == NPAR_JSON ? planner::PictureKind::Trace
                                                    : planner::PictureKind::Page;
  give(answer, "picture", planner::pictureOf(kind, step.program->root(), step.outlook));
  return {};
}

} // namespace npar::api
