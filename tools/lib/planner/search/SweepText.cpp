// A sweep as a table, as CSV, as JSON and as a picture.
#include "tools/lib/planner/search/Sweep.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"
#include "tools/lib/planner/search/SpeedUpPlot.h"
#include "tools/lib/planner/search/TimeMemoryPlot.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::planner {

using readable::humanBytes;
using readable::humanTime;

namespace {

/// The columns after those of the settings; in a refused row the last one alone has a text.
const std::vector<std::string> columns = {"seconds",
                                          "mfu",
                                          "memory_bytes",
                                          "fits",
                                          "bubble",
                                          "exposed",
                                          "hosts",
                                          "ranks",
                                          "speed_up",
                                          "efficiency",
                                          "all_reduce_seconds",
                                          "exposed_all_reduce_seconds",
                                          "refused"};

std::string percent(const std::optional<double> &share) { return share ? fmt::format("{:.1f} %", 100 * *share) : "-"; }

std::string fitsText(const StepFigures &figures) { return !figures.fits ? "-" : *figures.fits ? "yes" : "no"; }

/// A field of CSV (RFC 4180).
std::string field(const std::string &text) {
  if (text.find_first_of(",\"\n") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char letter : text)
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

} // namespace

std::vector<std::string> Sweep::valuesOf(size_t row) const {
  std::vector<std::string> values(over.size());
  for (size_t i = over.size(); i-- > 0; row /= over[i].values.size())
    values[i] = over[i].values[row % over[i].values.size()];
  return values;
}

std::optional<size_t> Sweep::base() const {
  std::optional<size_t> found;
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows[row].figures && (!found || rows[row].figures->ranks < rows[*found].figures->ranks))
      found = row;
  return found;
}

double Sweep::speedUp(size_t row) const {
  const StepFigures &one = *rows[row].figures, &other = *rows[*base()].figures;
  return static_cast<double>(one.batch) / one.seconds / (static_cast<double>(other.batch) / other.seconds);
}

double Sweep::efficiency(size_t row) const {
  return speedUp(row) * static_cast<double>(rows[*base()].figures->ranks) / static_cast<double>(rows[row].figures->ranks);
}

std::string sweepText(const Sweep &sweep) {
  std::vector<std::vector<std::string>> table(1);
  for (const SweptSetting &setting : sweep.over)
    table[0].push_back(setting.key);
  table[0].insert(table[0].end(),
                  {"time", "speed-up", "efficiency", "MFU", "memory", "fits", "bubble", "exposed", "all-reduce", "exposed of it"});
  const bool countsBytes =
      std::any_of(sweep.rows.begin(), sweep.rows.end(), [](const Attempt &row) { return row.figures && row.figures->sent; });
  if (countsBytes)
    table[0].push_back("sent");
  size_t refused = 0;
  for (size_t row = 0; row < sweep.rows.size(); ++row) {
    std::vector<std::string> &cells = table.emplace_back(sweep.valuesOf(row));
    if (const std::optional<StepFigures> &figures = sweep.rows[row].figures) {
      cells.insert(cells.end(),
                   {humanTime(figures->seconds), fmt::format("{:.2f}", sweep.speedUp(row)), percent(sweep.efficiency(row)),
                    percent(figures->mfu), humanBytes(static_cast<double>(figures->memory)), fitsText(*figures), percent(figures->bubble),
                    percent(figures->exposed), humanTime(figures->reducing), humanTime(figures->reducingExposed)});
      if (countsBytes)
        cells.push_back(figures->sent ? humanBytes(*figures->sent) : "-");
    } else {
      ++refused;
    }
  }
  std::vector<size_t> widths(table[0].size());
  for (const std::vector<std::string> &cells : table)
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  std::string text = fmt::format("{} on '{}': {} combination{}, {} refused\n\n", sweep.model, sweep.machine, sweep.rows.size(),
                                 sweep.rows.size() == 1 ? "" : "s", refused);
  for (size_t row = 0; row < table.size(); ++row) {
    for (size_t i = 0; i < table[row].size(); ++i)
      text += fmt::format("  {:>{}}", table[row][i], widths[i]);
    if (row > 0 && !sweep.rows[row - 1].figures)
      text += "  " + sweep.rows[row - 1].reason;
    text += '\n';
  }
  return text;
}

