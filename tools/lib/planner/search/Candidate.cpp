// Names a candidate and its choices, and compares candidates.
#include "tools/lib/planner/search/Candidate.h"

#include "dsl/Suggestions.h"
#include "dsl/machine/Hosts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::planner {

const char *wordOf(Context context) {
  switch (context) {
  case Context::None:
    return "none";
  case Context::Zigzag:
    return "zigzag";
  case Context::Ring:
    return "ring";
  case Context::Gather:
    return "gather";
  case Context::Ulysses:
    return "ulysses";
  }
  return "";
}

std::string wordOf(const Split &split) {
  switch (split.kind) {
  case SplitKind::All:
    return "all";
  case SplitKind::Blocks:
    return "blocks";
  case SplitKind::FeedForward:
    return "feedforward";
  case SplitKind::Attention:
    return "attention";
  case SplitKind::Vocabulary:
    return "vocabulary";
  case SplitKind::OwnAxis:
    return split.axis;
  }
  return "";
}

const char *wordOf(PlaceOrder order) {
  switch (order) {
  case PlaceOrder::Mesh:
    return "dp,pp";
  case PlaceOrder::StagesApart:
    return "pp,dp";
  case PlaceOrder::TensorApart:
    return "tp,dp,pp";
  }
  return "";
}

std::string wordOf(const RecomputedBlocks &recompute) {
  const char *kind = wordOf(recompute.kind);
  return recompute.kind == dsl::RecomputeKind::Every ? fmt::format("{} {}", kind, recompute.every) : kind;
}

std::string bucketWord(int64_t bytes) {
  return bytes == 0 ? "none" : bytes % 1'000'000 == 0 ? fmt::format("{} MB", bytes / 1'000'000) : fmt::format("{} B", bytes);
}

std::string bufferWord(double buffer) { return buffer > 0 ? fmt::format("{:g}", buffer) : "none"; }

std::string scheduleWord(const Candidate &c) { return c.schedule ? c.schedule->name : "none"; }

const char *splitFeature(SplitKind split) {
  switch (split) {
  case SplitKind::All:
    return "tp";
  case SplitKind::Blocks:
    return "tp_blocks";
  case SplitKind::FeedForward:
    return "tp_feedforward";
  case SplitKind::Attention:
    return "tp_attention";
  case SplitKind::Vocabulary:
    return "tp_vocabulary";
  case SplitKind::OwnAxis:
    return nullptr;
  }
  return nullptr;
}

Choices choicesOf(const Candidate &c) {
  return {{"mesh.dp", std::to_string(c.dp / c.ep)},
          {"mesh.pp", std::to_string(c.pp)},
          {"mesh.ep", std::to_string(c.ep)},
          {"mesh.cp", std::to_string(c.cp)},
          {"mesh.tp", std::to_string(c.tp)},
          {"micro", std::to_string(c.micro)},
          {"schedule", scheduleWord(c)},
          {"chunks", std::to_string(c.chunks)},
          {"live", c.live ? std::to_string(c.live) : "none"},
          {"context", wordOf(c.context)},
          {"recompute", wordOf(c.recompute)},
          {"zero", std::to_string(c.zero)},
          {"sequence", c.sequence ? "true" : "false"},
          {"split", wordOf(c.split)},
          {"place", wordOf(c.place)},
          {"bucket", bucketWord(c.bucket)},
          {"buffer", bufferWord(c.buffer)}};
}

bool isSameValue(const std::string &a, const std::string &b) {
  auto withoutSpaces = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    return text;
  };
  return withoutSpaces(a) == withoutSpaces(b);
}

std::vector<std::string> keysOf(Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return {"mesh.dp", "mesh.pp", "mesh.ep", "mesh.cp", "mesh.tp"};
  case Setting::Micro:
    return {"micro"};
  case Setting::Schedule:
    return {"schedule", "chunks", "live"};
  case Setting::Context:
    return {"context"};
  case Setting::Recompute:
    return {"recompute"};
  case Setting::Zero:
    return {"zero"};
  case Setting::Sequence:
    return {"sequence"};
  case Setting::Split:
    return {"split"};
  case Setting::Place:
    return {"place"};
  case Setting::Bucket:
    return {"bucket"};
  case Setting::Buffer:
    return {"buffer"};
  }
  return {};
}

std::string wordsOf(const Candidate &c, Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return fmt::format("dp = {}, pp = {}, {}{}tp = {}", c.dp / c.ep, c.pp, c.ep > 1 ? fmt::format("ep = {}, ", c.ep) : "",
                       c.cp > 1 ? fmt::format("cp = {}, ", c.cp) : "", c.tp);
  case Setting::Micro:
    return fmt::format("micro {}", c.micro);
  case Setting::Schedule:
    return scheduleWord(c) + (c.hasOwnChunks() ? "" : fmt::format("({})", c.chunks)) + (c.live ? fmt::format(" live {}", c.live) : "");
  case Setting::Context:
    return c.context == Context::Zigzag ? "ring(zigzag)" : wordOf(c.context);
  case Setting::Recompute:
    return c.recomputes() ? "recompute " + wordOf(c.recompute) : "no recomputation";
  case Setting::Zero:
    return c.zero ? fmt::format("zero {}", c.zero) : "no ZeRO";
  case Setting::Sequence:
    return c.sequence ? "sequence parallelism" : "no sequence parallelism";
  case Setting::Split:
    return c.split.kind == SplitKind::All          ? "all split by tensor parallelism"
           : c.split.kind == SplitKind::Blocks     ? "the vocabulary whole"
           : c.split.kind == SplitKind::Vocabulary ? "the vocabulary alone split, the blocks' batch"
           : c.split.kind == SplitKind::OwnAxis    ? fmt::format("axis {} split first", c.split.axis)
                                                   : fmt::format("of the blocks {} alone split, else the batch", wordOf(c.split));
  case Setting::Place:
    return c.place == PlaceOrder::Mesh          ? "the order of the mesh"
           : c.place == PlaceOrder::TensorApart ? "tensor parallelism across hosts"
                                                : "data parallelism inside a host";
  case Setting::Bucket:
    return c.bucket == 0 ? "no bucket" : "bucket " + bucketWord(c.bucket);
  case Setting::Buffer:
    return c.buffer > 0 ? "experts buffer " + bufferWord(c.buffer) : "no buffer for experts";
  }
  return "";
}

