// One printer for classes of ranks and for single ranks: a rank's text has numbers where its class's has names of mesh axes.
#include "engine/program/PrintProgram.h"

#include "engine/program/Attentions.h"
#include "engine/program/Cause.h"
#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Pieces.h"
#include "engine/program/PrintText.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Tiers.h"
#include "engine/program/Words.h"
#include "engine/readable/HumanUnits.h"

#include <optional>

namespace npar::program {
namespace {

/// A class, or one rank of it.
class RankPrinter {
public:
  RankPrinter(const Program &program, const RankClass &rankClass, std::optional<int64_t> rank)
      : program(program), rankClass(rankClass), rank(rank) {
    if (rank)
      coordinates = coordinatesOf(program, *rank);
  }

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
  const RankClass &rankClass;
  const std::optional<int64_t> rank;
  std::vector<int64_t> coordinates; ///< coordinates of the rank
  std::string text;

  void line(const std::string &content) { text += content + "\n"; }

  std::string axisName(uint32_t axis) { return program.mesh()->Get(axis)->name()->str(); }

  template <typename Axes> std::string axisNames(const Axes &axes) {
    std::string names;
    for (uint32_t axis : axes)
      names += (names.empty() ? "" : ", ") + axisName(axis);
    return names;
  }

  void header() {
    std::string where;
    if (!rank) {
      for (const Coordinate *fixed : *rankClass.fixed())
        where += (where.empty() ? " at " : ", ") + axisName(fixed->axis()) + " = " + std::to_string(fixed->value());
      return line("class " + rankClass.name()->str() + where + ": " + describeRanks(program, rankClass));
    }
    for (uint32_t axis = 0; axis < coordinates.size(); ++axis)
      where += (axis ? ", " : " at ") + axisName(axis) + " = " + std::to_string(coordinates[axis]);
    line("rank " + std::to_string(*rank) + " of " + std::to_string(worldOf(program)) + where + ": " + rankClass.name()->str() + " of " +
         program.model()->str() + ", plan " + program.plan()->str());
  }

  //===- Memory -------------------------------------------------------------------------------------------------------------===//

  void memory() {
    line("\narena " + std::to_string(rankClass.arena_bytes()) + " bytes (" +
         readable::humanBytes(static_cast<double>(rankClass.arena_bytes())) + "): parameters " +
         std::to_string(rankClass.parameter_bytes()) + ", gradients " + std::to_string(rankClass.gradient_bytes()) + ", optimizer " +
         std::to_string(rankClass.optimizer_bytes()) + ", activations " + std::to_string(rankClass.activation_bytes()));
    for (Tier tier : {Tier::Host, Tier::File})
      if (uint64_t bytes = tierBytesOf(rankClass)[static_cast<size_t>(tier)])
        line(std::string(wordOf(tier)) + " " + std::to_string(bytes) + " bytes (" + readable::humanBytes(static_cast<double>(bytes)) + ")");
    for (const Region *region : *rankClass.regions())
      if (region->bytes())
        line("  " + region->name()->str() + ": " + std::to_string(region->slots()) + " x " + std::to_string(region->bytes()) +
             " bytes at " + std::to_string(region->offset()) +
             (region->tier() == Tier::Device ? "" : ", tier " + std::string(wordOf(region->tier()))));
    for (const Piece *piece : *rankClass.pieces())
      printPiece(*piece);
    for (const Input *input : *rankClass.inputs())
      printInput(*input);
    for (const ResultBuffer *result : *rankClass.results())
      printResult(*result);
    for (const Output *output : *rankClass.outputs())
      line("  output " + output->name()->str() + " at static[" + std::to_string(output->offset()) + ", 8]");
  }

