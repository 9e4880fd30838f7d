// A host that uses oneTBB itself, with a limit of its own: its limit and its arenas stay, and training inside its tasks works.
#include "../cpp/check.hpp"

#include <atomic>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

using tbb::global_control;

int main() {
  global_control limit(global_control::max_allowed_parallelism, 3);
  auto allowed = [] { return global_control::active_value(global_control::max_allowed_parallelism); };
  npar::Program program = good(npar::compile(request()));
  CHECK(allowed() == 3);
  npar::Trainer first = trainer(program), second = trainer(program);
  CHECK(allowed() == 3);

  // Both train at once, each in a task of the host.
  tbb::task_arena arena(2);
  std::string hashes[2];
  npar::Trainer *trainers[] = {&first, &second};
  arena.execute([&] {
    tbb::parallel_for(0, 2, [&](int i) {
      for (int j = 0; j < 10; ++j)
        step(*trainers[i]);
      hashes[i] = good(trainers[i]->hash());
    });
  });
  CHECK(hashes[0] == hashes[1] && arena.max_concurrency() == 2 && allowed() == 3);

  // The host's own loops still run while a trainer lives, and give all of their iterations.
  std::atomic<int> sum{0};
  tbb::parallel_for(0, 1000, [&](int i) { sum += i; });
  CHECK(sum == 499500);
  return finish("onetbb");
}
