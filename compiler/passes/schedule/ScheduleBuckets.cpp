// schedule-buckets: joins the reductions of gradients to buckets, in the order in which the last backward completes the gradients, and the
// gathers of parameters that are updated in shares, in the order in which they are updated.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar::compiler {

#define GEN_PASS_DECL_SCHEDULEBUCKETS
#define GEN_PASS_DEF_SCHEDULEBUCKETS
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

bool isReduction(Operation *op) { return isa<dist::AllReduceOp, dist::ReduceScatterOp>(op); }

/// The properties that the members of a bucket share: kind of operation, operator, mesh axes, element type.
struct Signature {
  StringRef operation;
  Attribute reduce, axes;
  Type element;

  explicit Signature(Operation *op)
      : operation(op->getName().getStringRef()), reduce(op->getAttr("op")), axes(op->getAttr("axes")),
        element(cast<RankedTensorType>(op->getOperand(0).getType()).getElementType()) {}
  bool operator==(const Signature &other) const {
    return operation == other.operation && reduce == other.reduce && axes == other.axes && element == other.element;
  }
};

struct Bucket {
  Signature signature;
  SmallVector<Operation *> members;
  int64_t bytes = 0;
};

/// The update of one stage.
class Buckets {
public:
  Buckets(ModuleOp module, const SymbolTable &symbols, FragmentOp update, int64_t limit, uint64_t most)
      : module(module), symbols(symbols), update(update), limit(limit), most(most) {}

  void run() {
    findCompletions();
    SmallVector<Operation *> reductions;
    for (Operation &op : update.getBody().front())
      if (isReduction(&op) && completionOf(&op))
        reductions.push_back(&op);
    llvm::stable_sort(reductions, [&](Operation *a, Operation *b) { return *completionOf(a) < *completionOf(b); });
    front = &update.getBody().front().front();
    for (const Bucket &bucket : fill(reductions))
      place(bucket);
    for (const Bucket &bucket : gathers())
      placeLast(bucket);
  }

private:
  using Completion = std::pair<size_t, size_t>; ///< task in the stage's order, op in its fragment

  /// Finds the point at which each accumulator receives its last part.
  void findCompletions() {
    llvm::StringMap<size_t> last;
    for (OrderOp order : module.getOps<OrderOp>())
      if (order.getStage() == update.getStage())
        for (auto [index, task] : llvm::enumerate(order.getTaskNames()))
          last[task.fragment] = index;
    for (FragmentOp fragment : module.getOps<FragmentOp>())
      if (fragment.getStage() == update.getStage() && fragment.isPerMicro())
        for (auto [index, op] : llvm::enumerate(fragment.getBody().front()))
          if (auto accumulate = dyn_cast<nn::AccumulateOp>(op)) {
            Completion &known = completions[accumulate.getVariable()];
            known = std::max(known, Completion(last.lookup(fragment.getSymName()), index));
          }
  }

  /// The point at which the gradient that an operation reduces is complete; null unless the operation reduces an accumulator directly.
  const Completion *completionOf(Operation *op) const {
    auto read = op->getOperand(0).getDefiningOp<nn::ReadOp>();
    auto variable = read ? nn::findVariable(symbols, read.getVariable()) : nn::VariableOp();
    if (!variable || !variable.isKind(nn::VariableKind::Accumulator) || !variable.getOf())
      return nullptr;
    auto found = completions.find(read.getVariable());
    return found == completions.end() ? nullptr : &found->second;
  }

  /// Adds an operation to the bucket of its signature that is open, or to a new one where that would hold too much.
  void add(Operation *op, Value value, SmallVector<Bucket> &open, SmallVector<Bucket> &closed) const {
    Signature signature(op);
    int64_t bytes = nn::bytesOf(value.getType());
    auto *bucket = llvm::find_if(open, [&](const Bucket &each) { return each.signature == signature; });
    if (bucket == open.end()) {
      open.push_back({signature, {}, 0});
      bucket = &open.back();
    } else if (bucket->bytes + bytes > limit || bucket->members.size() == most) {
      closed.push_back(*bucket);
      *bucket = {signature, {}, 0};
    }
    bucket->members.push_back(op);
    bucket->bytes += bytes;
  }

