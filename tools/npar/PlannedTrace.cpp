// Writes the planned steps as Chrome trace events, with the plan's own ids, so that a measured trace lies beside it.
#include "tools/npar/Timeline.h"

#include "engine/program/Mesh.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace npar::driver {

using namespace npar::program;

namespace {

std::string quoted(const std::string &text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

bool communicates(StepKind kind) { return kind == StepKind::Collective || kind == StepKind::Send || kind == StepKind::Receive; }

std::string labelOf(const Program &program, const Step &step) {
  if (program.labels() && step.label() < program.labels()->size())
    if (const flatbuffers::String *text = program.labels()->Get(step.label())->text())
      return text->str();
  return EnumNameStepKind(step.kind());
}

std::string processEvents(const Program &program, size_t process, const RankClass &rankClass) {
  std::string text = fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})"
                                 ",\n",
                                 process, quoted(fmt::format("stage {} ({})", rankClass.stage(), describeRanks(program, rankClass))));
  for (const auto &[thread, name] : {std::pair{0, "tasks"}, {1, "compute"}, {2, "communication"}})
    text += fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})"
                        ",\n",
                        process, thread, name);
  return text;
}

std::string event(size_t process, int thread, const std::string &name, double begin, double end, const std::string &arguments) {
  return fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})"
                     ",\n",
                     process, thread, quoted(name), begin * 1e6, (end - begin) * 1e6, arguments);
}

} // namespace

std::string plannedTrace(const Program &program) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t i = 0; i < program.classes()->size(); ++i) {
    const RankClass &rankClass = *program.classes()->Get(i);
    text += processEvents(program, i, rankClass);
    if (!rankClass.tasks())
      continue;
    for (size_t t = 0; t < rankClass.tasks()->size(); ++t) {
      const Task &task = *rankClass.tasks()->Get(t);
      const Fragment &fragment = *rankClass.fragments()->Get(task.fragment());
      std::string name = fragment.name() ? fragment.name()->str() : fmt::format("fragment {}", task.fragment());
      text += event(i, 0, fmt::format("{}:{}", name, task.micro()), task.begin(), task.end(),
                    fmt::format(R"("task":{},"micro":{},"phase":"{}")", t, task.micro(), EnumNamePhase(fragment.phase())));
      for (size_t s = 0; fragment.steps() && s < fragment.steps()->size(); ++s) {
        const Step &step = *fragment.steps()->Get(s);
        text += event(i, communicates(step.kind()) ? 2 : 1, labelOf(program, step), task.begin() + step.begin(), task.begin() + step.end(),
                      fmt::format(R"("task":{},"step":{},"micro":{},"kind":"{}","flops":{})", t, s, task.micro(),
                                  EnumNameStepKind(step.kind()), step.flops()));
      }
    }
  }
  if (text.size() >= 2 && text[text.size() - 2] == ',')
    text.erase(text.size() - 2, 1);
  return text + "]}\n";
}

} // namespace npar::driver
