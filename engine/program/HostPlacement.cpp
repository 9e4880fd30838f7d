// Puts ranks onto hosts: names to an order of mesh axes, the order to the ranks of each host, hosts to processes.
#include "engine/program/HostPlacement.h"

#include "engine/program/Classes.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <numeric>

namespace npar::program {

using engine::Result;
using engine::Status;

namespace {

std::string textOf(int64_t value) { return std::to_string(value); }

std::string meshText(const PlacedMesh &mesh) {
  std::string text;
  for (const PlacedAxis &axis : mesh)
    text += (text.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
  return text;
}

/// "2, 4 or 8".
std::string joinedOr(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0 ? "" : i + 1 == numbers.size() ? " or " : ", ") + textOf(numbers[i]);
  return text;
}

/// The divisors of `number` that are multiples of `unit`, ascending: all, or the eight nearest to `wanted` where they are many.
std::vector<int64_t> divisorsNear(int64_t number, int64_t unit, int64_t wanted) {
  std::vector<int64_t> found;
  for (int64_t divisor = unit; divisor <= number; divisor += unit)
    if (number % divisor == 0)
      found.push_back(divisor);
  constexpr size_t shown = 8;
  while (found.size() > shown)
    if (wanted - found.front() > found.back() - wanted)
      found.erase(found.begin());
    else
      found.pop_back();
  return found;
}

/// The mesh axes that a name refers to: the axis of this name, or the parts of an axis that was cut. Empty if there is no such axis.
std::vector<uint32_t> axesNamed(const PlacedMesh &mesh, const std::string &name) {
  std::vector<uint32_t> found;
  for (uint32_t axis = 0; axis < mesh.size(); ++axis) {
    const std::string &known = mesh[axis].name;
    if (known == name || (known.size() > name.size() && known.compare(0, name.size() + 1, name + ".") == 0))
      found.push_back(axis);
  }
  return found;
}

/// Reads the lists of names into an order, each axis once.
class OrderReader {
public:
  OrderReader(const PlacedMesh &mesh, const PlaceWords &words) : mesh(mesh), words(words), named(mesh.size()) {}

  Result<PlaceOrder> run() {
    std::vector<uint32_t> inside;
    if (Status status = read(words.inside, inside); !status.ok())
      return status;
    if (Status status = readOrder(); !status.ok())
      return status;
    PlaceOrder order{std::move(axes), static_cast<uint32_t>(inside.size())};
    order.axes.insert(order.axes.end(), inside.begin(), inside.end());
    return order;
  }

private:
  const PlacedMesh &mesh;
  const PlaceWords &words;
  std::vector<bool> named; ///< by mesh axis
  std::vector<uint32_t> axes;

  Status wrong(const std::string &what) const { return Status::badInput(words.source + ": " + what); }

  Status read(const std::vector<std::string> &names, std::vector<uint32_t> &list) {
    for (const std::string &name : names) {
      std::vector<uint32_t> meant = axesNamed(mesh, name);
      if (meant.empty() && (name == "cluster" || name == "spread"))
        return wrong("'" + name + "' orders all mesh axes and must be the only word");
      if (meant.empty())
        return wrong("unknown mesh axis '" + name + "'; the mesh has " + (mesh.empty() ? std::string("no axes") : meshText(mesh)));
      for (uint32_t axis : meant) {
        if (named[axis])
          return wrong("mesh axis '" + name + "' is given twice");
        named[axis] = true;
        list.push_back(axis);
      }
    }
    return {};
  }

