#include "tools/lib/planner/simulate/OutlookPicture.h"

#include "engine/show/Timeline.h"
#include "engine/show/ViewPage.h"
#include "tools/lib/planner/simulate/SimulatedView.h"

#include <fmt/format.h>

namespace npar::planner {

std::string pictureOf(PictureKind kind, const program::Program &program, const Outlook &outlook) {
  const Prediction &prediction = outlook.prediction;
  std::string where =
      fmt::format(", on {} of '{}'", prediction.hosts == 1 ? "a host" : fmt::format("{} hosts", prediction.hosts), prediction.machine);
  show::View view =
      simulatedView(program, prediction.simulation, outlook.disturbance.deviations, where + (outlook.undisturbed ? ", slowed" : ""));
  switch (kind) {
  case PictureKind::Svg:
    return show::timelineSvg(show::timelineOf(view));
  case PictureKind::Trace:
    return show::viewTrace(view);
  case PictureKind::Page:
    break;
  }
  if (!outlook.undisturbed)
    return show::viewPage({&view});
  show::View plain = simulatedView(program, *outlook.undisturbed, {}, where);
  return show::viewPage({&view, &plain});
}

} // namespace npar::planner