bool same(const Candidate &a, const Candidate &b, Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return a.dp == b.dp && a.pp == b.pp && a.ep == b.ep && a.cp == b.cp && a.tp == b.tp;
  case Setting::Micro:
    return a.micro == b.micro;
  case Setting::Schedule: // if only one of them has a single stage, the mesh differs; the same holds below
    return (a.schedule == b.schedule && a.chunks == b.chunks && a.live == b.live) || (a.pp == 1) != (b.pp == 1);
  case Setting::Context:
    return a.context == b.context || (a.cp == 1) != (b.cp == 1);
  case Setting::Recompute:
    return a.recompute == b.recompute;
  case Setting::Zero:
    return a.zero == b.zero || (a.dp == 1) != (b.dp == 1);
  case Setting::Sequence:
    return a.sequence == b.sequence || (a.tp == 1) != (b.tp == 1);
  case Setting::Split:
    return a.split == b.split || (a.tp == 1) != (b.tp == 1);
  case Setting::Place:
    return a.place == b.place || !same(a, b, Setting::Mesh);
  case Setting::Bucket:
    return a.bucket == b.bucket || (a.dp * a.cp == 1) != (b.dp * b.cp == 1);
  case Setting::Buffer: // of other ranks that share the experts it is another one
    return a.buffer == b.buffer || a.ep != b.ep;
  }
  return false;
}

int distance(const Candidate &a, const Candidate &b) {
  int differing = 0;
  for (int setting = 0; setting < settingCount; ++setting)
    differing += !same(a, b, static_cast<Setting>(setting));
  return differing;
}

double meshSteps(const Candidate &a, const Candidate &b) {
  double steps = 0;
  for (int64_t Candidate::*size : {&Candidate::dp, &Candidate::pp, &Candidate::ep, &Candidate::cp, &Candidate::tp})
    steps += std::abs(std::log2(static_cast<double>(a.*size) / static_cast<double>(b.*size)));
  return steps;
}

std::string nameOf(const Candidate &c) {
  std::string text = wordsOf(c, Setting::Mesh) + ", " + wordsOf(c, Setting::Micro);
  if (c.pp > 1)
    text += ", " + wordsOf(c, Setting::Schedule);
  if (c.cp > 1)
    text += ", " + wordsOf(c, Setting::Context);
  if (c.sequence)
    text += ", sequence";
  if (c.split != Split())
    text += fmt::format(", split {}", wordOf(c.split));
  if (c.zero)
    text += fmt::format(", zero {}", c.zero);
  if (c.recomputes())
    text += ", recompute " + wordOf(c.recompute);
  if (c.place != PlaceOrder::Mesh)
    text += fmt::format(", place {}", wordOf(c.place));
  if (c.bucket > 0)
    text += ", " + wordsOf(c, Setting::Bucket);
  return text + (c.buffer > 0 ? ", " + wordsOf(c, Setting::Buffer) : "");
}

int64_t PlanTask::ranks() const { return dsl::placesOf(machine, hosts); }

const OwnAxis *PlanTask::ownAxis(const std::string &name) const {
  auto found = std::find_if(ownAxes.begin(), ownAxes.end(), [&](const OwnAxis &own) { return own.name == name; });
  return found == ownAxes.end() ? nullptr : &*found;
}

static std::optional<program::ElementType> floatOf(const std::string &word) {
  for (const program::ElementRow &row : program::elementRows)
    if (program::isFloating(row.type) && word == row.planWord)
      return row.type;
  return std::nullopt;
}

std::vector<std::string> floatWords() {
  std::vector<std::string> words;
  for (const program::ElementRow &row : program::elementRows)
    if (program::isFloating(row.type))
      words.emplace_back(row.planWord);
  return words;
}

std::string PlanTypes::computeWord() const { return tf32 ? "tf32" : program::rowOf(compute).planWord; }

engine::Result<PlanTypes> PlanTypes::of(const std::string &compute, const std::string &gradients, const std::string &reduce) {
  PlanTypes types;
  types.tf32 = compute == "tf32";
  std::optional<program::ElementType> read = compute.empty() || types.tf32 ? types.compute : floatOf(compute);
  if (!read) {
    std::vector<std::string> words = floatWords();
    words.emplace_back("tf32");
    return engine::Status::usage("'compute' is " + dsl::joined(words) + ", not '" + compute + "'");
  }
  types.compute = *read;
  types.gradients = floatOf(gradients), types.reduce = floatOf(reduce);
  bool isNarrow = program::isNarrow(types.compute), same = gradients == types.computeWord();
  if (same)
    types.gradients.reset();
  else if (!gradients.empty() && (types.gradients != program::ElementType::F32 || (!isNarrow && !types.tf32)))
    return engine::Status::usage("'gradients' is what 'compute' is, or f32 under bf16 and fp16, not '" + gradients + "'");
  return types;
}

} // namespace npar::planner
