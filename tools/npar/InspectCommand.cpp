// `npar inspect`: what a compiled program holds and does, without running it: numbers, a picture, a planned timeline.
#include "tools/npar/Command.h"

#include "engine/program/AtomicFile.h"
#include "tools/npar/Compilation.h"
#include "tools/npar/Summary.h"
#include "tools/npar/Talk.h"
#include "tools/npar/Timeline.h"

#include <iostream>

namespace npar::driver {
namespace {

struct InspectFlags {
  ModelOptions model;
  std::string svg, trace;
  bool json = false;
};

engine::Status writeText(const std::string &path, const std::string &text) {
  return program::writeFileAtomically(path, text.data(), text.size());
}

ExitCode runInspect(const InspectFlags &flags) {
  Outcome<ProgramPointer> loaded = loadModel(flags.model, /*withoutKernels=*/true);
  if (!loaded.ok())
    return loaded.code();
  const program::Program &program = (*loaded)->root();
  Summary summary = summarize(program);
  std::cout << (flags.json ? summaryJson(summary) : summaryTable(summary));
  if (!flags.svg.empty())
    if (engine::Status status = writeText(flags.svg, timelineSvg(timelineOf(program))); !status.ok())
      return fail(status);
  if (!flags.trace.empty())
    if (engine::Status status = writeText(flags.trace, plannedTrace(program)); !status.ok())
      return fail(status);
  return ExitCode::Good;
}

} // namespace

Command addInspectCommand(CLI::App &driver) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *app = driver.add_subcommand("inspect", "show what each rank holds and does, without running it\n\n"
                                                   "Example:\n"
                                                   "  npar inspect gpt2 --set mesh.pp=4 --svg schedule.svg\n");
  flags->model.addTo(*app);
  app->add_flag("--json", flags->json, "one JSON object on standard output; bytes and counts are per rank and training step");
  app->add_option("--svg", flags->svg, "draw the schedule: one lane per stage")->type_name("FILE.svg");
  app->add_option("--planned-trace", flags->trace, "write the planned timeline for Perfetto or chrome://tracing")->type_name("FILE.json");
  return {app, [flags] { return runInspect(*flags); }};
}

} // namespace npar::driver
