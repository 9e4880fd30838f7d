// Writes a plan with one line for each setting that affects time or memory.
#include "tools/lib/foreign/PlanText.h"

#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

std::string joined(const std::vector<std::string> &words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// A constant's value in npar's text: words are quoted, except truth values and none.
std::string valueText(const std::string &value) {
  bool isWord = !value.empty() && isLetter(value[0]) && value != "true" && value != "false" && value != "none";
  return isWord ? '"' + value + '"' : value;
}

/// Mesh axes in the order in which the programs number their ranks, outermost first: ranks of one tp group are adjacent.
std::vector<std::pair<std::string, int64_t>> meshOf(const ForeignRun &run) {
  std::vector<std::pair<std::string, int64_t>> mesh;
  const int64_t nodes = run.replicas * run.secondaryGroups(), dp = run.dp / run.secondaryGroups();
  for (const auto &[name, size] :
       {std::pair("pp", run.pp), {"node", nodes}, {"dp", dp / run.ep}, {"ep", run.ep}, {"cp", run.cp}, {"tp", run.tp}})
    if (size > 1)
      mesh.emplace_back(name, size);
  if (run.dpOutside && run.pp > 1)
    std::rotate(mesh.begin(), mesh.begin() + 1, mesh.begin() + 1 + (nodes > 1) + (dp > run.ep) + (run.ep > 1));
  if (!run.order.empty()) {
    auto rank = [&](const std::pair<std::string, int64_t> &axis) {
      return run.order.find(axis.first == "pp" ? 'P' : axis.first == "tp" || axis.first == "cp" ? 'T' : 'D');
    };
    std::stable_sort(mesh.begin(), mesh.end(), [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  }
  if (mesh.empty())
    mesh.emplace_back("dp", 1);
  return mesh;
}

/// The mesh axes of the ranks with other samples, without replicas of shares.
std::vector<std::string> dataAxes(const ForeignRun &run) {
  std::vector<std::string> axes;
  if (run.secondaryGroups() > 1)
    axes.push_back("node");
  if (run.dp / run.secondaryGroups() > run.ep)
    axes.push_back("dp");
  if (run.ep > 1)
    axes.push_back("ep");
  return axes;
}

std::string storeLines(const ForeignRun &run) {
  std::vector<std::string> over = dataAxes(run);
  if (run.cp > 1 && run.storeOverContext)
    over.push_back("cp");
  if (run.zero == 0 || over.empty())
    return "";
  std::string axes = joined(over), text = fmt::format("    store {{\n        optimizer  -> {}\n", axes);
  if (run.zero >= 2)
    text += fmt::format("        gradients  -> {}{}\n", axes, run.gradientsPerStep ? " per step" : "");
  if (run.zero >= 3)
    text += fmt::format("        parameters -> {}\n", axes);
  if (run.secondaryGroups() > 1)
    text += "        secondary  -> dp\n";
  return text + "    }\n";
}

/// The numbers of the blocks that are recomputed: of those of each rank, in the order of its parts, the last of every `every`.
std::vector<int64_t> recomputedBlocks(const ForeignRun &run, int64_t every) {
  bool isV = run.schedule == "zb_v" || run.schedule == "dualpipe_v";
  std::vector<int64_t> blocks, counts(static_cast<size_t>(run.pp), 0); // of each rank so far
  int64_t block = 0;
  for (size_t part = 0; part < std::max<size_t>(1, run.stages.size()); ++part) {
    int64_t end = run.stages.empty() ? run.layers : block + run.stages[part], place = static_cast<int64_t>(part);
    int64_t rank = isV && place >= run.pp ? 2 * run.pp - 1 - place : place % run.pp;
    for (; block < end; ++block)
      if (++counts[static_cast<size_t>(rank)] % every == 0)
        blocks.push_back(block);
  }
  return blocks;
}

std::string recomputeLine(const ForeignRun &run, const std::vector<std::string> &blocks) {
  if (!run.recomputed)
    return run.recompute.empty() ? "" : "    recompute " + run.recompute + "\n";
  std::vector<std::string> patterns;
  for (const std::string &path : blocks) {
    size_t number = path.find("{}");
    std::string before = path.substr(0, number), after = path.substr(number + 2);
    if (run.recomputed->every == 0)
      patterns.push_back(fmt::format("\"{}*{}.mlp\"", before, after));
    else
      for (int64_t block : recomputedBlocks(run, run.recomputed->every))
        patterns.push_back(fmt::format("\"{}{}{}.*\"", before, block, after));
  }
  return patterns.empty() ? "" : "    recompute [" + joined(patterns) + "]\n";
}

/// The text with `?` for all but ASCII: names of files and settings may not be valid UTF-8, as a plan must be.
std::string inAscii(std::string text) {
  for (char &c : text)
    c = c < ' ' || c > '~' ? '?' : c;
  return text;
}

/// Comments about what the plan does differently from the run.
std::string remarkComments(const ForeignRun &run) {
  std::vector<Remarks> all = remarksOf(run);
  all.insert(all.begin(), differencesOf(run));
  std::string text;
  for (const Remarks &one : all) {
    if (!one.lines.empty())
      text += fmt::format("#\n# {}\n", one.heading);
    for (const std::string &line : one.lines)
      text += inAscii("#   " + line) + "\n";
  }
  if (run.hosts > 1)
    text += fmt::format("#\n# The run has its ranks on {} hosts, {} on each.\n", run.hosts, run.world / run.hosts);
  return text;
}

} // namespace

std::string planText(const ForeignRun &run, const ForeignTarget &target, const std::string &path) {
  std::string name = run.program->key();
  std::string text = fmt::format("# Made of '{}', a run of {}. The sizes of its model: --config {}\n{}import \"{}\"\n", inAscii(path),
                                 run.program->name(), name, remarkComments(run), target.import);
  std::vector<std::string> constants, defaults, tensor;
  for (const Constant &one : run.constants) {
    constants.push_back(one.name + " = " + valueText(one.value));
    if (one.origin == Origin::Program)
      defaults.push_back(one.name);
  }
  text += fmt::format("\nconfig \"{}\" for {}({})\n", name, target.name, joined(constants));
  if (!defaults.empty())
    text += fmt::format("# defaults of {}: {}\n", run.program->name(), joined(defaults));
  const std::string epochs = run.request.isInEpochs() ? fmt::format("    epochs {}\n", *run.request.epochs) : "";
  text += fmt::format("\ntrain {} for {} {{\n    batch {}\n{}{}}}\n", name, target.name, run.batch, epochs,
                      trainingLines(run.training, *run.program, target.vectors));

  text += fmt::format("\nplan {} for {} {{\n    mesh ", name, target.name);
  std::vector<std::string> sizes;
  for (const auto &[axis, size] : meshOf(run))
    sizes.push_back(fmt::format("{} = {}", axis, size));
  text += joined(sizes) + fmt::format("\n    micro {}\n    split {{\n", run.micro);
  auto has = [&](const char *axis) { return std::find(target.axes.begin(), target.axes.end(), axis) != target.axes.end(); };
  for (const char *axis : {"head", "hidden", "vocab"})
    if (has(axis))
      tensor.push_back(std::string(axis) == "vocab" ? "vocab pad" : axis);
  auto rule = [&](const std::string &axes, const std::string &mesh) { text += fmt::format("        {:<23} -> {}\n", axes, mesh); };
  if (run.expertRanks() > 1) {
    const std::string mesh = run.ep == 1 ? "cp" : run.expertsOverContext ? "ep, cp" : "ep";
    rule("expert", mesh + (run.expertsBy.empty() ? "" : " by " + run.expertsBy) + " in op grouped");
  }
  if (run.replicas > 1 || run.dp > 1 || (run.tp == 1 && run.pp == 1 && run.cp == 1)) {
    std::vector<std::string> axes = dataAxes(run);
    if (run.replicas > 1)
      axes.insert(axes.begin(), "node");
    rule("batch", axes.empty() ? "dp" : joined(axes));
  }
  if (run.tp > 1 && !tensor.empty())
    rule(joined(tensor), "tp");
  if (run.cp > 1 && run.ring == "ulysses")
    rule("head", "cp in op attention");
  if (run.cp > 1)
    rule("seq", run.ring == "ulysses" ? "cp" : "cp by " + run.ring);
  if (run.sequenceParallel && run.tp > 1)
    rule("seq", "tp");
  if (run.pp > 1) {
    std::vector<std::string> blocks;
    for (int64_t count : run.stages)
      blocks.push_back(std::to_string(count));
    bool isOpen = run.schedule == "interleaved" || run.schedule == "looped_bfs";
    std::string schedule = run.schedulePath.empty() ? run.schedule : '"' + run.schedulePath + '"';
    rule(joined(target.chains),
         fmt::format("pp by {}{}{}", schedule, isOpen && run.schedulePath.empty() ? fmt::format("({})", run.chunks) : "",
                     blocks.empty() ? "" : " stages [" + joined(blocks) + "]"));
  }
  text += "    }\n" + storeLines(run);
  if (run.bucketBytes > 0 && run.dp * run.cp * run.replicas > 1)
    text += fmt::format("    bucket {} B{}\n", run.bucketBytes, run.bucketNote.empty() ? "" : "  # " + run.bucketNote);
  text += recomputeLine(run, target.blocks);
  text += "    compute " + run.precision;
  if (run.precision != "f32") {
    text += run.gradients.empty() ? "" : ", gradients " + run.gradients;
    text += run.reduce.empty() ? "" : ", reduce " + run.reduce;
  }
  return text + "\n}\n";
}

} // namespace npar::foreign