  /// `  static[0, 33024] wte.weight [vocab 129 of 257 from 129, embed 64] owner`, with flat axes: `..., 3072 elements from 3072`; of a
  /// class
  /// `[vocab 129 of 257 by tp, embed 64]`.
  void printPiece(const Piece &piece) {
    const Variable *variable = program.variables()->Get(piece.variable());
    std::string shape;
    for (uint32_t i = 0; i < piece.dimensions()->size(); ++i) {
      const PieceDimension *dimension = piece.dimensions()->Get(i);
      shape += (i ? ", " : "") + variable->axes()->Get(i)->str() + " " + std::to_string(dimension->local());
      if (dimension->axis_count() == 0)
        continue;
      shape += " of " + std::to_string(dimension->global());
      if (rank)
        shape += " from " + std::to_string(memberAlong(program, coordinates, piece, *dimension) * dimension->local());
      else
        shape += " by " + axisNames(axesOf(*piece.mesh_axes(), *dimension));
    }
    if (piece.flat_axes()->size() > 0) {
      uint64_t elements = 1;
      for (const PieceDimension *dimension : *piece.dimensions())
        elements *= static_cast<uint64_t>(dimension->local());
      uint64_t share = flatShare(elements, ranksAlong(program, *piece.flat_axes()));
      shape += ", " + std::to_string(share) + " elements ";
      if (rank)
        shape += "from " + std::to_string(static_cast<uint64_t>(memberAlong(program, coordinates, *piece.flat_axes())) * share);
      else
        shape += "by " + axisNames(*piece.flat_axes());
    }
    const TierPlace place = tierAt(tierBytesOf(rankClass), piece.offset());
    line("  " + (place.tier == Tier::Device ? "static" : std::string(wordOf(place.tier))) + "[" + std::to_string(place.offset) + ", " +
         std::to_string(piece.bytes()) + "] " + variable->name()->str() + " [" + shape + "]" + (piece.owner() ? " owner" : ""));
  }

  /// `  input tokens i32 [batch 2 of 4 from 2, seq 8] at 0`; in zigzag order what a rank holds does not begin anywhere: `seq 8 of 16 in
  /// zigzag of 2`. Of a class `[batch 2 of 4 by dp, seq 8]`.
  void printInput(const Input &input) {
    const LogicalInput *logical = program.inputs()->Get(input.input());
    line("  input " + logical->name()->str() + " " + wordOf(input.type()) + " [" + partOf(input, *logical) + "] at " +
         std::to_string(input.offset()));
  }

  /// `  result losses f32 [batch 2 of 4 from 2, seq 8] at 0`
  void printResult(const ResultBuffer &result) {
    const LogicalResult *logical = program.results()->Get(result.result());
    line("  result " + logical->name()->str() + " " + wordOf(logical->type()) + " [" + partOf(result, *logical) + "] at " +
         std::to_string(result.offset()));
  }

  /// The local shape of an input or a result: each dimension with its local and, if split, its global size.
  template <typename Part, typename Logical> std::string partOf(const Part &part, const Logical &logical) {
    std::string shape;
    for (uint32_t i = 0; i < part.dimensions()->size(); ++i) {
      const PieceDimension *dimension = part.dimensions()->Get(i);
      shape += (i ? ", " : "") + logical.axes()->Get(i)->str() + " " + std::to_string(dimension->local());
      if (dimension->axis_count())
        shape += " of " + std::to_string(dimension->global());
      if (dimension->axis_count() && !rank)
        shape += " by " + axisNames(axesOf(*part.mesh_axes(), *dimension));
      else if (dimension->axis_count() && !part.zigzag()->Get(i))
        shape += " from " +
                 std::to_string(memberAlong(program, coordinates, *part.mesh_axes(), dimension->first_axis(), dimension->axis_count()) *
                                dimension->local());
      if (part.zigzag()->Get(i))
        shape += " in zigzag of " + std::to_string(part.zigzag()->Get(i));
    }
    return shape;
  }

  /// The mesh axes that split a dimension.
  static std::vector<uint32_t> axesOf(const flatbuffers::Vector<uint32_t> &axes, const PieceDimension &dimension) {
    auto first = axes.begin() + dimension.first_axis();
    return {first, first + dimension.axis_count()};
  }

  //===- Steps --------------------------------------------------------------------------------------------------------------===//

  std::string place(const Operand &operand) {
    return rankClass.regions()->Get(operand.region())->name()->str() + "[" + std::to_string(operand.offset()) + ", " +
           std::to_string(operand.bytes()) + "]";
  }

