// A rank's own program for people: coordinates and peers are numbers here, memory is absolute only where it helps.
#include "compiler/emit/PrintRank.h"

#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"

#include <cstdio>

namespace npar {
namespace {

using namespace program;

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::string bytesText(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  if (bytes < 1024 * 1024)
    return format("%.1f KiB", bytes / 1024.0);
  return format("%.1f MiB", bytes / (1024.0 * 1024.0));
}

class Printer {
public:
  Printer(const Program &program, int64_t rank)
      : program(program), rank(rank), rankClass(*program.classes()->Get(classOf(program, rank))) {}

  std::string run() {
    header();
    memory();
    for (const Fragment *fragment : *rankClass.fragments())
      printFragment(*fragment);
    tasks();
    communication();
    return text;
  }

private:
  const Program &program;
  const int64_t rank;
  const RankClass &rankClass;
  std::string text;

  void line(const std::string &content) { text += content + "\n"; }

  static std::string axisName(const Program &program, uint32_t axis) { return program.mesh()->Get(axis)->name()->str(); }

  void header() {
    std::string where;
    std::vector<int64_t> coordinates = coordinatesOf(program, rank);
    for (uint32_t axis = 0; axis < coordinates.size(); ++axis)
      where += (axis ? ", " : "") + axisName(program, axis) + " = " + std::to_string(coordinates[axis]);
    line("rank " + std::to_string(rank) + " of " + std::to_string(worldOf(program)) + (where.empty() ? "" : " at " + where) + ": " +
         rankClass.name()->str() + " of " + program.model()->str() + ", plan " + program.plan()->str());
  }

  void memory() {
    line("");
    line("arena " + bytesText(rankClass.arena_bytes()) + ": parameters " + bytesText(rankClass.parameter_bytes()) + ", gradients " +
         bytesText(rankClass.gradient_bytes()) + ", optimizer " + bytesText(rankClass.optimizer_bytes()) + ", activations " +
         bytesText(rankClass.activation_bytes()) + ", workspace " + bytesText(rankClass.workspace_bytes()));
    for (const Region *region : *rankClass.regions())
      if (region->bytes())
        line("  " + region->name()->str() + ": " + std::to_string(region->slots()) + " x " + std::to_string(region->bytes()) +
             " bytes at " + std::to_string(region->offset()));
    for (const Piece *piece : *rankClass.pieces())
      printPiece(*piece);
    for (const Input *input : *rankClass.inputs())
      printInput(*input);
  }

  /// `  input tokens I32 [batch 2 of 4 from 2, seq 8]`; in zigzag order what a rank holds does not begin anywhere: `seq 8 of 16 in zigzag`.
  void printInput(const Input &input) {
    const LogicalInput *logical = program.inputs()->Get(input.input());
    std::vector<int64_t> coordinates = coordinatesOf(program, rank);
    std::string shape;
    for (uint32_t i = 0; i < input.dimensions()->size(); ++i) {
      const PieceDimension *dimension = input.dimensions()->Get(i);
      shape += (i ? ", " : "") + logical->axes()->Get(i)->str() + " " + std::to_string(dimension->local());
      if (dimension->axis_count())
        shape += " of " + std::to_string(dimension->global());
      if (input.zigzag()->Get(i))
        shape += " in zigzag";
      else if (dimension->axis_count())
        shape += " from " + std::to_string(memberAlong(program, coordinates, input, *dimension) * dimension->local());
    }
    line("  input " + logical->name()->str() + " " + EnumNameElementType(input.type()) + " [" + shape + "]");
  }

  /// `  static[0, 33024] wte.weight [vocab 129 of 257 from 129, embed 64]`, with flat axes: `..., 3072 elements from 3072`.
  void printPiece(const Piece &piece) {
    const Variable *variable = program.variables()->Get(piece.variable());
    std::vector<int64_t> coordinates = coordinatesOf(program, rank);
    std::string shape;
    for (uint32_t i = 0; i < piece.dimensions()->size(); ++i) {
      const PieceDimension *dimension = piece.dimensions()->Get(i);
      shape += (i ? ", " : "") + variable->axes()->Get(i)->str() + " " + std::to_string(dimension->local());
      if (dimension->axis_count())
        shape += " of " + std::to_string(dimension->global()) + " from " +
                 std::to_string(memberAlong(program, coordinates, piece, *dimension) * dimension->local());
    }
    if (piece.flat_axes()->size() > 0) {
      uint64_t elements = 1;
      for (const PieceDimension *dimension : *piece.dimensions())
        elements *= static_cast<uint64_t>(dimension->local());
      uint64_t share = flatShare(elements, ranksAlong(program, *piece.flat_axes()));
      auto member = static_cast<uint64_t>(memberAlong(program, coordinates, *piece.flat_axes()));
      shape += ", " + std::to_string(share) + " elements from " + std::to_string(member * share);
    }
    line("  static[" + std::to_string(piece.offset()) + ", " + std::to_string(piece.bytes()) + "] " + variable->name()->str() + " [" +
         shape + "]");
  }

