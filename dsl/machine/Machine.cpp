// The table of a machine's figures, their units, and machines as text.
#include "dsl/machine/Machine.h"

#include <cmath>
#include <cstdio>
#include <tuple>

namespace npar::dsl {

std::string Figure::path() const { return std::string(group) + "." + (*type ? std::string(type) + "." : "") + name; }

std::vector<Figure> figuresOf(Machine &m) {
  using Kind = FigureKind;
  std::vector<Figure> figures = {
      {"processor", "", "cores", Kind::Cores, false, "that the ranks on the machine share", &m.cores},
      {"processor", "", "ranks", Kind::Ranks, false, "that stand on one such machine at most; others have machines of their own", &m.ranks},
      {"processor", "", "spread", Kind::Share, true, "what each further core adds to the speed of a long step", &m.spread},
      {"processor", "", "grain", Kind::Seconds, true, "a step that lasts so long on one core gains half of that", &m.grain},
      {"step", "", "launch", Kind::Seconds, true, "a step that does nothing", &m.launch},
      {"memory", "", "near", Kind::Bandwidth, false, "operands of a step that the caches keep", &m.near},
      {"memory", "", "size", Kind::Bytes, false, "so many bytes of a step's operands count as near", &m.nearSize},
      {"memory", "", "far", Kind::Bandwidth, false, "the other operands", &m.far},
      {"memory", "", "move", Kind::Bandwidth, false, "what a step zeroes or copies", &m.move},
      {"kernel", "", "operation", Kind::Seconds, true, "one element of an operation in a generated kernel; twice in f64", &m.operation},
      {"kernel", "", "function", Kind::Seconds, true, "more for an exponential or the like", &m.function},
      {"link", "", "bandwidth", Kind::Bandwidth, false, "a message between two ranks", &m.link},
      {"link", "", "latency", Kind::Seconds, true, "before its first byte", &m.latency},
  };
  for (size_t type = 0; type < productTypes; ++type) {
    ProductFigures &product = m.products[type];
    const char *word = machineTypes[type];
    figures.push_back({"product", word, "rate", Kind::Rate, false, "a large matrix product", &product.rate});
    figures.push_back({"product", word, "rows", Kind::Rows, true, "a product of so many rows takes as long again", &product.rows});
    figures.push_back({"product", word, "columns", Kind::Columns, true, "likewise of columns", &product.columns});
    figures.push_back({"product", word, "depth", Kind::Terms, true, "likewise of terms in each sum", &product.depth});
  }
  for (auto [group, list, meaning] : {std::tuple("attention", &m.attentions, "attention to a long sequence"),
                                      std::tuple("attention_grad", &m.gradients, "the gradients of attention to a long sequence")})
    for (size_t type = 0; type < machineTypes.size(); ++type) {
      AttentionFigures &attention = (*list)[type];
      figures.push_back({group, machineTypes[type], "rate", Kind::Rate, false, meaning, &attention.rate});
      figures.push_back({group, machineTypes[type], "rows", Kind::Rows, true, "so many rows take as long again", &attention.rows});
    }
  return figures;
}

const std::vector<FigureUnit> &unitsOf(FigureKind kind) {
  static const std::vector<FigureUnit> cores = {{"core", 1}, {"cores", 1}}, ranks = {{"rank", 1}, {"ranks", 1}}, share = {{"%", 0.01}},
                                       seconds = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}},
                                       bytes = {{"B", 1},           {"kB", 1e3}, {"KiB", 1024.0},      {"MB", 1e6},
                                                {"MiB", 1048576.0}, {"GB", 1e9}, {"GiB", 1073741824.0}},
                                       bandwidth = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}},
                                       rate = {{"FLOP/s", 1},    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                                               {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}},
                                       rows = {{"row", 1}, {"rows", 1}}, columns = {{"column", 1}, {"columns", 1}},
                                       terms = {{"term", 1}, {"terms", 1}};
  switch (kind) {
  case FigureKind::Cores:
    return cores;
  case FigureKind::Ranks:
    return ranks;
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
  case FigureKind::Terms:
    break;
  }
  return "a number of terms";
}

std::string figureText(FigureKind kind, double value) {
  const std::vector<FigureUnit> &units = unitsOf(kind);
  bool plural = units.size() == 2 && units[0].factor == units[1].factor;
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

std::string printMachine(const Machine &machine) {
  Machine copy = machine;
  std::string text = "machine " + machine.name + " {\n", open;
  for (const Figure &figure : figuresOf(copy)) {
    std::string group = std::string(figure.group) + (*figure.type ? " " : "") + figure.type;
    if (group != open)
      text += (open.empty() ? "    " : "    }\n    ") + group + " {\n";
    open = group;
    std::string line = std::string("        ") + figure.name + " " + figureText(figure.kind, *figure.value);
    text += line + std::string(line.size() < 36 ? 36 - line.size() : 1, ' ') + "# " + figure.meaning + "\n";
  }
  return text + "    }\n}\n";
}

} // namespace npar::dsl
