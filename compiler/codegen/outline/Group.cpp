// Greedy fusion: ops join their producers' groups as long as one loop nest fits all and no dependency leaves a group and comes back.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/dialects/nn/ops/Along.h"

#include <queue>

using namespace mlir;

namespace npar::codegen {

namespace {
struct Group {
  SmallVector<int> members; ///< places in the block, ascending
  bool fusable = false;
  int first() const { return members.front(); }
  int last() const { return members.back(); }
};

class Grouping {
public:
  Grouping(Block &block, llvm::function_ref<Value(Operation *)> endsOf);
  std::vector<SmallVector<Operation *>> run();

private:
  void addEdge(int from, int to) {
    successors[from].push_back(to);
    predecessors[to].push_back(from);
  }
  void orderEffects();
  bool fits(ArrayRef<int> members);
  bool areOfOneRound(ArrayRef<int> members);
  bool reaches(int from, int to);
  bool tryMerge(int a, int b);

  std::vector<Operation *> ops;
  std::vector<OpLoops> loops; ///< ends of rows are external
  llvm::DenseMap<Operation *, int> place;
  std::vector<SmallVector<int>> successors, predecessors; ///< between ops
  std::vector<Group> groups;
  std::vector<int> groupOf; ///< op -> group
  std::vector<int> cover;   ///< by place: the last place of a group that begins there or before, at least the place itself
};
} // namespace

Grouping::Grouping(Block &block, llvm::function_ref<Value(Operation *)> endsOf) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    place[&op] = ops.size();
    ops.push_back(&op);
    loops.push_back(isFusable(&op) ? loopsOf(&op) : OpLoops());
    if (Value ends = endsOf(&op); ends && isFusable(&op))
      loops.back().external.push_back(ends);
  }
  successors.resize(ops.size());
  predecessors.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    auto follows = [&](Value value) {
      if (Operation *producer = value.getDefiningOp())
        if (auto found = place.find(producer); found != place.end())
          addEdge(found->second, i);
    };
    llvm::for_each(ops[i]->getOperands(), follows);
    llvm::for_each(loops[i].external, follows);
    groups.push_back({{int(i)}, isFusable(ops[i])});
    groupOf.push_back(i);
    cover.push_back(i);
  }
  orderEffects();
}

// Communication and stashes keep their order; reads and writes of one variable too. A use of a read's value may find the variable
// overwritten in place, so it precedes the next write.
void Grouping::orderEffects() {
  int lastCommunication = -1;
  llvm::StringMap<SmallVector<int>> readers;
  llvm::StringMap<int> writer;
  for (int i = 0, e = ops.size(); i < e; ++i) {
    StringRef dialect = ops[i]->getName().getDialectNamespace();
    if ((dialect == "dist" && !groups[i].fusable) || dialect == "pipe") {
      if (lastCommunication >= 0)
        addEdge(lastCommunication, i);
      lastCommunication = i;
    }
    if (auto read = dyn_cast<nn::ReadOp>(ops[i])) {
      if (auto found = writer.find(read.getVariable()); found != writer.end())
        addEdge(found->second, i);
      readers[read.getVariable()].push_back(i);
    } else if (auto write = dyn_cast<nn::WriteOp>(ops[i])) {
      for (int reader : readers[write.getVariable()]) {
        addEdge(reader, i);
        for (Operation *user : ops[reader]->getUsers())
          if (auto found = place.find(user); found != place.end() && found->second < i)
            addEdge(found->second, i);
      }
      readers[write.getVariable()].clear();
      if (auto found = writer.find(write.getVariable()); found != writer.end())
        addEdge(found->second, i);
      writer[write.getVariable()] = i;
    }
  }
}

// Rows of experts that come in rounds share memory: a kernel with values of several rounds would need all of them at once.
bool Grouping::areOfOneRound(ArrayRef<int> members) {
  DenseI64ArrayAttr common;
  for (int i : members)
    if (DenseI64ArrayAttr round = attributes::round.get(ops[i])) {
      if (common && round != common)
        return false;
      common = round;
    }
  return true;
}