  /// Closed buckets in the order in which they can be launched; one is open per signature.
  SmallVector<Bucket> fill(ArrayRef<Operation *> reductions) {
    SmallVector<Bucket> open, closed;
    for (Operation *op : reductions)
      add(op, op->getOperand(0), open, closed);
    closed.append(open);
    llvm::stable_sort(closed,
                      [&](const Bucket &a, const Bucket &b) { return *completionOf(a.members.back()) < *completionOf(b.members.back()); });
    return closed;
  }

  /// Puts the members side by side before everything else of the update, and after them the reductions of their results over further
  /// mesh axes, which are a bucket again.
  void place(const Bucket &bucket) {
    int64_t number = count++;
    for (Operation *op : bucket.members)
      if (Operation *source = op->getOperand(0).getDefiningOp(); !attributes::bucket.isOn(source))
        moveToFront(source);
    for (Operation *op : bucket.members) {
      moveToFront(op);
      attributes::bucket.set(op, number);
    }
    SmallVector<Bucket> next;
    for (Operation *op : bucket.members)
      for (Operation *user : op->getUsers()) {
        if (!isReduction(user) || attributes::bucket.isOn(user))
          continue;
        Signature signature(user);
        auto *found = llvm::find_if(next, [&](const Bucket &each) { return each.signature == signature && each.members.size() < most; });
        if (found == next.end()) {
          next.push_back({signature, {}, 0});
          found = &next.back();
        }
        found->members.push_back(user);
      }
    for (const Bucket &each : next)
      place(each);
  }

  /// Gathers of new values that nothing but a parameter takes, and nothing reads again.
  SmallVector<Bucket> gathers() {
    llvm::StringSet<> written, readAgain;
    for (Operation &op : update.getBody().front())
      if (auto write = dyn_cast<nn::WriteOp>(op))
        written.insert(write.getVariable());
      else if (auto read = dyn_cast<nn::ReadOp>(op); read && written.contains(read.getVariable()))
        readAgain.insert(read.getVariable());
    SmallVector<Bucket> open, closed;
    for (auto gather : update.getBody().front().getOps<dist::AllGatherOp>()) {
      auto write = gather->hasOneUse() ? dyn_cast<nn::WriteOp>(*gather->user_begin()) : nn::WriteOp();
      if (!write || readAgain.contains(write.getVariable()))
        continue;
      add(gather, gather.getResult(), open, closed);
    }
    closed.append(open);
    return closed;
  }

  /// Puts the members where the last of them is, and the writes after them.
  void placeLast(const Bucket &bucket) {
    int64_t number = count++;
    Operation *last = bucket.members.back(), *after = last;
    for (Operation *op : bucket.members) {
      if (op != last)
        op->moveBefore(last);
      attributes::bucket.set(op, number);
    }
    for (Operation *op : bucket.members) {
      Operation *write = *op->user_begin();
      write->moveAfter(after);
      after = write;
    }
  }

  void moveToFront(Operation *op) {
    if (op == front)
      front = op->getNextNode();
    else
      op->moveBefore(front);
  }

  ModuleOp module;
  const SymbolTable &symbols;
  FragmentOp update;
  int64_t limit;              ///< bytes
  uint64_t most;              ///< members
  Operation *front = nullptr; ///< the first op that is not of a bucket
  int64_t count = 0;
  llvm::StringMap<Completion> completions; ///< by accumulator
};

struct ScheduleBuckets : impl::ScheduleBucketsBase<ScheduleBuckets> {
  using ScheduleBucketsBase::ScheduleBucketsBase;

  void runOnOperation() override {
    std::optional<int64_t> limit = attributes::bucketBytes.get(getOperation());
    if (!limit)
      return;
    SymbolTable symbols(getOperation());
    for (FragmentOp fragment : getOperation().getOps<FragmentOp>())
      if (fragment.getPhase() == Phase::Update && !fragment.getBody().front().empty())
        Buckets(getOperation(), symbols, fragment, *limit, members).run();
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleBucketsPass() { return std::make_unique<ScheduleBuckets>(); }

} // namespace npar::compiler
