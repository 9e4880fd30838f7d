// Two threads train one program at the same time, with equal results; another thread stops a run.
#include "check.hpp"

#include <chrono>
#include <thread>

int main() {
  npar::Program program = good(npar::compile(request()));
  std::string hashes[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      npar::Trainer own = trainer(program);
      for (int j = 0; j < 20; ++j)
        step(own);
      hashes[i] = good(own.hash());
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(hashes[0] == hashes[1]);

  npar::Trainer one = trainer(program);
  npar::RunOptions run;
  run.steps = int64_t(1) << 40, run.randomData = true;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    one.stop();
  });
  fails(one.run(run), npar::Code::Stopped, "");
  other.join();
  CHECK(step(one) > 0);
  return finish("threads");
}