  /// The axes that `inside` does not take, ordered.
  Status readOrder() {
    bool word = words.order.size() == 1 && axesNamed(mesh, words.order[0]).empty();
    bool cluster = word && words.order[0] == "cluster", spread = word && words.order[0] == "spread";
    if (words.order.empty() || cluster || spread) {
      for (uint32_t axis = 0; axis < mesh.size(); ++axis)
        if (!named[axis])
          axes.push_back(axis);
      auto kind = [&](uint32_t axis) {
        int role = static_cast<int>(mesh[axis].role);
        return cluster ? role : spread ? -role : 0;
      };
      std::stable_sort(axes.begin(), axes.end(), [&](uint32_t a, uint32_t b) { return kind(a) < kind(b); });
      return {};
    }
    if (Status status = read(words.order, axes); !status.ok())
      return status;
    for (uint32_t axis = 0; axis < mesh.size(); ++axis)
      if (!named[axis]) {
        if (mesh[axis].size > 1)
          return wrong("mesh axis '" + mesh[axis].name + "' of size " + textOf(mesh[axis].size) + " is missing; name all of " +
                       meshText(mesh));
        axes.push_back(axis);
      }
    return {};
  }
};

/// The number of ranks that stay inside a host together.
int64_t togetherOf(const PlacedMesh &mesh, const PlaceOrder &order) {
  int64_t together = 1;
  for (size_t i = order.axes.size() - order.inside; i < order.axes.size(); ++i)
    together *= mesh[order.axes[i]].size;
  return together;
}

std::string insideText(const PlacedMesh &mesh, const PlaceOrder &order) {
  std::string text;
  for (size_t i = order.axes.size() - order.inside; i < order.axes.size(); ++i)
    text += (text.empty() ? "" : ", ") + mesh[order.axes[i]].name + " = " + textOf(mesh[order.axes[i]].size);
  return text;
}

std::string ranksText(int64_t count) { return textOf(count) + (count == 1 ? " rank" : " ranks"); }

bool areAlike(const std::vector<HostRoom> &hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const HostRoom &host) { return host.ranks == hosts[0].ranks; });
}

/// The hosts do not hold as many ranks as the mesh has.
Status wrongRoom(const Program &program, const std::vector<HostRoom> &hosts, int64_t room) {
  int64_t world = worldOf(program), count = static_cast<int64_t>(hosts.size());
  std::string mesh = program.mesh()->size() ? " (" + meshText(program) + ")" : "";
  std::string text = hosts.size() == 1 ? "one host" : textOf(count) + " hosts";
  if (areAlike(hosts))
    text += " of " + ranksText(hosts[0].ranks);
  text += " hold" + std::string(count == 1 ? "s " : " ") + textOf(room) + ", and the plan has " + ranksText(world) + mesh + "; ";
  std::vector<std::string> help;
  if (areAlike(hosts) && world % hosts[0].ranks == 0)
    help.push_back(world == hosts[0].ranks ? "one host of " + ranksText(world)
                                           : textOf(world / hosts[0].ranks) + " hosts of " + ranksText(hosts[0].ranks));
  if (world % count == 0 && count > 1)
    help.push_back(textOf(count) + " hosts of " + ranksText(world / count));
  if (help.empty())
    return Status::badInput(text + joinedOr(divisorsNear(world, 1, count)) + " hosts can share them equally");
  return Status::badInput(text + help[0] + (help.size() > 1 ? " or " + help[1] : "") + " would do");
}

} // namespace

PlacedMesh placedMesh(const Program &program) {
  PlacedMesh mesh;
  for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis) {
    const MeshAxis &one = *program.mesh()->Get(axis);
    AxisRole role = fixedCoordinate(*program.classes()->Get(0), axis) >= 0 ? AxisRole::Pipeline : AxisRole::Other;
    for (uint32_t data : *program.data_axes())
      if (data == axis)
        role = AxisRole::Batch;
    mesh.push_back({one.name()->str(), one.size(), role});
  }
  return mesh;
}

std::string meshText(const Program &program) {
  std::string text;
  for (const MeshAxis *axis : *program.mesh())
    text += (text.empty() ? "" : ", ") + axis->name()->str() + " = " + std::to_string(axis->size());
  return text;
}

Result<PlaceOrder> placeOrder(const PlacedMesh &mesh, const PlaceWords &words) { return OrderReader(mesh, words).run(); }

