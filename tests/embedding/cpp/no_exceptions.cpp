// The header works under -fno-exceptions, where every error is a value.
#include "check.hpp"

int main() {
  npar::Request heard = request();
  int events = 0;
  heard.observer = [&](const npar::Event &) { return ++events > 0; };
  npar::Program program = good(npar::compile(heard));
  CHECK(events > 0);
  npar::Trainer one = trainer(program);
  CHECK(step(one) > step(one) - 1);
  fails(npar::Program::open("missing.npx"), npar::Code::BadInput, "missing.npx");
  return finish("no_exceptions");
}