  /// The action of a step, with the ranks that take part.
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
             std::to_string(matmul->n()) + " x " + std::to_string(matmul->k()) + (matmul->accumulate() ? " accumulate" : "") +
             (matmul->grouping() == Grouping::None ? "" : std::string(" grouped by ") + wordOf(matmul->grouping()));
    }
    case StepKind::Collective:
      return collective(step);
    case StepKind::Send:
      return "send " + transfer(step, "to");
    case StepKind::Receive:
      return "receive " + transfer(step, "from");
    case StepKind::Zero:
      return "zero";
    case StepKind::Copy:
      return "copy";
    case StepKind::Attention:
      return attention(*program.attentions()->Get(step.payload()));
    }
    return "unknown";
  }

  /// Groups, heads of each, the side of the matrix that is never made.
  std::string attention(const Attention &attention) {
    int64_t groups = 1;
    for (int64_t size : *attention.batch())
      groups *= size;
    return std::string("attention ") + (attention.gradient() ? "gradient " : "") + std::to_string(groups) + " x " +
           (attention.heads() > 1 ? std::to_string(attention.heads()) + " x " : "") + std::to_string(attention.rows()) + " x " +
           std::to_string(attention.keys()) + (attention.causal() ? " causal" : "") +
           (attention.axes()->size() ? (attention.ring() ? " at step " + std::to_string(attention.step()) + " of the ring" : " in pieces") +
                                           " over " + axisNames(*attention.axes())
                                     : "") +
           (attention.zigzag() ? " in zigzag of " + std::to_string(attention.zigzag()) : "");
  }

  std::string collective(const Step &step) {
    const Collective *first = program.collectives()->Get(step.payload());
    uint64_t count = 0;
    for (uint32_t part = 0; part < partsOf(step); ++part)
      count += program.collectives()->Get(step.payload() + part)->count();
    std::string members = " over " + axisNames(*first->axes());
    if (rank) {
      members = " with ranks ";
      bool isFirst = true;
      for (int64_t member : groupOf(program, *first, *rank))
        members += (isFirst ? "" : ", ") + std::to_string(member), isFirst = false;
    }
    return wordOf(first->kind()) + (" " + std::to_string(count)) + " elements" +
           (partsOf(step) > 1 ? " in a bucket of " + std::to_string(partsOf(step)) : "") +
           (first->shift() ? " by " + std::to_string(first->shift()) : "") + members;
  }

  std::string transfer(const Step &step, const std::string &direction) {
    const Transfer *transfer = program.transfers()->Get(step.payload());
    std::string peer = axisName(transfer->axis()) + " = " + std::to_string(transfer->peer());
    if (rank) {
      std::vector<int64_t> there = coordinates;
      there[transfer->axis()] = transfer->peer();
      peer = "rank " + std::to_string(rankAt(program, there));
    }
    return std::to_string(transfer->count()) + " elements " + direction + " " + peer + " event " + std::to_string(transfer->event());
  }

  /// Details of a step that `action` leaves out.
  std::string details(const Step &step) {
    switch (step.kind()) {
    case StepKind::Matmul:
      return matmulDetails(*program.matmuls()->Get(step.payload()));
    case StepKind::Collective:
      return collectiveDetails(step);
    case StepKind::Send:
    case StepKind::Receive:
      return std::string(", ") + wordOf(program.transfers()->Get(step.payload())->type());
    case StepKind::Attention:
      return attentionDetails(*program.attentions()->Get(step.payload())) + ", entry " + std::to_string(step.payload());
    case StepKind::Kernel:
    case StepKind::Zero:
    case StepKind::Copy:
      return "";
    }
    return "";
  }

  /// Sizes of the positions, then of each operand the strides and, in braces, its windows.
  static std::string windowedDetails(const Matmul &matmul) {
    const WindowedProduct &product = *matmul.windowed();
    auto walk = [](const char *name, const WalkedOperand &operand) {
      std::string text = std::string(", ") + name + " walks " + listText(*operand.strides());
      for (const Window *window : *operand.windows())
        text += " {" + std::to_string(window->size()) + " x " + std::to_string(window->stride()) + ", steps " + listText(*window->steps()) +
                ", before " + std::to_string(window->before()) +
                (window->spread() == 1 ? "" : ", spread " + std::to_string(window->spread())) + "}";
      return text;
    };
    return ", m " + listText(*product.m()) + ", n " + listText(*product.n()) + ", k " + listText(*product.k()) + walk("a", *product.a()) +
           walk("b", *product.b());
  }

  /// Strides: batch loops, row, column.
  static std::string matmulDetails(const Matmul &matmul) {
    auto strides = [](const flatbuffers::Vector<int64_t> &batch, int64_t row, int64_t column) {
      std::vector<int64_t> all(batch.begin(), batch.end());
      all.insert(all.end(), {row, column});
      return listText(all);
    };
    return std::string(", ") + (matmul.tf32() ? "tf32" : wordOf(matmul.type())) +
           (matmul.result() == matmul.type() ? "" : std::string(" to ") + wordOf(matmul.result())) +
           (matmul.batch()->size() ? ", batch " + listText(*matmul.batch()) : "") + (matmul.windowed() ? windowedDetails(matmul) : "") +
           ", a " + strides(*matmul.a_batch(), matmul.a_row(), matmul.a_column()) + ", b " +
           strides(*matmul.b_batch(), matmul.b_row(), matmul.b_column()) + ", c " + strides(*matmul.c_batch(), matmul.c_row(), 1);
  }

  /// Kernels of scores, and their additional operands, with strides as for other operands and for queries and keys.
  static std::string scoreDetails(const Attention &attention, const AttentionOperands &operands) {
    std::string text;
    for (uint32_t i = 0; attention.kernels() && i < attention.kernels()->size(); ++i)
      text += (i ? " and " : ", scores by kernel ") + std::to_string(attention.kernels()->Get(i));
    for (const AttentionOperand &operand : operands.all) {
      if (!operand.datum)
        continue;
      const AttentionDatum &datum = *operand.datum;
      std::vector<int64_t> all(datum.batch()->begin(), datum.batch()->end());
      all.push_back(datum.head());
      text += std::string(", ") + operand.name + " " + wordOf(datum.type()) + " " + listText(all);
      if (datum.entries())
        text += " table of " + std::to_string(datum.entries());
      if (datum.has_query())
        text += " query " + std::to_string(datum.query());
      if (datum.has_key())
        text += " key " + std::to_string(datum.key());
    }
    return text + (attention.drops() ? ", drops probabilities" : "");
  }

  /// Strides: batch loops, head of a group, row.
  static std::string attentionDetails(const Attention &attention) {
    AttentionOperands operands = attentionOperands(attention);
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.17g", attention.scale());
    std::string text = std::string(", ") + wordOf(attention.type()) + ", features " + std::to_string(attention.features()) + ", values " +
                       std::to_string(attention.values()) + ", scale " + scale +
                       (attention.batch()->size() ? ", batch " + listText(*attention.batch()) : "");
    for (const AttentionOperand &operand : operands.all) {
      if (operand.datum)
        continue;
      const AttentionStrides &strides = *attention.strides()->Get(operand.strides);
      std::vector<int64_t> all(strides.batch()->begin(), strides.batch()->end());
      all.insert(all.end(), {strides.head(), strides.row()});
      text += std::string(", ") + operand.name + " " + listText(all);
    }
    return text + scoreDetails(attention, operands);
  }

  /// Layouts, geometry and cause of every part; parts with the same text are printed once.
  std::string collectiveDetails(const Step &step) {
    const Collective *first = program.collectives()->Get(step.payload());
    std::string text =
        std::string(", ") + wordOf(first->op()) + " of " + wordOf(first->type()) + ", event " + std::to_string(first->event());
    std::string before;
    for (uint32_t part = 0; part < partsOf(step); ++part) {
      const Collective *collective = program.collectives()->Get(step.payload() + part);
      std::string words = reasons(*collective);
      text += ", " + geometry(*collective) + (words == before ? "" : words);
      before = words;
    }
    return text;
  }

  /// `[outer, split, inner]`; of an all_to_all `[outer, split, middle, concat, inner]`.
  static std::string geometry(const Collective &collective) {
    std::vector<int64_t> sizes = {collective.outer(), collective.split(), collective.inner()};
    if (collective.kind() == CollectiveKind::AllToAll)
      sizes = {collective.outer(), collective.split(), collective.middle(), collective.concat(), collective.inner()};
    return listText(sizes) + (collective.concat_first() ? " concat first" : "") +
           (collective.whole() ? " of " + std::to_string(collective.whole()) : "") + (collective.library() ? " by the library" : "") +
           (collective.places() ? ", in pieces of " + std::to_string(collective.places()) + " places for " +
                                      std::to_string(collective.entries()) + " of " + std::to_string(collective.groups()) + " entries"
                                : "") +
           (collective.filled() < 1 ? ", filled " + numberText(collective.filled()) : "");
  }

  std::string reasons(const Collective &collective) {
    std::string text = " {" + collective.from()->str() + "} -> {" + collective.to()->str() + "}";
    if (collective.cause()) {
      CauseT cause;
      collective.cause()->UnPackTo(&cause);
      text += " because " + describe(cause);
    }
    for (uint32_t rule : *collective.rules()) {
      const Label *label = program.labels()->Get(rule);
      text += ", rule '" + label->text()->str() + "'" + placeText(label->source());
    }
    return text;
  }

  void printFragment(const Fragment &fragment) {
    line("\nfragment " + fragment.name()->str() + ": " + describe(fragment.phase()) +
         (fragment.chunk() ? ", chunk " + std::to_string(fragment.chunk()) : ""));
    for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
      const Step &step = *fragment.steps()->Get(index);
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
      const Label *label = program.labels()->Get(step.label());
      line(content + "  # " + label->text()->str() + placeText(label->source()) + ", begin " + numberText(step.begin()) + " end " +
           numberText(step.end()) + (step.free() ? " free" : "") + (step.flops() != 0 ? ", " + numberText(step.flops()) + " flops" : "") +
           details(step));
    }
  }

  //===- Tasks --------------------------------------------------------------------------------------------------------------===//

  void tasks() {
    std::vector<std::string> waits(rankClass.tasks()->size());
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      waits[edge->task()] += "  step " + std::to_string(edge->step()) + " after " + describeTask(rankClass, edge->on_task()) + " step " +
                             std::to_string(edge->on_step());
    line("\ntasks");
    for (uint32_t index = 0; index < rankClass.tasks()->size(); ++index) {
      const Task *task = rankClass.tasks()->Get(index);
      std::string content = "  " + std::to_string(index) + ": " + describeTask(rankClass, index);
      if (overlaps(*task))
        content += "  overlaps " + describeTask(rankClass, index - 1);
      for (uint32_t region = 1; region < rankClass.regions()->size(); ++region) {
        const Region *facts = rankClass.regions()->Get(region);
        if (facts->slots() > 1 && facts->bytes())
          content += "  " + facts->name()->str() + " " +
                     std::to_string((rankClass.bases()->Get(task->first_base() + region) - facts->offset()) / facts->bytes());
      }
      line(content + waits[index] + "  # begin " + numberText(task->begin()) + " end " + numberText(task->end()));
    }
  }

  void communication() {
    if (rankClass.communication_order()->size() == 0)
      return;
    line("\ncommunication in this order");
    for (const CommunicationRef *reference : *rankClass.communication_order()) {
      const Fragment *fragment = rankClass.fragments()->Get(rankClass.tasks()->Get(reference->task())->fragment());
      line("  " + describeTask(rankClass, reference->task()) + " step " + std::to_string(reference->step()) + ": " +
           action(*fragment->steps()->Get(reference->step())));
    }
  }
};

} // namespace

std::string printProgram(const Program &program) {
  std::string text = printTables(program);
  for (const RankClass *rankClass : *program.classes())
    text += "\n" + RankPrinter(program, *rankClass, std::nullopt).run();
  return text;
}

std::string printRank(const Program &program, int64_t rank) {
  return RankPrinter(program, *program.classes()->Get(classOf(program, rank)), rank).run();
}

} // namespace npar::program