Result<PlaceOrder> placeOrder(const Program &program, const PlaceWords &words) { return placeOrder(placedMesh(program), words); }

std::vector<int64_t> ranksInOrder(const PlacedMesh &mesh, const PlaceOrder &order) {
  std::vector<int64_t> strides(mesh.size(), 1);
  for (size_t axis = strides.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * mesh[axis].size;
  std::vector<int64_t> ranks = {0};
  for (uint32_t axis : order.axes) {
    std::vector<int64_t> longer;
    longer.reserve(ranks.size() * static_cast<size_t>(mesh[axis].size));
    for (int64_t rank : ranks)
      for (int64_t coordinate = 0; coordinate < mesh[axis].size; ++coordinate)
        longer.push_back(rank + coordinate * strides[axis]);
    ranks.swap(longer);
  }
  return ranks;
}

Result<std::vector<std::vector<int64_t>>> placeOnHosts(const Program &program, const PlaceWords &words,
                                                       const std::vector<HostRoom> &hosts) {
  PlacedMesh mesh = placedMesh(program);
  Result<PlaceOrder> order = placeOrder(mesh, words);
  if (!order.ok())
    return order.status();
  int64_t room = 0;
  for (const HostRoom &host : hosts)
    room += host.ranks;
  int64_t world = worldOf(program), together = togetherOf(mesh, *order);
  if (room != world)
    return wrongRoom(program, hosts, room);
  for (const HostRoom &host : hosts)
    if (host.ranks % together != 0)
      return Status::badInput(words.source + ": " + (hosts.size() == 1 || areAlike(hosts) ? "a host" : "host '" + host.name + "'") +
                              " of " + ranksText(host.ranks) + " has no room for whole groups of " + textOf(together) +
                              " that stay inside a host (" + insideText(mesh, *order) + "); hosts of " +
                              joinedOr(divisorsNear(world, together, host.ranks)) + " ranks would do");
  std::vector<int64_t> ranks = ranksInOrder(mesh, *order);
  std::vector<std::vector<int64_t>> placed;
  auto next = ranks.begin();
  for (const HostRoom &host : hosts) {
    placed.emplace_back(next, next + host.ranks);
    next += host.ranks;
  }
  return placed;
}

Result<std::vector<std::vector<int64_t>>> ranksOfProcesses(const Program &program, const PlaceWords &words,
                                                           const std::vector<std::string> &hosts) {
  auto processes = static_cast<int64_t>(hosts.size());
  int64_t world = worldOf(program);
  if (processes == 0 || world % processes != 0)
    return Status::badInput(textOf(processes) + " processes cannot share " + ranksText(world) +
                            (program.mesh()->size() ? " (" + meshText(program) + ")" : "") + " equally; " +
                            joinedOr(divisorsNear(world, 1, processes)) + (world == 1 ? " process" : " processes") + " would do");
  int64_t each = world / processes;
  std::vector<HostRoom> rooms;
  std::vector<size_t> roomOf;
  for (const std::string &host : hosts) {
    auto known = std::find_if(rooms.begin(), rooms.end(), [&](const HostRoom &room) { return room.name == host; });
    roomOf.push_back(static_cast<size_t>(known - rooms.begin()));
    if (known == rooms.end())
      rooms.push_back({host, 0});
    rooms[roomOf.back()].ranks += each;
  }
  Result<std::vector<std::vector<int64_t>>> placed = placeOnHosts(program, words, rooms);
  if (!placed.ok())
    return placed.status();
  std::vector<size_t> taken(rooms.size());
  std::vector<std::vector<int64_t>> result;
  for (size_t room : roomOf) {
    auto first = (*placed)[room].begin() + static_cast<int64_t>(taken[room]);
    result.emplace_back(first, first + each);
    std::sort(result.back().begin(), result.back().end());
    taken[room] += static_cast<size_t>(each);
  }
  return result;
}

} // namespace npar::program
