// Prints fragments once, with the members of each collective and the peer of each transfer as rank numbers, then the tasks in order.
#include "tools/npar/RankText.h"

#include "engine/program/Mesh.h"
#include "tools/npar/Summary.h"

#include <fmt/format.h>

namespace npar::driver {

using namespace npar::program;

namespace {

std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

class RankPrinter {
public:
  RankPrinter(const Program &program, int64_t rank, std::ostream &out)
      : program(program), rank(rank), out(out), coordinates(coordinatesOf(program, rank)),
        rankClass(*program.classes()->Get(classOf(program, rank))) {}

  void print() {
    std::string where;
    for (size_t i = 0; i < coordinates.size(); ++i)
      where += fmt::format("{}{} = {}", where.empty() ? "" : ", ", text(program.mesh()->Get(i)->name()), coordinates[i]);
    out << fmt::format("rank {} of {}{}\nclass {}, stage {}, arena of {} bytes\n", rank, worldOf(program),
                       where.empty() ? "" : ": " + where, text(rankClass.name()), rankClass.stage(), rankClass.arena_bytes());
    printMemory();
    for (size_t i = 0; rankClass.fragments() && i < rankClass.fragments()->size(); ++i)
      printFragment(*rankClass.fragments()->Get(i));
    printTasks();
  }

private:
  std::string region(uint32_t index) const {
    const Region &region = *rankClass.regions()->Get(index);
    return region.name() && region.name()->size() ? text(region.name()) : fmt::format("region{}", index);
  }

  void printMemory() {
    out << "\nmemory\n";
    for (size_t i = 0; rankClass.regions() && i < rankClass.regions()->size(); ++i) {
      const Region &one = *rankClass.regions()->Get(i);
      out << fmt::format("  {:<16} at {:>12}, {} slot{} of {} bytes\n", region(i), one.offset(), one.slots(), one.slots() == 1 ? "" : "s",
                         one.bytes());
    }
    out << "\npieces of variables\n";
    for (size_t i = 0; rankClass.pieces() && i < rankClass.pieces()->size(); ++i)
      printPiece(*rankClass.pieces()->Get(i));
  }

  /// Which part of the variable lies here: global index ranges, from this rank's coordinates.
  void printPiece(const Piece &piece) {
    const Variable &variable = *program.variables()->Get(piece.variable());
    std::string ranges;
    for (size_t d = 0; piece.dimensions() && d < piece.dimensions()->size(); ++d) {
      const PieceDimension &dimension = *piece.dimensions()->Get(d);
      int64_t part = 0;
      for (uint32_t a = 0; a < dimension.axis_count(); ++a) {
        uint32_t axis = piece.mesh_axes()->Get(dimension.first_axis() + a);
        part = part * program.mesh()->Get(axis)->size() + coordinates[axis];
      }
      std::string name = variable.axes() && d < variable.axes()->size() ? text(variable.axes()->Get(d)) : std::to_string(d);
      ranges += fmt::format("{}{} {}..{} of {}", d ? ", " : "", name, part * dimension.local(), (part + 1) * dimension.local(),
                            dimension.global());
    }
    out << fmt::format("  static+{:<10} {} [{}]\n", piece.offset(), text(variable.name()), ranges);
  }

  std::string operands(const Fragment &fragment, const Step &step, uint32_t first, uint32_t count) const {
    std::string list;
    for (uint32_t i = first; i < first + count; ++i) {
      const Operand &operand = *fragment.operands()->Get(step.first_operand() + i);
      list += fmt::format("{}{}+{}:{}", i == first ? "" : ", ", region(operand.region()), operand.offset(), operand.bytes());
    }
    return list;
  }

  std::string members(const Collective &collective) const {
    std::vector<int64_t> group = groupOf(program, collective, rank);
    std::string list;
    for (size_t i = 0; i < group.size(); ++i) {
      if (i == 16 && group.size() > 18)
        return list + fmt::format(", ... ({} ranks)", group.size());
      list += (i ? ", " : "") + std::to_string(group[i]);
    }
    return list;
  }

  std::string what(const Step &step) const {
    switch (step.kind()) {
    case StepKind::Kernel:
      return "kernel " + text(program.kernels()->Get(step.payload())->symbol());
    case StepKind::Matmul: {
      const Matmul &matmul = *program.matmuls()->Get(step.payload());
      return fmt::format("matmul {}x{}x{}{}", matmul.m(), matmul.n(), matmul.k(), matmul.accumulate() ? " accumulate" : "");
    }
    case StepKind::Collective: {
      const Collective &collective = *program.collectives()->Get(step.payload());
      return fmt::format("{} of {} elements with ranks [{}]", nameOf(collective.kind()), collective.count(), members(collective));
    }
    case StepKind::Send:
    case StepKind::Receive: {
      const Transfer &transfer = *program.transfers()->Get(step.payload());
      std::vector<int64_t> place = coordinates;
      place[transfer.axis()] = transfer.peer();
      return fmt::format("{} {} elements {} rank {}", step.kind() == StepKind::Send ? "send" : "receive", transfer.count(),
                         step.kind() == StepKind::Send ? "to" : "from", rankAt(program, place));
    }
    case StepKind::Zero:
      return "zero";
    case StepKind::Copy:
      return "copy";
    }
    return "?";
  }

  void printFragment(const Fragment &fragment) {
    out << fmt::format("\nfragment {} ({})\n", text(fragment.name()), EnumNamePhase(fragment.phase()));
    for (size_t i = 0; fragment.steps() && i < fragment.steps()->size(); ++i) {
      const Step &step = *fragment.steps()->Get(i);
      std::string after;
      for (uint32_t d = 0; d < step.dependency_count(); ++d)
        after += fmt::format("{}{}", d ? " " : " after ", fragment.dependencies()->Get(step.first_dependency() + d));
      out << fmt::format("  {:>4} {}({}) -> ({}){}", i, what(step), operands(fragment, step, 0, step.inputs()),
                         operands(fragment, step, step.inputs(), step.outputs()), after);
      if (program.labels() && step.label() < program.labels()->size()) {
        const Label &label = *program.labels()->Get(step.label());
        out << "  # " << text(label.text());
        if (label.path() && label.path()->size())
          out << " of " << text(label.path());
        if (label.source() && label.source()->line())
          out << fmt::format(", {}:{}", text(label.source()->file()), label.source()->line());
      }
      out << '\n';
    }
  }

  void printTasks() {
    out << "\ntasks in order\n";
    for (size_t t = 0; rankClass.tasks() && t < rankClass.tasks()->size(); ++t) {
      const Task &task = *rankClass.tasks()->Get(t);
      out << fmt::format("  {:>4} {} of micro-batch {}", t, text(rankClass.fragments()->Get(task.fragment())->name()), task.micro());
      for (size_t r = 1; r < rankClass.regions()->size(); ++r)
        out << fmt::format("{}{} at {}", r == 1 ? ": " : ", ", region(r), rankClass.bases()->Get(task.first_base() + r));
      out << '\n';
    }
  }

  const Program &program;
  int64_t rank;
  std::ostream &out;
  std::vector<int64_t> coordinates;
  const RankClass &rankClass;
};

} // namespace

void printRank(const Program &program, int64_t rank, std::ostream &out) { RankPrinter(program, rank, out).print(); }

} // namespace npar::driver
