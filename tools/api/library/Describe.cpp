// Describes a compiled program by the views of engine/show, as text, JSON, SVG and HTML.
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/Fence.h"
#include "tools/api/library/Handles.h"

#include "engine/json/Document.h"
#include "engine/program/Classes.h"
#include "engine/program/HostPlacement.h"
#include "engine/program/ModelState.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"
#include "engine/runtime/BatchShape.h"
#include "engine/show/CollectiveCauses.h"
#include "engine/show/HostTraffic.h"
#include "engine/show/ParameterBytes.h"
#include "engine/show/ParameterShares.h"
#include "engine/show/Summary.h"
#include "engine/show/Timeline.h"
#include "engine/show/ViewJson.h"
#include "engine/show/ViewPage.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using namespace npar;
using npar::engine::Result;
using npar::engine::Status;

namespace {

constexpr int32_t widest = 100000; ///< columns

template <typename Texts> OrderedJson namesOf(const Texts *texts) {
  OrderedJson names = OrderedJson::array();
  for (const auto *text : *texts)
    names.push_back(text->str());
  return names;
}

template <typename Sizes> OrderedJson sizesOf(const Sizes *sizes) { return std::vector<int64_t>(sizes->begin(), sizes->end()); }

OrderedJson inputsOf(const program::Program &program) {
  OrderedJson inputs = OrderedJson::array();
  for (const engine::InputShape &input : engine::BatchShape::of(program).inputs) {
    OrderedJson one = {{"name", input.name}, {"dtype", program::wordOf(input.type)}, {"axes", input.axes}, {"shape", input.shape}};
    if (input.range.classes > 0)
      one["classes"] = input.range.classes;
    if (input.ignore)
      one["ignore"] = *input.ignore;
    inputs.push_back(std::move(one));
  }
  OrderedJson outputs = OrderedJson::array();
  if (program.results())
    for (const program::LogicalResult *result : *program.results())
      outputs.push_back({{"name", result->name()->str()}, {"dtype", program::wordOf(result->type())}, {"shape", sizesOf(result->shape())}});
  return {{"inputs", inputs}, {"outputs", outputs}};
}

/// The mesh axes that split a parameter, from the pieces of all classes of ranks.
OrderedJson splitBy(const program::Program &program, uint32_t variable) {
  std::vector<bool> splits(program.mesh()->size());
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Piece *piece : *rankClass->pieces()) {
      if (piece->variable() != variable)
        continue;
      for (const program::PieceDimension *dimension : *piece->dimensions())
        for (uint32_t i = 0; i < dimension->axis_count(); ++i)
          splits[piece->mesh_axes()->Get(dimension->first_axis() + i)] = true;
      for (uint32_t axis : *piece->flat_axes())
        splits[axis] = true;
    }
  OrderedJson names = OrderedJson::array();
  for (uint32_t axis = 0; axis < splits.size(); ++axis)
    if (splits[axis])
      names.push_back(program.mesh()->Get(axis)->name()->str());
  return names;
}

/// The pipeline stages whose ranks hold a parameter, ascending; [0] without a pipeline.
OrderedJson stagesOf(const program::Program &program, uint32_t variable) {
  std::set<uint32_t> stages;
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Piece *piece : *rankClass->pieces())
      if (piece->variable() == variable)
        stages.insert(rankClass->stage());
  return OrderedJson(stages);
}

/// The names of a parameter's optimizer states; of -1 those of the training as a whole, such as the loss scale of fp16.
OrderedJson statesOf(const program::Program &program, int32_t parameter) {
  OrderedJson names = OrderedJson::array();
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == program::VariableKind::State && variable->of() == parameter)
      names.push_back(variable->name()->str());
  return names;
}

OrderedJson parametersOf(const program::Program &program) {
  OrderedJson parameters = OrderedJson::array();
  for (uint32_t i = 0; i < program.variables()->size(); ++i) {
    const program::Variable &variable = *program.variables()->Get(i);
    if (variable.kind() != program::VariableKind::Parameter)
      continue;
    parameters.push_back({{"name", variable.name()->str()},
                          {"dtype", program::wordOf(variable.type())},
                          {"axes", namesOf(variable.axes())},
                          {"shape", sizesOf(variable.shape())},
                          {"stored_shape", sizesOf(variable.stored())},
                          {"frozen", variable.frozen() || program::isModelState(variable)},
                          {"split_by", splitBy(program, i)},
                          {"stages", stagesOf(program, i)},
                          {"states", statesOf(program, static_cast<int32_t>(i))}});
  }
  return {{"parameters", parameters}, {"states", statesOf(program, -1)}};
}

