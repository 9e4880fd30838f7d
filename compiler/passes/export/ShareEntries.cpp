// Walks the steps in order and copies each entry that is new into fresh tables; what an entry says is its key.
#include "compiler/passes/export/ShareEntries.h"

#include "engine/program/Steps.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>
#include <tuple>

namespace npar::compiler {
namespace {

/// A table without equal entries.
template <typename Entry, typename Key> class Shared {
public:
  /// The number of the entry with this key; `make` is called when it is new.
  template <typename Make> uint32_t add(Key key, Make make) {
    auto [found, isNew] = numbers.try_emplace(std::move(key), static_cast<uint32_t>(entries.size()));
    if (isNew)
      make();
    return found->second;
  }
  std::vector<std::unique_ptr<Entry>> entries;

private:
  std::map<Key, uint32_t> numbers;
};

using LabelKey = std::tuple<std::string, std::string, std::string, uint32_t, uint32_t>; // text, path, place

LabelKey keyOf(const program::LabelT &label) {
  if (!label.source)
    return {label.text, label.path, "", 0, 0};
  return {label.text, label.path, label.source->file, label.source->line, label.source->column};
}

auto keyOf(const program::WalkedOperandT &operand) {
  std::vector<std::tuple<int64_t, int64_t, std::vector<int64_t>, int64_t, int64_t>> windows;
  for (const auto &window : operand.windows)
    windows.emplace_back(window->size, window->stride, window->steps, window->before, window->spread);
  return std::make_tuple(operand.strides, windows);
}

auto keyOf(const program::WindowedProductT *product) {
  using Walk = decltype(keyOf(std::declval<const program::WalkedOperandT &>()));
  using Sizes = std::vector<int64_t>;
  return product ? std::make_tuple(true, product->m, product->n, product->k, keyOf(*product->a), keyOf(*product->b))
                 : std::make_tuple(false, Sizes(), Sizes(), Sizes(), Walk(), Walk());
}

auto keyOf(const program::MatmulT &m) {
  return std::make_tuple(m.type, m.result, m.m, m.n, m.k, m.batch, m.a_batch, m.a_row, m.a_column, m.b_batch, m.b_row, m.b_column,
                         m.c_batch, m.c_row, m.accumulate, m.tf32, m.grouping, keyOf(m.windowed.get()));
}

auto keyOf(const program::AttentionT &a) {
  std::vector<std::tuple<std::vector<int64_t>, int64_t, int64_t>> strides;
  for (const auto &each : a.strides)
    strides.emplace_back(each->batch, each->head, each->row);
  auto dataOf = [](const auto &list) {
    std::vector<std::tuple<program::ElementType, std::vector<int64_t>, int64_t, int64_t, int64_t, bool, bool, int64_t, int64_t, uint32_t>>
        all;
    for (const auto &each : list)
      all.emplace_back(each->type, each->batch, each->head, each->query, each->key, each->has_query, each->has_key, each->keys,
                       each->entries, each->datum);
    return all;
  };
  return std::make_tuple(a.type, a.gradient, a.causal, a.scale, a.batch, a.heads, a.rows, a.keys, a.features, a.values, strides, a.axes,
                         a.zigzag, a.ring, a.step, a.continues, a.unfinished, a.other, a.kernels, a.drops, dataOf(a.data), dataOf(a.slopes),
                         a.back, a.ahead);
}

auto keyOf(const program::TransferT &t) { return std::make_tuple(t.axis, t.peer, t.event, t.type, t.count); }

auto keyOf(const program::CauseT *c) {
  std::vector<std::pair<std::string, std::string>> axes;
  for (size_t i = 0; c && i < c->axes.size(); ++i)
    axes.emplace_back(c->axes[i]->axis, c->axes[i]->rule);
  program::CauseT none;
  const program::CauseT &cause = c ? *c : none;
  return std::make_tuple(c != nullptr, cause.kind, cause.operation, cause.variable, axes, cause.mesh_axis, cause.store);
}

/// But for the rules, whose numbers change.
auto keyOf(const program::CollectiveT &c) {
  return std::make_tuple(c.kind, c.op, c.type, c.axes, c.event, c.count, c.outer, c.split, c.inner, c.whole, c.middle, c.concat,
                         c.concat_first, c.shift, keyOf(c.cause.get()), c.from, c.to, c.library, c.filled, c.places, c.entries, c.groups);
}

class Sharing {
public:
  explicit Sharing(program::ProgramT &program) : program(program) {}

