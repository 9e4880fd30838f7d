// Writes a HostTraffic as JSON for machines and as a table for people.
#include "engine/show/HostTraffic.h"

#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/RankList.h"
#include "engine/show/View.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace npar::show {

using readable::humanBytes;
using readable::TableRow;

namespace {

/// "dp = 0, pp = 0-1" where the ranks are all of some coordinates; empty where they are not.
std::string boxText(const program::Program &program, const std::vector<int64_t> &ranks) {
  std::vector<std::set<int64_t>> values(program.mesh()->size());
  for (int64_t rank : ranks) {
    std::vector<int64_t> coordinates = coordinatesOf(program, rank);
    for (size_t axis = 0; axis < values.size(); ++axis)
      values[axis].insert(coordinates[axis]);
  }
  size_t count = 1;
  std::string text;
  for (uint32_t axis = 0; axis < values.size(); ++axis) {
    count *= values[axis].size();
    if (program.mesh()->Get(axis)->size() > 1)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", program.mesh()->Get(axis)->name()->str(),
                          numbersText({values[axis].begin(), values[axis].end()}));
  }
  return count == ranks.size() ? text : "";
}

std::string human(uint64_t bytes) { return humanBytes(static_cast<double>(bytes)); }

} // namespace

OrderedJson hostTrafficJson(const HostTraffic &traffic) {
  OrderedJson rows = OrderedJson::array(), hosts = OrderedJson::array();
  for (const TrafficRow &row : traffic.rows)
    rows.push_back(OrderedJson{{"over", row.over},
                               {"kind", row.kind},
                               {"inside_bytes", row.bytes.inside},
                               {"between_bytes", row.bytes.between},
                               {"worst_inside_bytes", row.worst.inside},
                               {"worst_between_bytes", row.worst.between}});
  for (const HostShare &host : traffic.hosts)
    hosts.push_back(OrderedJson{{"ranks", host.ranks}, {"sent_bytes", host.sent}, {"received_bytes", host.received}});
  return {{"place", OrderedJson{{"order", traffic.order}, {"inside", traffic.inside}, {"source", traffic.source}}},
          {"traffic", rows},
          {"inside_bytes", traffic.all.inside},
          {"between_bytes", traffic.all.between},
          {"hosts", hosts}};
}

std::string hostTrafficText(const program::Program &program, const HostTraffic &traffic) {
  size_t hosts = traffic.hosts.size(), each = traffic.hosts[0].ranks.size();
  std::string text = fmt::format("{} host{} of {} rank{}, placed by {}{}{}\n", hosts, hosts == 1 ? "" : "s", each, each == 1 ? "" : "s",
                                 traffic.order.empty() ? "nothing: one rank" : traffic.order,
                                 traffic.inside.empty() ? "" : "; inside a host: " + traffic.inside,
                                 traffic.source.empty() ? " (the mesh's order)" : " (" + traffic.source + ")");
  constexpr size_t shown = 8;
  std::vector<size_t> some;
  for (size_t host = 0; host < hosts; ++host)
    if (hosts <= shown || host + 2 < shown || host + 1 == hosts)
      some.push_back(host);
  auto ranksOf = [&](size_t host) { // ascending, whatever their order on the host
    std::vector<int64_t> ranks = traffic.hosts[host].ranks;
    std::sort(ranks.begin(), ranks.end());
    return ranksText(runsOf(ranks));
  };
  size_t width = 0;
  for (size_t host : some)
    width = std::max(width, ranksOf(host).size());
  for (size_t host : some) {
    if (host + 1 == hosts && some.size() < hosts)
      text += fmt::format("  ... {} more, all in --json\n", hosts - some.size());
    std::string box = boxText(program, traffic.hosts[host].ranks);
    text += TableRow(2).left(fmt::format("host {}", host), 11).left(ranksOf(host), box.empty() ? 0 : width + 3).text(box).str();
  }
  if (traffic.rows.empty())
    return text + "\nranks send each other nothing\n";
  text += fmt::format("\nbytes per {}, all ranks together\n", stepWord(program));
  auto line = [&](const std::string &over, const std::string &kind, const std::string &inside, const std::string &between) {
    text += TableRow(2).left(over, 12).left(kind, 16).right(inside, 14).right(between, 16).str();
  };
  line("over", "", "inside hosts", "between hosts");
  auto lines = [&](const std::string &over, const std::string &kind, const TrafficBytes &bytes, const TrafficBytes &worst) {
    line(over, kind, human(bytes.inside), human(bytes.between));
    if (worst.inside > bytes.inside || worst.between > bytes.between)
      line("", "at most", human(worst.inside), human(worst.between));
  };
  for (const TrafficRow &row : traffic.rows)
    lines(row.over, row.kind, row.bytes, row.worst);
  lines("all", "", traffic.all, traffic.allWorst);
  const HostShare *busiest = &traffic.hosts[0];
  for (const HostShare &host : traffic.hosts)
    if (host.sent + host.received > busiest->sent + busiest->received)
      busiest = &host;
  if (traffic.all.between > 0)
    text += fmt::format("\nbusiest: host {} sends {} to other hosts and receives {}\n", busiest - traffic.hosts.data(),
                        human(busiest->sent), human(busiest->received));
  return text;
}

} // namespace npar::show