std::string sweepCsv(const Sweep &sweep) {
  std::string text;
  for (const SweptSetting &setting : sweep.over)
    text += field(setting.key) + ",";
  text += fmt::format("{}\n", fmt::join(columns, ","));
  for (size_t row = 0; row < sweep.rows.size(); ++row) {
    for (const std::string &value : sweep.valuesOf(row))
      text += field(value) + ",";
    if (const std::optional<StepFigures> &figures = sweep.rows[row].figures)
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},\n", figures->seconds, figures->mfu ? fmt::format("{}", *figures->mfu) : "",
                          figures->memory, figures->fits ? fitsText(*figures) : "", figures->bubble, figures->exposed, figures->hosts,
                          figures->ranks, sweep.speedUp(row), sweep.efficiency(row), figures->reducing, figures->reducingExposed);
    else
      text += std::string(columns.size() - 1, ',') + field(sweep.rows[row].reason) + "\n";
  }
  return text;
}

OrderedJson sweepJson(const Sweep &sweep) {
  auto orNull = [](const auto &value) { return value ? OrderedJson(*value) : OrderedJson(); };
  OrderedJson rows = OrderedJson::array();
  for (size_t row = 0; row < sweep.rows.size(); ++row) {
    OrderedJson one, settings = OrderedJson::object();
    std::vector<std::string> values = sweep.valuesOf(row);
    for (size_t i = 0; i < values.size(); ++i)
      settings[sweep.over[i].key] = values[i];
    one["settings"] = settings;
    if (const std::optional<StepFigures> &figures = sweep.rows[row].figures) {
      one["seconds_per_step"] = figures->seconds;
      if (figures->worst)
        one["worst_seconds_per_step"] = *figures->worst;
      one["mfu"] = orNull(figures->mfu);
      one["memory_bytes"] = figures->memory;
      one["fits"] = orNull(figures->fits);
      one["bubble"] = figures->bubble;
      one["exposed_communication"] = figures->exposed;
      one["ranks"] = figures->ranks;
      one["hosts"] = figures->hosts;
      one["speed_up"] = sweep.speedUp(row);
      one["efficiency"] = sweep.efficiency(row);
      one["all_reduce_seconds"] = figures->reducing;
      one["exposed_all_reduce_seconds"] = figures->reducingExposed;
      one["dollars_per_step"] = orNull(figures->dollars);
      if (figures->sent)
        one["sent_bytes"] = *figures->sent;
    }
    one["refused"] = sweep.rows[row].figures ? OrderedJson() : OrderedJson(sweep.rows[row].reason);
    rows.push_back(std::move(one));
  }
  return OrderedJson{{"model", sweep.model}, {"machine", sweep.machine}, {"rows", rows}};
}

/// The settings of a row: "mesh.tp = 2, micro = 4".
static std::string nameOf(const Sweep &sweep, size_t row) {
  std::vector<std::string> values = sweep.valuesOf(row);
  std::string name;
  for (size_t i = 0; i < values.size(); ++i)
    name += fmt::format("{}{} = {}", i ? ", " : "", sweep.over[i].key, values[i]);
  return name;
}

std::string sweepSvg(const Sweep &sweep) {
  TimeMemoryPlot plot;
  SpeedUpPlot speeds;
  for (size_t row = 0; row < sweep.rows.size(); ++row) {
    const std::optional<StepFigures> &figures = sweep.rows[row].figures;
    if (!figures)
      continue;
    const std::string name = nameOf(sweep, row);
    plot.points.push_back({name, figures->seconds, static_cast<double>(figures->memory), figures->fits.value_or(true)});
    plot.room = figures->room;
    speeds.points.push_back({name, figures->ranks, sweep.speedUp(row), sweep.efficiency(row)});
  }
  plot.title = sweep.model + " on " + sweep.machine;
  const size_t drawn = plot.points.size(), all = sweep.rows.size();
  plot.subtitle = fmt::format("memory of the largest rank against time; {}",
                              drawn == all ? fmt::format("{} combinations", all)
                                           : fmt::format("{} of {} combinations, the others are refused", drawn, all));
  return speeds.isShown() ? plotBelow(plotSvg(plot), speeds) : plotSvg(plot);
}

} // namespace npar::planner
