// Writes the data of views for the page, and puts template and data together.
#include "engine/show/ViewPage.h"

#include "engine/json/Json.h"
#include "engine/readable/SvgText.h"
#include "engine/show/LiveMemory.h"
#include "engine/show/page/PageFiles.h"

#include <fmt/format.h>
#include <iterator>
#include <map>

namespace npar::show {
namespace {

using Out = std::back_insert_iterator<std::string>;

/// A JSON string in which no HTML parser finds a tag or a comment.
std::string jsonForHtml(const std::string &text) {
  std::string result;
  for (char letter : Json(text).dump(-1, ' ', true, Json::error_handler_t::replace))
    if (letter == '<' || letter == '>' || letter == '&')
      result += fmt::format("\\u{:04x}", static_cast<int>(letter));
    else
      result += letter;
  return result;
}

template <typename List, typename Each> void writeList(std::string &text, const List &list, Each each) {
  text += '[';
  bool first = true;
  for (const auto &entry : list) {
    if (!first)
      text += ',';
    first = false;
    each(entry);
  }
  text += ']';
}

void writeNumbers(std::string &text, const std::array<uint64_t, memoryKinds> &numbers) {
  writeList(text, numbers, [&](uint64_t number) { fmt::format_to(Out(text), "{}", number); });
}

void writeLook(std::string &text, const Look &look) {
  static const char *hatches[] = {"", "rising", "falling", "dots"};
  fmt::format_to(Out(text), R"({{"name":"{}","word":"{}","letter":"{}","perMicro":{},"fill":"{}","ink":"{}","hatch":"{}"}})", look.name,
                 look.word, look.letter, look.perMicro, look.fill, look.ink, hatches[static_cast<int>(look.hatch)]);
}

void writeLooks(std::string &text) {
  text += R"("looks":{"phases":)";
  writeList(text, phaseLooks(), [&](const Look &look) { writeLook(text, look); });
  text += R"(,"collective":)";
  writeLook(text, collectiveLook());
  text += R"(,"transfer":)";
  writeLook(text, transferLook());
  text += R"(,"memory":[)";
  for (size_t kind = 0; kind < memoryKinds; ++kind) {
    const MemoryLook &look = lookOf(static_cast<MemoryKind>(kind));
    fmt::format_to(Out(text), R"({}{{"name":"{}","fill":"{}","about":{}}})", kind ? "," : "", look.name, look.fill,
                   jsonForHtml(look.about));
  }
  text += "]}";
}

void writeStep(std::string &text, const ViewStep &step) {
  fmt::format_to(Out(text), R"(["{}",{},{},{},{},{:.6g},)", program::EnumNameStepKind(step.kind), step.label, nanoseconds(step.begin),
                 nanoseconds(step.end), step.bytes, step.flops);
  writeList(text, step.dependencies, [&](uint32_t dependency) { fmt::format_to(Out(text), "{}", dependency); });
  if (step.communicates())
    fmt::format_to(Out(text), ",[{},{},{},{},{}]", jsonForHtml(step.message.kind), jsonForHtml(step.message.over), step.message.event,
                   step.message.peerClass, jsonForHtml(describe(step.message.cause)));
  text += ']';
}

void writeFragment(std::string &text, const ViewFragment &fragment) {
  size_t phase = 0;
  for (size_t i = 0; i < phaseLooks().size(); ++i)
    if (std::string(phaseLooks()[i].name) == lookOf(fragment.phase).name)
      phase = i;
  fmt::format_to(Out(text), R"({{"name":{},"phase":{},"chunk":{},"steps":)", jsonForHtml(fragment.name), phase, fragment.chunk);
  writeList(text, fragment.steps, [&](const ViewStep &step) { writeStep(text, step); });
  text += '}';
}

/// [fragment, step, onFragment, onStep, distance in micro-batches] -> runs of micro-batches. A steady schedule repeats the same waits.
void writeWaits(std::string &text, const ClassView &one) {
  std::map<std::array<int64_t, 5>, std::vector<std::pair<uint32_t, uint32_t>>> runs;
  for (const ViewWait &wait : one.waits) {
    const ViewTask &task = one.tasks[wait.task], &on = one.tasks[wait.onTask];
    auto &known =
        runs[{task.fragment, wait.step, on.fragment, wait.onStep, static_cast<int64_t>(task.micro) - static_cast<int64_t>(on.micro)}];
    if (!known.empty() && known.back().second + 1 == task.micro)
      known.back().second = task.micro;
    else
      known.emplace_back(task.micro, task.micro);
  }
  text += '[';
  bool first = true;
  for (const auto &[key, spans] : runs)
    for (auto [from, to] : spans) {
      fmt::format_to(Out(text), "{}[{},{},{},{},{},{},{}]", first ? "" : ",", key[0], key[1], key[2], key[3], key[4], from, to);
      first = false;
    }
  text += ']';
}

void writeMemory(std::string &text, const ClassMemory &memory) {
  constexpr size_t shown = 24;
  fmt::format_to(Out(text), R"("peak":{{"bytes":{},"at":{},"tensors":[)", memory.peakBytes, nanoseconds(memory.peakAt));
  uint64_t rest = 0;
  for (size_t i = 0; i < memory.peak.size(); ++i) {
    const PeakTensor &tensor = memory.peak[i];
    if (i >= shown)
      rest += tensor.bytes;
    else
      fmt::format_to(Out(text), "{}[{},{},{},{},{}]", i ? "," : "", static_cast<int>(tensor.kind), jsonForHtml(tensor.name),
                     jsonForHtml(tensor.place), tensor.bytes, tensor.count);
  }
  fmt::format_to(Out(text), R"(],"others":{},"otherBytes":{}}},"always":)", memory.peak.size() > shown ? memory.peak.size() - shown : 0,
                 rest);
  writeNumbers(text, memory.always);
  text += R"(,"atStart":)";
  writeNumbers(text, memory.atStart);
  text += R"(,"patterns":)";
  writeList(text, memory.patterns, [&](const std::vector<MemoryChange> &pattern) {
    text += '[';
    for (size_t i = 0; i < pattern.size(); ++i)
      fmt::format_to(Out(text), "{}{},{},{}", i ? "," : "", nanoseconds(pattern[i].at), static_cast<int>(pattern[i].kind),
                     pattern[i].bytes);
    text += ']';
  });
}

void writeCollectives(std::string &text, const ClassView &one) {
  text += R"(,"collectives":)";
  writeList(text, one.collectives, [&](const CollectiveUse &use) {
    fmt::format_to(Out(text), "[{},{},{},{},{},{},{},{},{}]", jsonForHtml(use.kind), jsonForHtml(use.over), jsonForHtml(use.phase),
                   use.count, use.bytes, nanoseconds(use.seconds), jsonForHtml(use.path), jsonForHtml(use.places.front()),
                   jsonForHtml(describe(use.cause)));
  });
}

void writeClass(std::string &text, const ClassView &one) {
  fmt::format_to(Out(text), R"({{"name":{},"ranks":{},"stage":{},"arena":{},"busy":{},"bubble":{:.6f},"balance":{:.6f},)",
                 jsonForHtml(one.name), jsonForHtml(one.ranks), one.stage, one.arenaBytes, nanoseconds(one.busy), one.bubble, one.balance);
  writeMemory(text, one.memory);
  writeCollectives(text, one);
  text += R"(,"fragments":)";
  writeList(text, one.fragments, [&](const ViewFragment &fragment) { writeFragment(text, fragment); });
  text += R"(,"tasks":)";
  writeList(text, one.tasks, [&](const ViewTask &task) {
    fmt::format_to(Out(text), "{},{},{},{},{}", task.fragment, task.micro, nanoseconds(task.begin), nanoseconds(task.end), task.pattern);
  });
  text += R"(,"waits":)";
  writeWaits(text, one);
  text += '}';
}

void writeView(std::string &text, const View &view) {
  fmt::format_to(Out(text), R"({{"title":{},"origin":{},"schedule":{},"timed":{},"micros":{},"span":{},"bubble":{:.6f},"labels":)",
                 jsonForHtml(view.title), jsonForHtml(view.origin), jsonForHtml(view.schedule), view.timed, view.microCount,
                 nanoseconds(view.span), view.bubble);
  writeList(text, view.labels, [&](const ViewLabel &label) {
    fmt::format_to(Out(text), "[{},{},{},{},{}]", jsonForHtml(label.text), jsonForHtml(label.path), jsonForHtml(label.file), label.line,
                   label.column);
  });
  text += R"(,"classes":)";
  writeList(text, view.classes, [&](const ClassView &one) { writeClass(text, one); });
  text += '}';
}

} // namespace

std::string pageData(const std::vector<const View *> &views) {
  std::string text = "{";
  writeLooks(text);
  text += R"(,"views":)";
  writeList(text, views, [&](const View *view) { writeView(text, *view); });
  return text + "}";
}

std::string viewPage(const std::vector<const View *> &views) {
  return filledPage(pageHtml, {{"{{title}}", readable::escaped(views.empty() ? "npar" : views.front()->title)},
                               {"/*style*/", pageStyle},
                               {"/*data*/", pageData(views)},
                               {"/*script*/", pageScript}});
}

} // namespace npar::show