  std::string place(const Operand &operand) {
    return rankClass.regions()->Get(operand.region())->name()->str() + "[" + std::to_string(operand.offset()) + ", " +
           std::to_string(operand.bytes()) + "]";
  }

  /// What is run, with the ranks that take part.
  std::string action(const Step &step) {
    switch (step.kind()) {
    case StepKind::Kernel:
      return "kernel " + program.kernels()->Get(step.payload())->symbol()->str();
    case StepKind::Matmul: {
      const Matmul *matmul = program.matmuls()->Get(step.payload());
      int64_t batch = 1;
      for (int64_t size : *matmul->batch())
        batch *= size;
      return "matmul " + (batch > 1 ? std::to_string(batch) + " x " : "") + std::to_string(matmul->m()) + " x " +
             std::to_string(matmul->n()) + " x " + std::to_string(matmul->k()) + (matmul->accumulate() ? " accumulate" : "");
    }
    case StepKind::Collective: {
      const Collective *collective = program.collectives()->Get(step.payload());
      static const char *names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"};
      std::string members;
      for (int64_t member : groupOf(program, *collective, rank))
        members += (members.empty() ? "" : ", ") + std::to_string(member);
      uint64_t count = 0;
      for (uint32_t part = 0; part < partsOf(step); ++part)
        count += program.collectives()->Get(step.payload() + part)->count();
      std::string bucket = partsOf(step) > 1 ? " in a bucket of " + std::to_string(partsOf(step)) : "";
      std::string shift = collective->shift() ? " by " + std::to_string(collective->shift()) : "";
      return std::string(names[static_cast<int>(collective->kind())]) + " " + std::to_string(count) + " elements" + bucket + shift +
             " with ranks " + members;
    }
    case StepKind::Send:
    case StepKind::Receive: {
      const Transfer *transfer = program.transfers()->Get(step.payload());
      std::vector<int64_t> coordinates = coordinatesOf(program, rank);
      coordinates[transfer->axis()] = transfer->peer();
      bool send = step.kind() == StepKind::Send;
      return std::string(send ? "send " : "receive ") + std::to_string(transfer->count()) + " elements " + (send ? "to" : "from") +
             " rank " + std::to_string(rankAt(program, coordinates)) + " event " + std::to_string(transfer->event());
    }
    case StepKind::Zero:
      return "zero";
    case StepKind::Copy:
      break;
    }
    return "copy";
  }

  void printFragment(const Fragment &fragment) {
    line("");
    line("fragment " + fragment.name()->str());
    for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
      const Step &step = *fragment.steps()->Get(index);
      const Label *label = program.labels()->Get(step.label());
      std::string content = "  " + std::to_string(index) + ": " + action(step) + " (";
      for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
        if (i == step.inputs())
          content += ") -> (";
        else if (i)
          content += ", ";
        content += place(*fragment.operands()->Get(step.first_operand() + i));
      }
      content += step.outputs() == 0 ? ") -> ()" : ")";
      if (step.dependency_count()) {
        content += " after";
        for (uint32_t i = 0; i < step.dependency_count(); ++i)
          content += " " + std::to_string(fragment.dependencies()->Get(step.first_dependency() + i));
      }
      content += "  # " + label->text()->str();
      if (const SourcePlace *source = label->source())
        content += " at " + source->file()->str() + ":" + std::to_string(source->line());
      line(content);
    }
  }

  void tasks() {
    line("");
    line("tasks");
    for (uint32_t index = 0; index < rankClass.tasks()->size(); ++index) {
      const Task *task = rankClass.tasks()->Get(index);
      std::string content = "  " + std::to_string(index) + ": " + describeTask(rankClass, index);
      for (uint32_t region = 1; region < rankClass.regions()->size(); ++region) {
        const Region *facts = rankClass.regions()->Get(region);
        if (facts->slots() > 1 && facts->bytes())
          content += "  " + facts->name()->str() + " " +
                     std::to_string((rankClass.bases()->Get(task->first_base() + region) - facts->offset()) / facts->bytes());
      }
      for (const TaskDependency *edge : *rankClass.task_dependencies())
        if (edge->task() == index)
          content += "  step " + std::to_string(edge->step()) + " after " + describeTask(rankClass, edge->on_task()) + " step " +
                     std::to_string(edge->on_step());
      line(content);
    }
  }

  void communication() {
    if (rankClass.communication_order()->size() == 0)
      return;
    line("");
    line("communication in this order");
    for (const CommunicationRef *reference : *rankClass.communication_order()) {
      const Fragment *fragment = rankClass.fragments()->Get(rankClass.tasks()->Get(reference->task())->fragment());
      line("  " + describeTask(rankClass, reference->task()) + " step " + std::to_string(reference->step()) + ": " +
           action(*fragment->steps()->Get(reference->step())));
    }
  }
};

} // namespace

std::string printRank(const Program &program, int64_t rank) { return Printer(program, rank).run(); }

} // namespace npar
