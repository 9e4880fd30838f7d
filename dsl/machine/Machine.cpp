// The table of a machine's figures, their units, and machines as text.
#include "dsl/machine/Machine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

namespace npar::dsl {

std::string Figure::path() const { return std::string(group) + "." + (*type ? std::string(type) + "." : "") + name; }

std::vector<Figure> figuresOf(Machine &m) {
  using Kind = FigureKind;
  using Need = FigureNeed;
  bool isDevice = m.kind == MachineKind::Device;
  std::vector<Figure> figures;
  if (isDevice)
    figures = {
        {"device", "", "count", Kind::Devices, Need::Always, false, "in a host; each has a rank", &m.ranks},
        {"device", "", "memory", Kind::Bytes, Need::Always, false, "memory of one device", &m.room},
        {"device", "", "units", Kind::Units, Need::Never, false, "multiprocessors; each computes one tile of a product at a time",
         &m.units},
        {"device", "", "reserved", Kind::Bytes, Need::Always, true, "memory that no program gets: context, libraries, messages",
         &m.reserved},
        {"device", "", "fragments", Kind::Share, Need::Always, true, "share of the memory lost between allocations", &m.fragments},
    };
  else
    figures = {
        {"processor", "", "cores", Kind::Cores, Need::Always, false, "shared by the ranks on the machine", &m.cores},
        {"processor", "", "ranks", Kind::Ranks, Need::Always, false, "at most on one machine; more ranks use more machines", &m.ranks},
        {"processor", "", "spread", Kind::Share, Need::Always, true, "the speed that each further core adds to a long step", &m.spread},
        {"processor", "", "grain", Kind::Seconds, Need::Always, true, "a step that takes this long on one core gains half of that",
         &m.grain},
        {"processor", "", "memory", Kind::Bytes, Need::Never, false, "shared by its ranks", &m.room},
    };
  figures.push_back({"host", "", "price", Kind::Price, Need::Never, false, "price of a host with everything in it", &m.price});
  figures.push_back({"step", "", "launch", Kind::Seconds, Need::Always, true, "an empty step", &m.launch});
  if (!isDevice) {
    figures.push_back({"cache", "", "bandwidth", Kind::Bandwidth, Need::Group, false, "operands of a step that are in a core's own cache",
                       &m.cache.bandwidth});
    figures.push_back({"cache", "", "size", Kind::Bytes, Need::Group, false, "bytes of a step's operands that fit in it", &m.cache.size});
    figures.push_back({"memory", "", "near", Kind::Bandwidth, Need::Always, false, "operands of a step that are in the caches", &m.near});
    figures.push_back(
        {"memory", "", "size", Kind::Bytes, Need::Always, false, "bytes of a step's operands that count as near", &m.nearSize});
  }
  figures.push_back(
      {"memory", "", "far", Kind::Bandwidth, Need::Always, false, isDevice ? "operands of a step" : "all other operands", &m.far});
  figures.push_back({"memory", "", "move", Kind::Bandwidth, Need::Always, false, "bytes that a step zeroes or copies", &m.move});
  figures.push_back({"kernel", "", "operation", Kind::Seconds, Need::Always, true,
                     "one element of an operation in a generated kernel; twice in f64", &m.operation});
  figures.push_back(
      {"kernel", "", "function", Kind::Seconds, Need::Always, true, "extra time of an exponential or similar function", &m.function});
  constexpr std::array<const char *, linkLevels.size()> messages = {"a message between the two devices of a pair",
                                                                    "a message between two ranks of a host", "between hosts of a rack",
                                                                    "between other hosts"};
  for (size_t level = 0; level < linkLevels.size(); ++level) {
    LinkFigures &link = m.links[level];
    const char *word = linkLevels[level];
    Need need = level == static_cast<size_t>(LinkLevel::Host) ? Need::Always : Need::Group;
    if (level == static_cast<size_t>(LinkLevel::Rack))
      figures.push_back({"link", word, "hosts", Kind::Hosts, need, false, "hosts in one rack", &link.hosts});
    figures.push_back({"link", word, "bandwidth", Kind::Bandwidth, need, false, messages[level], &link.bandwidth});
    figures.push_back({"link", word, "latency", Kind::Seconds, need, true, "before its first byte", &link.latency});
    figures.push_back(
        {"link", word, "message", Kind::Bandwidth, Need::Never, false, "between two ranks alone, not of a collective", &link.message});
    figures.push_back({"link", word, "holds", Kind::Share, Need::Never, true,
                       "share of a message's time in which its two ranks cannot compute", &link.holds});
    figures.push_back({"link", word, "reduce", Kind::Bandwidth, Need::Never, false, "a vector that the network sums", &link.reduce});
    figures.push_back({"link", word, "hop", Kind::Seconds, Need::Never, false, "a step of a ring of ranks", &link.hop});
    figures.push_back(
        {"link", word, "tree", Kind::Share, Need::Never, false, "share of the bandwidth that all-reduces along trees reach", &link.tree});
    figures.push_back({"link", word, "beside", Kind::Share, Need::Never, true,
                       "share of a collective that overlaps its product, piece by piece", &link.beside});
  }
  if (isDevice) {
    figures.push_back({"tier", "host", "bandwidth", Kind::Bandwidth, Need::Group, false, "a copy between a device and the host's memory",
                       &m.hostTier.bandwidth});
    figures.push_back({"tier", "host", "latency", Kind::Seconds, Need::Group, true, "before its first byte", &m.hostTier.latency});
    figures.push_back({"tier", "host", "memory", Kind::Bandwidth, Need::Group, false,
                       "operands of a step that a rank's share of the host's processor computes", &m.hostTier.memory});
  }
  figures.push_back({"tier", "file", "bandwidth", Kind::Bandwidth, Need::Group, false, "a copy between the host's memory and files",
                     &m.fileTier.bandwidth});
  figures.push_back({"tier", "file", "latency", Kind::Seconds, Need::Group, true, "before its first byte", &m.fileTier.latency});
  Need ofType = isDevice ? Need::Group : Need::Always;
  auto addProduct = [&](ProductFigures &product, const char *word) {
    figures.push_back({"product", word, "rate", Kind::Rate, ofType, false, "a large matrix product", &product.rate});
    figures.push_back(
        {"product", word, "rows", Kind::Rows, ofType, true, "a product with this many rows takes twice as long", &product.rows});
    figures.push_back({"product", word, "columns", Kind::Columns, ofType, true, "the same for columns", &product.columns});
    figures.push_back({"product", word, "depth", Kind::Terms, ofType, true, "the same for terms of each sum", &product.depth});
    if (isDevice) {
      figures.push_back({"product", word, "tile_rows", Kind::Rows, Need::Never, false, "rows of the largest tile that a unit computes",
                         &product.tileRows});
      figures.push_back({"product", word, "tile_columns", Kind::Columns, Need::Never, false, "its columns", &product.tileColumns});
      figures.push_back(
          {"product", word, "halved", Kind::Share, Need::Never, false, "share of the rate with tiles of half the size", &product.halved});
    }
    figures.push_back({"product", word, "peak", Kind::Rate, isDevice ? Need::Group : Need::Never, false,
                       "rate that the maker states, without sparsity", &product.peak});
  };
  for (size_t type = 0; type < productTypes; ++type)
    addProduct(m.products[type], machineTypes[type]);
  if (isDevice)
    addProduct(m.tf32, "tf32");
  for (auto [group, list, meaning] : {std::tuple("attention", &m.attentions, "attention over a long sequence"),
                                      std::tuple("attention_grad", &m.gradients, "gradients of attention over a long sequence")})
    for (size_t type = 0; type < machineTypes.size(); ++type) {
      AttentionFigures &attention = (*list)[type];
      figures.push_back({group, machineTypes[type], "rate", Kind::Rate, ofType, false, meaning, &attention.rate});
      figures.push_back(
          {group, machineTypes[type], "rows", Kind::Rows, ofType, true, "this many rows take twice as long", &attention.rows});
    }
  return figures;
}

std::vector<Figure> figuresBetween(Machine &machine) {
  std::vector<Figure> figures = figuresOf(machine);
  const char *cluster = linkLevels[static_cast<size_t>(LinkLevel::Cluster)];
  figures.erase(std::remove_if(figures.begin(), figures.end(),
                               [&](const Figure &figure) { return std::string(figure.group) != "link" || figure.type != cluster; }),
                figures.end());
  return figures;
}

bool computesIn(const Machine &machine, size_t type) {
  if (!machine.kinds.empty())
    return std::all_of(machine.kinds.begin(), machine.kinds.end(), [&](const HostKind &kind) { return computesIn(kind.machine, type); });
  return (type >= productTypes || machine.products[type].rate > 0) && machine.attentions[type].rate > 0 && machine.gradients[type].rate > 0;
}

void standIn(Machine &machine, size_t lacking, size_t known) {
  for (HostKind &kind : machine.kinds)
    standIn(kind.machine, lacking, known);
  if (!machine.kinds.empty() || computesIn(machine, lacking))
    return;
  if (lacking < productTypes && known < productTypes)
    machine.products[lacking] = machine.products[known];
  machine.attentions[lacking] = machine.attentions[known];
  machine.gradients[lacking] = machine.gradients[known];
}

const std::vector<FigureUnit> &unitsOf(FigureKind kind) {
  static const std::vector<FigureUnit> cores = {{"core", 1}, {"cores", 1}}, ranks = {{"rank", 1}, {"ranks", 1}},
                                       devices = {{"device", 1}, {"devices", 1}}, hosts = {{"host", 1}, {"hosts", 1}},
                                       price = {{"USD/h", 1}}, share = {{"%", 0.01}},
                                       seconds = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}},
                                       bytes = {{"B", 1},           {"kB", 1e3}, {"KiB", 1024.0},      {"MB", 1e6},
                                                {"MiB", 1048576.0}, {"GB", 1e9}, {"GiB", 1073741824.0}},
                                       bandwidth = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}},
                                       rate = {{"FLOP/s", 1},    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                                               {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}},
                                       rows = {{"row", 1}, {"rows", 1}}, columns = {{"column", 1}, {"columns", 1}},
                                       terms = {{"term", 1}, {"terms", 1}}, units = {{"unit", 1}, {"units", 1}};
  switch (kind) {
  case FigureKind::Cores:
    return cores;
  case FigureKind::Ranks:
    return ranks;
  case FigureKind::Devices:
    return devices;
  case FigureKind::Hosts:
    return hosts;
  case FigureKind::Price:
    return price;
  case FigureKind::Share:
    return share;
  case FigureKind::Seconds:
    return seconds;
  case FigureKind::Bytes:
    return bytes;
  case FigureKind::Bandwidth:
    return bandwidth;
  case FigureKind::Rate:
    return rate;
  case FigureKind::Rows:
    return rows;
  case FigureKind::Columns:
    return columns;
  case FigureKind::Units:
    return units;
  case FigureKind::Terms:
    break;
  }
  return terms;
}

