// Lists a fragment's dependencies, or condenses them to the steps that matter by a transitive reduction.
#include "engine/program/FragmentWaits.h"

#include "engine/program/StepOrder.h"
#include "engine/program/Steps.h"

namespace npar::program {
namespace {

/// The steps of a fragment with their places; no waits yet.
FragmentWaits numbered(const Fragment &fragment, const std::vector<bool> &wanted) {
  FragmentWaits result;
  result.places.assign(fragment.steps()->size(), FragmentWaits::none);
  for (uint32_t step = 0; step < fragment.steps()->size(); ++step)
    if (wanted[step]) {
      result.places[step] = static_cast<uint32_t>(result.steps.size());
      result.steps.push_back(step);
    }
  return result;
}

template <typename Visit> void forEachDependency(const Fragment &fragment, uint32_t step, Visit visit) {
  const Step &waiting = *fragment.steps()->Get(step);
  for (uint32_t i = 0; i < waiting.dependency_count(); ++i)
    visit(fragment.dependencies()->Get(waiting.first_dependency() + i));
}

} // namespace

FragmentWaits listedWaits(const Fragment &fragment) {
  FragmentWaits result = numbered(fragment, std::vector<bool>(fragment.steps()->size(), true));
  for (uint32_t step : result.steps) {
    forEachDependency(fragment, step, [&](uint32_t awaited) { result.waits.push_back({awaited, step}); });
    result.afterEarlier.push_back(!isAsync(*fragment.steps()->Get(step)));
  }
  result.beforeLater = result.afterEarlier;
  return result;
}

FragmentWaits condensedWaits(const Fragment &fragment, const std::vector<bool> &wanted) {
  FragmentWaits result = numbered(fragment, wanted);
  const uint32_t count = fragment.steps()->size();
  // A step that is left out hands on what joins it to other tasks.
  std::vector<bool> after(count), before(count);
  for (uint32_t step = 0; step < count; ++step) {
    after[step] = before[step] = !isAsync(*fragment.steps()->Get(step));
    forEachDependency(fragment, step, [&](uint32_t awaited) {
      if (!wanted[awaited] && after[awaited])
        after[step] = true;
    });
  }
  for (uint32_t step = count; step-- > 0;)
    if (before[step])
      forEachDependency(fragment, step, [&](uint32_t awaited) {
        if (!wanted[step])
          before[awaited] = true;
      });
  BitMatrix awaitedBy(count, result.steps.size()); // rows: steps, columns: places of those that they wait for
  for (uint32_t step = 0; step < count; ++step)
    forEachDependency(fragment, step, [&](uint32_t awaited) {
      awaitedBy.unite(step, awaited);
      if (wanted[awaited])
        awaitedBy.set(step, result.places[awaited]);
    });
  BitMatrix follows(1, result.steps.size()); // what the waits found so far imply
  for (uint32_t place = 0; place < result.steps.size(); ++place) {
    uint32_t step = result.steps[place];
    follows.clear(0);
    for (uint32_t other = place; other-- > 0;)
      if (awaitedBy.test(step, other) && !follows.test(0, other)) {
        result.waits.push_back({other, place});
        follows.unite(0, awaitedBy, result.steps[other]);
      }
    result.afterEarlier.push_back(after[step]);
    result.beforeLater.push_back(before[step]);
  }
  return result;
}

} // namespace npar::program