  void run() {
    for (auto &rankClass : program.classes)
      for (auto &fragment : rankClass->fragments)
        for (program::Step &step : fragment->steps) {
          step.mutate_payload(payloadOf(step)); // before the label: a collective's rules are labels too
          step.mutate_label(label(step.label()));
        }
    program.labels = std::move(labels.entries);
    program.kernels = std::move(kernels.entries);
    program.matmuls = std::move(matmuls.entries);
    program.attentions = std::move(attentions.entries);
    program.collectives = std::move(collectives.entries);
    program.transfers = std::move(transfers.entries);
  }

private:
  template <typename Entry> using KeyOf = decltype(keyOf(std::declval<const Entry &>()));
  using CollectiveKey = std::pair<KeyOf<program::CollectiveT>, std::vector<LabelKey>>; // with the labels of its rules

  program::ProgramT &program;
  Shared<program::LabelT, LabelKey> labels;
  Shared<program::KernelT, std::string> kernels;
  Shared<program::MatmulT, KeyOf<program::MatmulT>> matmuls;
  Shared<program::AttentionT, KeyOf<program::AttentionT>> attentions;
  Shared<program::CollectiveT, std::vector<CollectiveKey>> collectives; // by all parts of a bucket
  Shared<program::TransferT, KeyOf<program::TransferT>> transfers;

  uint32_t label(uint32_t old) {
    const program::LabelT &entry = *program.labels[old];
    return labels.add(keyOf(entry), [&] { labels.entries.push_back(std::make_unique<program::LabelT>(entry)); });
  }

  uint32_t payloadOf(const program::Step &step) {
    switch (step.kind()) {
    case program::StepKind::Kernel:
      return kernel(step.payload());
    case program::StepKind::Matmul:
      return copied(matmuls, keyOf(*program.matmuls[step.payload()]), *program.matmuls[step.payload()]);
    case program::StepKind::Attention:
      return attention(*program.attentions[step.payload()]);
    case program::StepKind::Collective:
      return collective(step);
    case program::StepKind::Send:
    case program::StepKind::Receive:
      return copied(transfers, keyOf(*program.transfers[step.payload()]), *program.transfers[step.payload()]);
    case program::StepKind::Zero:
    case program::StepKind::Copy:
      return 0;
    }
    llvm_unreachable("a step of no kind");
  }

  template <typename Entry, typename Key> static uint32_t copied(Shared<Entry, Key> &table, Key key, const Entry &entry) {
    return table.add(std::move(key), [&] { table.entries.push_back(std::make_unique<Entry>(entry)); });
  }

  uint32_t kernel(uint32_t old) { return copied(kernels, program.kernels[old]->symbol, *program.kernels[old]); }

  /// Copies an attention and the kernels of its scores, which get new numbers.
  uint32_t attention(const program::AttentionT &old) {
    program::AttentionT entry = old;
    for (uint32_t &number : entry.kernels)
      number = kernel(number);
    return copied(attentions, keyOf(entry), entry);
  }

  /// Copies the parts of a bucket, which are consecutive, as a whole.
  uint32_t collective(const program::Step &step) {
    std::vector<CollectiveKey> key;
    for (uint32_t part = 0; part < program::partsOf(step); ++part) {
      const program::CollectiveT &entry = *program.collectives[step.payload() + part];
      key.emplace_back(keyOf(entry), std::vector<LabelKey>());
      for (uint32_t rule : entry.rules)
        key.back().second.push_back(keyOf(*program.labels[rule]));
    }
    return collectives.add(std::move(key), [&] {
      for (uint32_t part = 0; part < program::partsOf(step); ++part) {
        auto entry = std::make_unique<program::CollectiveT>(*program.collectives[step.payload() + part]);
        for (uint32_t &rule : entry->rules)
          rule = label(rule);
        collectives.entries.push_back(std::move(entry));
      }
    });
  }
};

} // namespace

void shareEntries(program::ProgramT &program) { Sharing(program).run(); }

} // namespace npar::compiler