const char *describe(FigureKind kind) {
  switch (kind) {
  case FigureKind::Cores:
    return "a number of cores";
  case FigureKind::Ranks:
    return "a number of ranks";
  case FigureKind::Devices:
    return "a number of devices";
  case FigureKind::Hosts:
    return "a number of hosts";
  case FigureKind::Price:
    return "a price";
  case FigureKind::Share:
    return "a share";
  case FigureKind::Seconds:
    return "a time";
  case FigureKind::Bytes:
    return "a number of bytes";
  case FigureKind::Bandwidth:
    return "a bandwidth";
  case FigureKind::Rate:
    return "a rate of floating-point operations";
  case FigureKind::Rows:
    return "a number of rows";
  case FigureKind::Columns:
    return "a number of columns";
  case FigureKind::Units:
    return "a number of units";
  case FigureKind::Terms:
    break;
  }
  return "a number of terms";
}

std::string figureText(FigureKind kind, double value) {
  const std::vector<FigureUnit> &units = unitsOf(kind);
  bool plural = units.size() == 2 && units[0].factor == units[1].factor; // or one unit
  const FigureUnit *best = plural ? &units[value == 1 ? 0 : 1] : &units.front();
  if (!plural)
    for (const FigureUnit &unit : units)
      if (std::abs(value) >= unit.factor && unit.factor != 1024.0 && unit.factor != 1048576.0 && unit.factor != 1073741824.0)
        best = &unit;
  char text[64];
  double number = value / best->factor;
  std::snprintf(text, sizeof text, number >= 1000 ? "%.0f %s" : "%.4g %s", number, best->word);
  return text;
}

