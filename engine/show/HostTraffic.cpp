// Counts what ranks send each other inside hosts and between them: first what each class sends to a member of its groups, all steps
// together, then who these members are.
#include "engine/show/HostTraffic.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Words.h"
#include "engine/show/PayloadBytes.h"

#include <algorithm>
#include <map>

namespace npar::show {

using namespace npar::program;

namespace {

/// A list of sums to which ranges of places add, read once at the end: thousands of collectives over a thousand members stay cheap.
class Ranges {
public:
  explicit Ranges(size_t size) : changes(size + 1) {}
  void add(size_t from, size_t to, uint64_t value) {
    changes[from] += value;
    changes[to] -= value; // wraps around and back
  }
  std::vector<uint64_t> values() const {
    std::vector<uint64_t> result;
    uint64_t value = 0;
    for (size_t i = 0; i + 1 < changes.size(); ++i)
      result.push_back(value += changes[i]);
    return result;
  }

private:
  std::vector<uint64_t> changes;
};

/// Bytes that a rank of a class sends to one other member of its group in a training step.
struct GroupVolume {
  explicit GroupVolume(size_t members) : to(members), from(members) {}
  Ranges to;                         ///< by receiving member, the same for every sender
  Ranges from;                       ///< by sending member, the same for every receiver
  std::map<uint32_t, uint64_t> next; ///< by distance: to the member that many places later
};

class Counter {
public:
  /// `bytesOf`: of a collective's input.
  Counter(const Program &program, HostTraffic &traffic, uint64_t (*bytesOf)(const Collective &))
      : program(program), traffic(traffic), bytesOf(bytesOf), strides(program.mesh()->size(), 1) {
    for (const MeshAxis *axis : *program.mesh())
      sizes.push_back(axis->size());
    for (size_t axis = strides.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * sizes[axis];
    hostOf.resize(static_cast<size_t>(worldOf(program)));
    for (size_t host = 0; host < traffic.hosts.size(); ++host)
      for (int64_t rank : traffic.hosts[host].ranks)
        hostOf[static_cast<size_t>(rank)] = static_cast<uint32_t>(host);
  }

  void count() {
    for (const RankClass *rankClass : *program.classes()) {
      readClass(*rankClass);
      for (const auto &[key, volume] : volumes)
        countGroups(*rankClass, key, volume);
      for (const auto &[way, bytes] : transfers)
        countTransfers(*rankClass, way.first, way.second, bytes);
    }
    for (auto &[axes, row] : rows)
      traffic.rows.push_back(row);
    for (const TrafficRow &row : traffic.rows)
      traffic.all.inside += row.bytes.inside, traffic.all.between += row.bytes.between;
  }

private:
  using Axes = std::vector<uint32_t>;
  using Key = std::pair<Axes, CollectiveKind>;

  const Program &program;
  HostTraffic &traffic;
  uint64_t (*const bytesOf)(const Collective &);
  std::vector<int64_t> sizes, strides;                         ///< by mesh axis
  std::vector<uint32_t> hostOf;                                ///< by rank
  std::map<Key, GroupVolume> volumes;                          ///< of the class that is counted
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> transfers; ///< of the class: bytes by axis and peer
  std::map<std::pair<Axes, std::string>, TrafficRow> rows;

  /// All that a rank of the class sends in a training step.
  void readClass(const RankClass &rankClass) {
    volumes.clear();
    transfers.clear();
    std::vector<uint64_t> times(rankClass.fragments()->size());
    for (const Task *task : *rankClass.tasks())
      ++times[task->fragment()];
    for (uint32_t index = 0; index < times.size(); ++index)
      for (const Step *step : *rankClass.fragments()->Get(index)->steps()) {
        if (times[index] == 0)
          continue;
        if (step->kind() == StepKind::Send) {
          const Transfer &transfer = *program.transfers()->Get(step->payload());
          transfers[{transfer.axis(), transfer.peer()}] += transfer.count() * sizeOf(transfer.type()) * times[index];
        }
        if (step->kind() == StepKind::Collective)
          for (uint32_t part = 0; part < partsOf(*step); ++part)
            addCollective(*program.collectives()->Get(step->payload() + part), times[index]);
      }
  }

  /// Shares of a row or of a dimension. The last ones may be short or empty; padding is never sent.
  static void addShares(const Collective &collective, uint64_t members, uint64_t element, Ranges &ranges) {
    auto split = static_cast<uint64_t>(collective.split());
    uint64_t rows = static_cast<uint64_t>(collective.outer() * collective.inner()) * element;
    uint64_t full = std::min(members, collective.whole() / split);
    ranges.add(0, full, split * rows);
    if (full < members)
      ranges.add(full, full + 1, collective.whole() % split * rows);
  }

  void addCollective(const Collective &collective, uint64_t times) {
    Axes axes(collective.axes()->begin(), collective.axes()->end());
    uint64_t members = ranksAlong(program, *collective.axes());
    GroupVolume &volume = volumes.try_emplace({axes, collective.kind()}, members).first->second;
    uint64_t element = sizeOf(collective.type()) * times, count = collective.count();
    switch (collective.kind()) {
    case CollectiveKind::AllReduce: // each member adds up a slice, which all get
      for (uint64_t member = 0; member < members; ++member) {
        uint64_t slice = (sliceBegin(count, members, member + 1) - sliceBegin(count, members, member)) * element;
        volume.to.add(member, member + 1, slice);
        volume.from.add(member, member + 1, slice);
      }
      return;
    case CollectiveKind::ReduceScatter:
      if (collective.whole() != 0)
        addShares(collective, members, element, volume.to);
      else
        volume.to.add(0, members, count / members * element);
      return;
    case CollectiveKind::AllGather:
      if (collective.whole() != 0)
        addShares(collective, members, element, volume.from);
      else
        volume.from.add(0, members, count * element);
      return;
    case CollectiveKind::AllToAll:
      volume.to.add(0, members, bytesOf(collective) / members * times);
      return;
    case CollectiveKind::Permute:
      volume.next[collective.shift()] += count * element;
      return;
    }
  }

  /// Calls `visit(rank)` for the ranks that have coordinate 0 on `axes` and the class's on those that it fixes besides.
  template <typename Visit> void eachBase(const RankClass &rankClass, const Axes &axes, Visit visit) const {
    std::vector<int64_t> ranks = {0};
    for (uint32_t axis = 0; axis < sizes.size(); ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        continue;
      int64_t fixed = fixedCoordinate(rankClass, axis);
      std::vector<int64_t> more;
      for (int64_t rank : ranks)
        for (int64_t value = fixed < 0 ? 0 : fixed; value < (fixed < 0 ? sizes[axis] : fixed + 1); ++value)
          more.push_back(rank + value * strides[axis]);
      ranks.swap(more);
    }
    for (int64_t rank : ranks)
      visit(rank);
  }

  /// The members of a group as distances from its first one, and which of them are ranks of the class.
  void readGroup(const RankClass &rankClass, const Axes &axes, std::vector<int64_t> &distances, std::vector<bool> &sends) const {
    distances = {0};
    sends = {true};
    for (uint32_t axis : axes) {
      int64_t fixed = fixedCoordinate(rankClass, axis);
      std::vector<int64_t> longer;
      std::vector<bool> more;
      for (size_t i = 0; i < distances.size(); ++i)
        for (int64_t value = 0; value < sizes[axis]; ++value) {
          longer.push_back(distances[i] + value * strides[axis]);
          more.push_back(sends[i] && (fixed < 0 || fixed == value));
        }
      distances.swap(longer);
      sends.swap(more);
    }
  }

  void add(TrafficBytes &row, uint32_t from, uint32_t to, uint64_t bytes) {
    if (from == to) {
      row.inside += bytes;
      return;
    }
    row.between += bytes;
    traffic.hosts[from].sent += bytes;
    traffic.hosts[to].received += bytes;
  }

  TrafficRow &rowOf(const Axes &axes, const std::string &kind) {
    TrafficRow &row = rows[{axes, kind}];
    if (row.kind.empty()) {
      for (uint32_t axis : axes)
        row.over += (row.over.empty() ? "" : ",") + program.mesh()->Get(axis)->name()->str();
      row.kind = kind;
    }
    return row;
  }

  /// Members of a group: how many there are and how many of them send, and the sums of what each gets of every sender, what each sender
  /// gives everyone, and what senders would get of themselves.
  struct HostPart {
    uint64_t members = 0, senders = 0, to = 0, from = 0, own = 0;
  };

  void countGroups(const RankClass &rankClass, const Key &key, const GroupVolume &volume) {
    std::vector<int64_t> distances;
    std::vector<bool> sends;
    readGroup(rankClass, key.first, distances, sends);
    std::vector<uint64_t> to = volume.to.values(), from = volume.from.values();
    TrafficBytes &row = rowOf(key.first, wordOf(key.second)).bytes;
    eachBase(rankClass, key.first, [&](int64_t base) {
      std::map<uint32_t, HostPart> parts;
      HostPart all;
      for (size_t member = 0; member < distances.size(); ++member) {
        uint32_t host = hostOf[static_cast<size_t>(base + distances[member])];
        for (HostPart *part : {&parts[host], &all}) {
          part->members += 1;
          part->to += to[member];
          part->senders += sends[member];
          part->from += sends[member] ? from[member] : 0;
          part->own += sends[member] ? to[member] : 0;
        }
        if (sends[member])
          for (const auto &[shift, bytes] : volume.next)
            add(row, host, hostOf[static_cast<size_t>(base + distances[(member + shift) % distances.size()])], bytes);
      }
      for (const auto &[host, part] : parts) {
        uint64_t sent = part.senders * (all.to - part.to) + part.from * (all.members - part.members);
        row.inside += part.senders * part.to - part.own + part.from * (part.members - 1);
        row.between += sent;
        traffic.hosts[host].sent += sent;
        traffic.hosts[host].received += (all.senders - part.senders) * part.to + (all.from - part.from) * part.members;
      }
    });
  }

  void countTransfers(const RankClass &rankClass, uint32_t axis, uint32_t peer, uint64_t bytes) {
    TrafficBytes &row = rowOf({axis}, "send").bytes;
    int64_t own = fixedCoordinate(rankClass, axis);
    eachBase(rankClass, {axis}, [&](int64_t base) {
      add(row, hostOf[static_cast<size_t>(base + own * strides[axis])], hostOf[static_cast<size_t>(base + peer * strides[axis])], bytes);
    });
  }
};

} // namespace

HostTraffic hostTraffic(const Program &program, const PlaceWords &words, std::vector<std::vector<int64_t>> places) {
  HostTraffic traffic;
  engine::Result<PlaceOrder> order = placeOrder(program, words);
  if (order.ok())
    for (size_t i = 0; i < order->axes.size(); ++i) {
      std::string name = program.mesh()->Get(order->axes[i])->name()->str();
      traffic.order += (traffic.order.empty() ? "" : ", ") + name;
      if (i + order->inside >= order->axes.size())
        traffic.inside += (traffic.inside.empty() ? "" : ", ") + name;
    }
  traffic.source = words.source;
  for (std::vector<int64_t> &ranks : places)
    traffic.hosts.push_back({std::move(ranks), 0, 0});
  HostTraffic worst = traffic;
  Counter(program, traffic, balancedBytes).count();
  bool differs = std::any_of(program.collectives()->begin(), program.collectives()->end(), [](auto *each) { return each->filled() < 1; });
  if (differs)
    Counter(program, worst, worstBytes).count();
  for (size_t row = 0; row < traffic.rows.size(); ++row) // the same rows in the same order
    traffic.rows[row].worst = differs ? worst.rows[row].bytes : traffic.rows[row].bytes;
  traffic.allWorst = differs ? worst.all : traffic.all;
  return traffic;
}

} // namespace npar::show