// Whether one loop nest fits all members (loops/Nest.cpp plans it later by the same rules).
bool Grouping::fits(ArrayRef<int> members) {
  if (members.size() > 48 || !areOfOneRound(members))
    return false;
  // A table's gradient and the accumulator that it is added to: a nest of its own (loops/ScatterAdd.cpp).
  if (auto scatter = dyn_cast<nn::ScatterAddOp>(ops[members.front()]))
    return members.size() == 2 && isa<nn::AddOp>(ops[members.back()]) && scatter->hasOneUse() &&
           scatter.getType() == ops[members.back()]->getResult(0).getType();
  // An append to a state has its own loops, too (loops/Append.cpp).
  if (llvm::any_of(members, [&](int i) { return isa<nn::AppendOp>(ops[i]); }))
    return false;
  int widest = members.front();
  const OpLoops *reduction = nullptr;
  llvm::DenseSet<Operation *> inside;
  for (int i : members) {
    if (loops[i].alone)
      return false;
    if (loops[i].volume() > loops[widest].volume())
      widest = i;
    if (!loops[i].reduced.empty()) {
      if (reduction && llvm::SmallDenseSet<StringAttr>(reduction->reduced.begin(), reduction->reduced.end()) !=
                           llvm::SmallDenseSet<StringAttr>(loops[i].reduced.begin(), loops[i].reduced.end()))
        return false;
      reduction = &loops[i];
    }
    inside.insert(ops[i]);
  }
  const OpLoops &space = loops[widest];
  auto spaceSize = [&](StringAttr axis) {
    for (auto &[name, size] : space.loops)
      if (name == axis)
        return size;
    return int64_t(-1);
  };
  bool column = reduction && !llvm::is_contained(reduction->reduced, space.loops.back().first);
  llvm::SmallSetVector<Value, 16> operands;
  unsigned results = 0;
  for (int i : members) {
    bool full = loops[i].loops.size() == space.loops.size(), touchesReduced = false;
    for (auto &[axis, size] : loops[i].loops) {
      if (spaceSize(axis) != size)
        return false;
      touchesReduced |= reduction && llvm::is_contained(reduction->reduced, axis);
    }
    // One entry of an axis that others walk: a plan may leave a rank one entry of an axis in one op, and all of them in the next.
    if (llvm::any_of(loops[i].units, [&](StringAttr axis) { return spaceSize(axis) >= 0; }))
      return false;
    if ((!loops[i].reduced.empty() || loops[i].costly) && !full)
      return false;
    for (Value external : loops[i].external)
      if (inside.contains(external.getDefiningOp()))
        return false;
    for (Value operand : ops[i]->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        operands.insert(operand);
    for (Value result : ops[i]->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *user) { return inside.contains(user); }))
        continue;
      ++results;
      bool kept = reduction && !touchesReduced && loops[i].loops.size() == space.loops.size() - reduction->reduced.size();
      bool reduces = !loops[i].reduced.empty();
      // A kernel that reduces everything has one row: what could be stored in parallel should be.
      if (reduction && !reduces && full && reduction->reduced.size() == space.loops.size() && space.volume() > 4096)
        return false;
      if (!(full && !(column && !reduces)) && !kept && !reduces)
        return false; // it would be stored many times, or against the grain
    }
  }
  return operands.size() + results <= 32;
}

// Returns whether a path leads from group `from` to group `to` through at least one other group.
bool Grouping::reaches(int from, int to) {
  // A path comes back only through a group that begins before the bound and ends after it.
  int bound = groups[to].last();
  while (cover[bound] > bound)
    bound = cover[bound];
  SmallVector<int> stack;
  llvm::SmallDenseSet<int> seen;
  auto push = [&](int group) {
    for (int member : groups[group].members)
      for (int next : successors[member]) {
        int target = groupOf[next];
        if (target == group || (group == from && target == to))
          continue;
        if (groups[target].first() <= bound && seen.insert(target).second)
          stack.push_back(target);
      }
  };
  push(from);
  while (!stack.empty()) {
    int group = stack.pop_back_val();
    if (group == to)
      return true;
    if (group == from)
      continue;
    push(group);
  }
  return false;
}

bool Grouping::tryMerge(int a, int b) {
  if (a == b)
    return true;
  if (!groups[a].fusable || !groups[b].fusable)
    return false;
  SmallVector<int> members(groups[a].members);
  members.append(groups[b].members);
  llvm::sort(members);
  if (!fits(members) || reaches(a, b) || reaches(b, a))
    return false;
  groups[a].members = members;
  for (int at = groups[a].first(); at < groups[a].last(); ++at)
    cover[at] = std::max(cover[at], groups[a].last());
  for (int member : groups[b].members)
    groupOf[member] = a;
  groups[b].members.clear();
  return true;
}

std::vector<SmallVector<Operation *>> Grouping::run() {
  // Producers, nearest first.
  for (int i = 0, e = ops.size(); i < e; ++i) {
    if (!groups[groupOf[i]].fusable)
      continue;
    SmallVector<int> producers(predecessors[i]);
    llvm::sort(producers, std::greater<int>());
    for (int producer : producers)
      tryMerge(groupOf[producer], groupOf[i]);
  }
  // Siblings that read the same large operand.
  llvm::DenseMap<Value, SmallVector<int>> readers;
  for (int i = 0, e = ops.size(); i < e; ++i) {
    if (!groups[groupOf[i]].fusable)
      continue;
    for (Value operand : ops[i]->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || type.getNumElements() < loops[i].volume() || type.getNumElements() < 2)
        continue;
      for (int sibling : readers[operand])
        if (groupOf[sibling] != groupOf[i] && tryMerge(groupOf[sibling], groupOf[i]))
          break;
      readers[operand].push_back(i);
    }
  }
  // Kahn's order, earliest place first.
  std::vector<int> waiting(ops.size(), 0);
  auto forSuccessors = [&](int group, llvm::function_ref<void(int)> visit) {
    for (int member : groups[group].members)
      for (int next : successors[member])
        if (groupOf[next] != group)
          visit(groupOf[next]);
  };
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  for (int i = 0, e = ops.size(); i < e; ++i)
    if (!groups[i].members.empty())
      forSuccessors(i, [&](int next) { ++waiting[next]; });
  for (int i = 0, e = ops.size(); i < e; ++i)
    if (!groups[i].members.empty() && waiting[i] == 0)
      ready.push({groups[i].first(), i});
  std::vector<SmallVector<Operation *>> order;
  while (!ready.empty()) {
    int group = ready.top().second;
    ready.pop();
    SmallVector<Operation *> members;
    for (int member : groups[group].members)
      members.push_back(ops[member]);
    order.push_back(members);
    forSuccessors(group, [&](int next) {
      if (--waiting[next] == 0)
        ready.push({groups[next].first(), next});
    });
  }
  return order;
}

std::vector<SmallVector<Operation *>> groupOps(Block &block, llvm::function_ref<Value(Operation *)> endsOf) {
  return Grouping(block, endsOf).run();
}

} // namespace npar::codegen