OrderedJson meshOf(const program::Program &program) {
  OrderedJson axes = OrderedJson::array();
  for (const program::MeshAxis *axis : *program.mesh())
    axes.push_back({{"name", axis->name()->str()}, {"size", axis->size()}});
  std::map<uint32_t, std::vector<int64_t>> ranks; // by stage
  for (const program::RankClass *rankClass : *program.classes())
    for (int64_t rank : program::ranksOf(program, *rankClass))
      ranks[rankClass->stage()].push_back(rank);
  OrderedJson stages = OrderedJson::array();
  for (auto &[stage, its] : ranks) {
    std::sort(its.begin(), its.end());
    stages.push_back({{"stage", stage}, {"ranks", its}});
  }
  return {{"mesh", axes}, {"ranks", program::worldOf(program)}, {"stages", stages}};
}

/// The summary with what else was asked about each class of ranks.
OrderedJson summaryWith(const program::Program &program, npar_view kind) {
  show::View view = show::viewOf(program);
  OrderedJson json = show::summaryJson(show::summarize(program));
  show::addView(json, view);
  for (const show::ClassView &part : view.classes) {
    OrderedJson &one = json["classes"].at(part.programClass);
    if (kind == NPAR_VIEW_WHY)
      one["why"] = show::whyJson(view, part, show::WhyOrder::LargestFirst);
    if (kind == NPAR_VIEW_BYTES) {
      const program::RankClass &rankClass = *program.classes()->Get(part.programClass);
      one["bytes_per_parameter"] = show::parameterBytesJson(program, rankClass);
      one["parameter_shares"] = show::parameterSharesJson(program, rankClass);
    }
  }
  return json;
}

Result<show::HostTraffic> trafficOf(const program::Program &program, const npar_view_options &options) {
  int64_t hosts = options.hosts > 0 ? options.hosts : 1, world = program::worldOf(program);
  int64_t perHost = options.ranks_per_host > 0 ? options.ranks_per_host : (world + hosts - 1) / hosts;
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0; host < hosts; ++host)
    rooms.push_back({std::to_string(host), perHost});
  program::PlaceWords words = program::placeOf(program);
  TRY(std::vector<std::vector<int64_t>> places, program::placeOnHosts(program, words, rooms));
  return show::hostTraffic(program, words, std::move(places));
}

Result<std::string> described(const program::Program &program, npar_view view, npar_format format, const npar_view_options &options) {
  auto width = static_cast<size_t>(options.width > 0 ? options.width : 100);
  auto is = [&](npar_view wanted, npar_format wantedFormat) { return view == wanted && format == wantedFormat; };
  if (is(NPAR_VIEW_SUMMARY, NPAR_TEXT))
    return show::summaryTable(show::summarize(program)) + show::viewText(show::viewOf(program), width);
  if (format == NPAR_JSON && (view == NPAR_VIEW_SUMMARY || view == NPAR_VIEW_WHY || view == NPAR_VIEW_BYTES))
    return json::documentText(summaryWith(program, view));
  if (is(NPAR_VIEW_WHY, NPAR_TEXT))
    return show::whyText(show::viewOf(program), show::WhyOrder::LargestFirst);
  if (is(NPAR_VIEW_BYTES, NPAR_TEXT))
    return show::parameterBytesText(program);
  if (view == NPAR_VIEW_HOSTS && (format == NPAR_TEXT || format == NPAR_JSON)) {
    TRY(show::HostTraffic traffic, trafficOf(program, options));
    return format == NPAR_TEXT ? show::hostTrafficText(program, traffic) : json::documentText(show::hostTrafficJson(traffic));
  }
  if (is(NPAR_VIEW_TIMELINE, NPAR_SVG))
    return show::timelineSvg(show::timelineOf(show::viewOf(program)));
  if (is(NPAR_VIEW_TIMELINE, NPAR_JSON))
    return show::viewTrace(show::viewOf(program));
  if (is(NPAR_VIEW_PAGE, NPAR_HTML)) {
    show::View one = show::viewOf(program);
    return show::viewPage({&one});
  }
  if (is(NPAR_VIEW_INPUTS, NPAR_JSON))
    return json::documentText(inputsOf(program));
  if (is(NPAR_VIEW_PARAMETERS, NPAR_JSON))
    return json::documentText(parametersOf(program));
  if (is(NPAR_VIEW_MESH, NPAR_JSON))
    return json::documentText(meshOf(program));
  return Status::usage("npar_program_describe: there is no view " + std::to_string(view) + " in format " + std::to_string(format) +
                       "; npar.h lists the formats of each npar_view");
}

} // namespace

extern "C" npar_code npar_program_describe(const npar_program *program, npar_view view, npar_format format,
                                           const npar_view_options *options, npar_buffer **result, npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(program, "npar_program_describe", "program"));
    TRY_STATUS(api::needs(result, "npar_program_describe", "result"));
    TRY(npar_view_options given, api::optionsOf(options, "npar_view_options"));
    const int64_t ranks = program::worldOf(program->program->root());
    TRY_STATUS(api::Arguments("npar_view_options")
                   .whole(given.width, "width", 0, widest)
                   .whole(given.hosts, "hosts", 0, ranks)
                   .whole(given.ranks_per_host, "ranks_per_host", 0, ranks)
                   .status());
    TRY(std::string text, described(program->program->root(), view, format, given));
    api::give(result, std::move(text));
    return {};
  });
}
