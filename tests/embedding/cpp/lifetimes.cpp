// Objects are destroyed in any order, also inside an observer; a trainer that was moved from refuses calls.
#include "check.hpp"

int main() {
  std::optional<npar::ArrayView<float>> view;
  std::vector<npar::Piece> pieces;
  {
    npar::Trainer one = trainer(good(npar::compile(request("none"))));
    step(one);
    view = good(one.view<float>("up.weight"));
    pieces = good(one.pieces("up.bias"));
  }
  float sum = 0;
  for (int64_t i = 0; i < view->shape()[0]; ++i)
    sum += (*view)(i, 0);
  CHECK(sum == sum && pieces.size() == 1 && good(pieces[0].view.as<float>()).size() == 32);

  auto held = std::make_unique<npar::Trainer>(trainer(good(npar::compile(request()))));
  npar::Trainer *running = held.get();
  npar::RunOptions run;
  run.steps = 50, run.randomData = true;
  int steps = 0;
  run.observer = [&](const npar::Event &event) {
    if (event.step && ++steps == 3)
      held.reset();
    return true;
  };
  fails(running->run(run), npar::Code::Stopped, "");
  CHECK(steps == 3);

  npar::Trainer from = trainer(good(npar::compile(request())));
  npar::Trainer to = std::move(from);
  CHECK(step(to) > 0 && from.steps() == 0);
  fails(from.hash(), npar::Code::Usage, "trainer");
  from.stop();
  return finish("lifetimes");
}
