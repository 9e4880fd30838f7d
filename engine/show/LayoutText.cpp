// Writes a Layout for people. Equal blocks are one row.
#include "engine/show/Layout.h"

#include "engine/program/Ranks.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/CommonPath.h"
#include "engine/show/LayoutWords.h"
#include "engine/show/RankList.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace npar::show {

using readable::TableRow;

namespace {

std::string bytesCell(uint64_t bytes) { return bytes == 0 ? "-" : readable::humanBytes(static_cast<double>(bytes)); }

/// "samples; head, hidden of parameters; shares of optimizer".
std::string dividesText(const AxisLayout &axis) {
  std::vector<std::string> parts;
  if (axis.samples)
    parts.push_back("samples");
  if (axis.stages)
    parts.push_back("stages");
  if (!axis.inputs.empty())
    parts.push_back(fmt::format("{} of inputs", fmt::join(axis.inputs, ", ")));
  if (!axis.parameters.empty())
    parts.push_back(fmt::format("{} of parameters", fmt::join(axis.parameters, ", ")));
  if (!axis.shares.empty())
    parts.push_back(fmt::format("storage of {} (ZeRO)", fmt::join(axis.shares, ", ")));
  return parts.empty() ? "nothing that is stored" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string axesTable(const Layout &layout) {
  std::string text = TableRow(2).left("axis", 8).right("size", 6).left("  group of rank 0", 26).text("its ranks divide").str();
  for (uint32_t axis = 0; axis < layout.axes.size(); ++axis) {
    const AxisLayout &one = layout.axes[axis];
    text += TableRow(2)
                .left(one.name, 8)
                .right(std::to_string(one.size), 6)
                .left("  " + numbersText(layout.groupOf(0, {axis}), 22), 26)
                .text(dividesText(one))
                .str();
  }
  return text;
}

std::string ranksTable(const Layout &layout) {
  constexpr int64_t all = 16, first = 8;
  std::vector<int64_t> shown;
  for (int64_t rank = 0; rank < layout.world; ++rank)
    if (layout.world <= all || rank < first || rank + 1 == layout.world)
      shown.push_back(rank);
  bool hosts = !layout.hostOf.empty();
  size_t modelWidth = 16, coordinatesWidth = 14;
  for (int64_t rank : shown) {
    modelWidth = std::max(modelWidth, numbersText(layout.groupOf(rank, layout.modelAxes), 30).size() + 3);
    coordinatesWidth = std::max(coordinatesWidth, layout.coordinatesText(rank).size() + 3);
  }
  auto row = [&](const std::string &rank, const std::string &host, const std::string &local, const std::string &coordinates,
                 const std::string &stage, const std::string &model, const std::string &replicas) {
    TableRow line(2);
    line.left(rank, 8);
    if (hosts)
      line.left(host, 6).left(local, 12);
    return line.left(coordinates, coordinatesWidth).left(stage, 7).left(model, modelWidth).text(replicas).str();
  };
  std::string text = row("rank", "host", "local rank", "coordinates", "stage", "model on ranks", "replicas on ranks");
  for (int64_t rank : shown) {
    if (rank + 1 == layout.world && layout.world > all)
      text += fmt::format("  ... {} more, each by --rank, all in --json\n", layout.world - first - 1);
    std::string host = hosts ? std::to_string(layout.hostOf[static_cast<size_t>(rank)]) : "";
    std::string local = hosts ? std::to_string(layout.localOf[static_cast<size_t>(rank)]) : "";
    text += row(std::to_string(rank), host, local, layout.coordinatesText(rank), std::to_string(layout.stageOf(rank).stage),
                numbersText(layout.groupOf(rank, layout.modelAxes), 30), numbersText(layout.groupOf(rank, layout.replicaAxes), 30));
  }
  return text;
}

/// Remarks on a parameter of this stage: tied, frozen and so on.
std::string tiedText(const StageLayout &stage, const ParameterLayout &parameter, uint32_t chunk) {
  std::vector<std::string> remarks;
  std::vector<uint32_t> others;
  std::copy_if(parameter.stages.begin(), parameter.stages.end(), std::back_inserter(others),
               [&](uint32_t one) { return one != stage.stage; });
  if (!others.empty())
    remarks.push_back(fmt::format("tied, also in stage {}", fmt::join(others, ", ")));
  else if (parameter.tied)
    remarks.push_back("tied: used twice");
  if (!parameter.chunks.empty() && parameter.chunks.front() != chunk)
    remarks.push_back(fmt::format("stored in chunk {}", parameter.chunks.front()));
  if (parameter.chunks.empty())
    remarks.push_back("not used");
  if (parameter.state)
    remarks.push_back("state of the model");
  if (parameter.frozen)
    remarks.push_back("frozen");
  return fmt::format("{}", fmt::join(remarks, "; "));
}

/// Blocks and parameters of one stage, by chunk, with the bytes of each rank. A parameter of several chunks counts in the first.
std::string blocksTable(const StageLayout &stage) {
  auto row = [](const std::string &name, const std::string &tensors, uint64_t parameters, uint64_t gradients, uint64_t optimizer,
                const std::string &remark) {
    TableRow line(4);
    line.left(name, 30).right(tensors, 8).right(bytesCell(parameters), 13).right(bytesCell(gradients), 12).right(bytesCell(optimizer), 12);
    return (remark.empty() ? line : line.text("  " + remark)).str();
  };
  std::string text;
  uint64_t all[3] = {0, 0, 0};
  size_t tensors = 0;
  for (uint32_t chunk = 0; chunk < stage.chunks; ++chunk) {
    if (stage.chunks > 1)
      text += fmt::format("  chunk {}\n", chunk);
    for (const BlockRange &block : blocksOf(stage, chunk)) {
      uint64_t bytes[3] = {0, 0, 0};
      for (const ParameterLayout *parameter : block.parameters) {
        if (!parameter->chunks.empty() && parameter->chunks.front() != chunk)
          continue;
        bytes[0] += parameter->bytesOf("parameters"), bytes[1] += parameter->bytesOf("gradients");
        bytes[2] += parameter->bytesOf("optimizer"), ++tensors;
      }
      std::string remark = block.first < 0 ? tiedText(stage, *block.parameters.front(), chunk) : "";
      text += row(block.text(), std::to_string(block.parameters.size()), bytes[0], bytes[1], bytes[2], remark);
      for (size_t i = 0; i < 3; ++i)
        all[i] += bytes[i];
    }
  }
  return text + row("all", std::to_string(tensors), all[0], all[1], all[2], "");
}

/// Parameters of all stages with the same division, equal blocks joined.
struct PartRow {
  std::string name, part;
  const ParameterLayout *parameter = nullptr;
  int64_t firstRank = 0;           ///< a rank that has it
  std::vector<std::string> shares; ///< of parameters, gradients, optimizer
  std::set<std::string> tensors;
};

std::vector<PartRow> partRowsOf(const Layout &layout) {
  std::vector<PartRow> rows;
  std::map<std::vector<std::string>, size_t> known;
  for (const StageLayout &stage : layout.stages)
    for (const ParameterLayout &parameter : stage.parameters) {
      PartRow row{blockPattern(parameter.name), partText(parameter), &parameter, stage.firstRank, {}, {}};
      std::vector<std::string> key = {row.name, row.part};
      for (const char *what : {"parameters", "gradients", "optimizer"}) {
        row.shares.push_back(shareText(layout, parameter, what));
        key.push_back(row.shares.back());
      }
      auto [place, isNew] = known.try_emplace(key, rows.size());
      if (isNew)
        rows.push_back(std::move(row));
      rows[place->second].tensors.insert(parameter.name);
    }
  return rows;
}

std::string partsTable(const std::vector<PartRow> &rows) {
  size_t name = 12, part = 12, share = 12;
  for (const PartRow &row : rows) {
    name = std::max(name, row.name.size() + 2), part = std::max(part, row.part.size() + 2);
    for (size_t i = 0; i < 2; ++i)
      share = std::max(share, row.shares[i].size() + 2);
  }
  auto line = [&](const std::string &tensor, const std::string &count, const std::string &holds, const std::vector<std::string> &shares) {
    TableRow row(2);
    row.left(tensor, name).right(count, 7).left("  " + holds, part + 2).left(shares[0], share).left(shares[1], share);
    return row.text(shares[2]).str();
  };
  std::string text = line("tensor", "tensors", "part of a rank", {"parameters", "gradients", "optimizer"});
  for (const PartRow &row : rows)
    text += line(row.name, std::to_string(row.tensors.size()), row.part, row.shares);
  return text;
}

/// Coordinates of a rank on some axes: "dp = 1", "dp, ep = 0, 1".
std::string coordinatesOn(const Layout &layout, int64_t rank, const std::vector<uint32_t> &axes) {
  std::vector<int64_t> all = program::coordinatesOf(*layout.program, rank), some;
  for (uint32_t axis : axes)
    some.push_back(all[axis]);
  return fmt::format("{} = {}", axesNames(layout, axes), fmt::join(some, ", "));
}

/// The table of ZeRO's shares: rows of tensors, a column for each rank that has one.
std::string sharesTable(const Layout &layout, const std::vector<PartRow> &rows) {
  constexpr size_t columns = 4;
  size_t name = 12;
  for (const PartRow &row : rows)
    name = std::max(name, row.name.size() + 2);
  std::string text;
  std::vector<uint32_t> header;
  auto line = [&](const std::string &first, const std::vector<std::string> &cells) {
    TableRow row(2);
    row.left(first, name);
    for (size_t i = 0; i + 1 < cells.size(); ++i)
      row.left(cells[i], cells[i] == "..." ? 5 : 24);
    text += row.text(cells.back()).str();
  };
  for (const PartRow &row : rows) {
    std::set<std::vector<uint32_t>> done;
    for (const StoredVariable &stored : row.parameter->stored) {
      if (stored.shares.empty() || !done.insert(stored.shares).second)
        continue;
      std::vector<std::string> names, ranges;
      for (int64_t rank : someOf(layout.groupOf(row.firstRank, stored.shares), columns)) {
        names.push_back(rank < 0 ? "..." : coordinatesOn(layout, rank, stored.shares));
        ranges.push_back(rank < 0 ? "..." : rangeText(layout, rank, stored));
      }
      if (header != stored.shares)
        line("tensor", names);
      header = stored.shares;
      line(row.name, ranges);
    }
  }
  return text.empty() ? "" : "\nshares of that part: elements [begin, end)\n" + text;
}

std::string stagesText(const Layout &layout) {
  constexpr size_t all = 16, first = 8;
  std::string text;
  size_t count = layout.stages.size();
  for (size_t i = 0; i < count; ++i) {
    if (count > all && i >= first && i + 1 < count)
      continue;
    if (count > all && i + 1 == count)
      text += fmt::format("\n... {} more stages, all in --json\n", count - first - 1);
    const StageLayout &stage = layout.stages[i];
    text += "\n" + TableRow()
                       .left(fmt::format("stage {}", stage.stage), 34)
                       .right("tensors", 8)
                       .right("parameters", 13)
                       .right("gradients", 12)
                       .right("optimizer", 12)
                       .str();
    text += fmt::format("  {}{}; bytes on each\n", stage.ranks, stage.coordinates.empty() ? "" : ", " + stage.coordinates);
    text += blocksTable(stage);
  }
  return text;
}

} // namespace

std::string layoutText(const Layout &layout) {
  int64_t copy = static_cast<int64_t>(layout.groupOf(0, layout.modelAxes).size());
  std::string text = fmt::format("{}: {} rank{}, {} cop{} of the model{}on {} rank{}\n\n", layout.title, layout.world,
                                 layout.world == 1 ? "" : "s", layout.world / copy, layout.world == copy ? "y" : "ies",
                                 layout.world == copy ? " " : ", each ", copy, copy == 1 ? "" : "s");
  text += axesTable(layout) + "\n" + ranksTable(layout) + stagesText(layout);
  std::vector<PartRow> rows = partRowsOf(layout);
  return text + "\n" + partsTable(rows) + sharesTable(layout, rows);
}

std::string rankLayoutText(const Layout &layout, int64_t rank) {
  const StageLayout &stage = layout.stageOf(rank);
  std::string host = layout.hostOf.empty() ? ""
                                           : fmt::format(", host {}, local rank {}", layout.hostOf[static_cast<size_t>(rank)],
                                                         layout.localOf[static_cast<size_t>(rank)]);
  std::string text = fmt::format("{}: rank {} of {}{}\n\n", layout.title, rank, layout.world, host);
  text += fmt::format("  coordinates  {}\n  stage        {}\n", layout.coordinatesText(rank), stage.stage);
  text += fmt::format("  model        {}\n", ranksText(runsOf(layout.groupOf(rank, layout.modelAxes)), 80));
  text += fmt::format("  replicas     {}\n", ranksText(runsOf(layout.groupOf(rank, layout.replicaAxes)), 80));
  for (uint32_t axis = 0; axis < layout.axes.size(); ++axis)
    text += fmt::format("  along {:<6} {}\n", layout.axes[axis].name, ranksText(runsOf(layout.groupOf(rank, {axis})), 80));
  struct StoredRow {
    const StoredVariable *stored;
    std::string rectangle, elements;
  };
  std::vector<StoredRow> rows;
  size_t name = 40, rectangle = 42;
  for (const ParameterLayout &parameter : stage.parameters)
    for (const StoredVariable &stored : parameter.stored) {
      program::OwnedPiece piece = program::keptPiece(*layout.program, program::coordinatesOf(*layout.program, rank), *stored.piece);
      rows.push_back({&stored, rectangleText(piece, parameter), fmt::format("[{}, {})", piece.begin, piece.end)});
      name = std::max(name, stored.name.size()), rectangle = std::max(rectangle, rows.back().rectangle.size());
    }
  auto line = [&](const std::string &stored, const std::string &type, const std::string &part, const std::string &elements,
                  const std::string &bytes, const std::string &remark) {
    return TableRow(2)
        .left(stored, name + 2)
        .left(type, 6)
        .left(part, rectangle + 2)
        .left(elements, 26)
        .right(bytes, 14)
        .text(remark)
        .str();
  };
  text += "\n" + line("stored", "type", "rectangle", "elements", "bytes", "");
  for (const StoredRow &row : rows)
    text += line(row.stored->name, row.stored->type, row.rectangle, row.elements, std::to_string(row.stored->bytes),
                 row.stored->reducedLater ? "  larger until the update" : "");
  return text;
}

} // namespace npar::show