/// "product f32"
static std::string groupOf(const Figure &figure) { return std::string(figure.group) + (*figure.type ? " " : "") + figure.type; }

std::vector<Figure> figuresSaid(Machine &machine) {
  std::vector<Figure> figures = machine.kinds.empty() ? figuresOf(machine) : figuresBetween(machine);
  std::set<std::string> groups; // that have a figure
  for (const Figure &figure : figures)
    if (*figure.value != 0)
      groups.insert(groupOf(figure));
  figures.erase(std::remove_if(figures.begin(), figures.end(),
                               [&](const Figure &figure) {
                                 bool group = groups.count(groupOf(figure));
                                 return *figure.value == 0 &&
                                        (figure.need == FigureNeed::Never || (figure.need == FigureNeed::Group && !group));
                               }),
                figures.end());
  return figures;
}

std::string printMachine(const Machine &machine) {
  Machine copy = machine;
  std::string text = "machine " + machine.name + " {\n", open;
  for (const HostKind &kind : machine.kinds)
    text += "    hosts " + std::to_string(kind.hosts) + " of \"" + kind.word + "\"\n";
  for (const Figure &figure : figuresSaid(copy)) {
    std::string group = groupOf(figure);
    if (group != open)
      text += (open.empty() ? "    " : "    }\n    ") + group + " {\n";
    open = group;
    std::string line = std::string("        ") + figure.name + " " + figureText(figure.kind, *figure.value);
    text += line + std::string(line.size() < 36 ? 36 - line.size() : 1, ' ') + "# " + figure.meaning + "\n";
  }
  return text + "    }\n}\n";
}

} // namespace npar::dsl
