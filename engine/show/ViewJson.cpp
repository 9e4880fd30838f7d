// Writes a View's findings as JSON.
#include "engine/show/ViewJson.h"

#include "engine/program/Words.h"
#include "engine/show/Timeline.h"

namespace npar::show {

OrderedJson reasonJson(const program::CauseT &cause) {
  OrderedJson axes = OrderedJson::array();
  for (const auto &axis : cause.axes)
    axes.push_back(OrderedJson{{"axis", axis->axis}, {"rule", axis->rule}});
  return {{"kind", wordOf(cause.kind)},   {"operation", cause.operation}, {"variable", cause.variable}, {"axes", axes},
          {"mesh_axis", cause.mesh_axis}, {"store", cause.store}};
}

namespace {

OrderedJson peakJson(const ClassMemory &memory) {
  OrderedJson list = OrderedJson::array();
  for (const PeakTensor &tensor : memory.peak)
    list.push_back(OrderedJson{{"kind", lookOf(tensor.kind).name},
                               {"name", tensor.name},
                               {"bytes", tensor.bytes},
                               {"count", tensor.count},
                               {"source", tensor.place}});
  return list;
}

OrderedJson causesJson(const ClassView &one) {
  OrderedJson list = OrderedJson::array();
  for (const CollectiveUse &use : one.collectives)
    list.push_back(OrderedJson{{"kind", use.kind},
                               {"over", use.over},
                               {"phase", use.phase},
                               {"count", use.count},
                               {"bytes", use.bytes},
                               {"path", use.path},
                               {"source", use.places},
                               {"cause", describe(use.cause)},
                               {"reason", reasonJson(use.cause)}});
  return list;
}

OrderedJson tasksJson(const ClassView &one) {
  OrderedJson list = OrderedJson::array();
  for (size_t index = 0; index < one.tasks.size(); ++index) {
    const ViewTask &task = one.tasks[index];
    const ViewFragment &fragment = one.fragments[task.fragment];
    list.push_back(OrderedJson{{"name", one.taskName(static_cast<uint32_t>(index))},
                               {"phase", program::EnumNamePhase(fragment.phase)},
                               {"chunk", fragment.chunk},
                               {"micro_index", task.micro},
                               {"begin", task.begin},
                               {"end", task.end}});
  }
  return list;
}

} // namespace

void addView(OrderedJson &summary, const View &view) {
  summary["schedule"] = view.schedule;
  summary["span_seconds"] = view.timed ? view.span : 0.0;
  summary["bubble"] = view.bubble;
  Timeline timeline = timelineOf(view);
  for (const ClassView &one : view.classes) {
    OrderedJson &json = summary["classes"].at(one.programClass);
    json["stage"] = one.stage;
    json["busy_seconds"] = one.busy;
    json["collective_seconds"] = one.communication;
    json["bubble"] = one.bubble;
    json["balance"] = one.balance;
    json["live_peak_bytes"] = one.memory.peakBytes;
    json["live_peak_seconds"] = one.memory.peakAt;
    json["live_peak"] = peakJson(one.memory);
    OrderedJson curve = OrderedJson::array();
    for (const TimelineLane &lane : timeline.lanes)
      if (lane.stage == one.stage)
        for (const TimelineMemory &point : lane.memory)
          curve.push_back(OrderedJson::array({point.at, point.bytes}));
    json["live_memory"] = curve;
    json["causes"] = causesJson(one);
    json["tasks"] = tasksJson(one);
  }
}

OrderedJson comparedJson(const View &view) {
  OrderedJson classes = OrderedJson::array();
  for (const ClassView &one : view.classes)
    classes.push_back(OrderedJson{{"stage", one.stage},
                                  {"bubble", one.bubble},
                                  {"balance", one.balance},
                                  {"live_peak_bytes", one.memory.peakBytes},
                                  {"sent_bytes", one.sentBytes}});
  return OrderedJson{{"title", view.title}, {"span_seconds", view.span}, {"bubble", view.bubble}, {"classes", classes}};
}

} // namespace npar::show
