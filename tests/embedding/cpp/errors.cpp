// Errors are values, or exceptions by orThrow(); what a function of the host throws leaves the call that was made.
#include "check.hpp"

int main() {
  npar::Request wrong = request();
  wrong.text.replace(wrong.text.find("hidden, vocab ->"), 6, "hiden");
  npar::Result<npar::Program> none = npar::compile(wrong);
  fails(none, npar::Code::BadInput, "hello.npar:17:9: error: ");
  CHECK(none.error().json.find("\"line\": 17") != std::string::npos);
  CHECK(none.error().json.find("\"text\": \"hidden\"") != std::string::npos); // a fix
  bool caught = false;
  try {
    npar::compile(wrong).orThrow();
  } catch (const npar::Exception &exception) {
    caught = exception.error().code == npar::Code::BadInput && exception.what() == none.error().text;
  }
  CHECK(caught);

  struct Own {};
  auto throws = [](const npar::Event &) -> bool { throw Own(); };
  caught = false;
  npar::Request heard = request();
  heard.observer = throws;
  try {
    (void)npar::compile(heard);
  } catch (const Own &) {
    caught = true;
  }
  CHECK(caught);

  caught = false;
  npar::Request imported = request();
  imported.imports = [](std::string_view) -> std::optional<std::string> { throw Own(); };
  try {
    (void)npar::compile(imported);
  } catch (const Own &) {
    caught = true;
  }
  CHECK(caught);

  npar::Trainer one = trainer(good(npar::compile(request())));
  npar::RunOptions run;
  run.steps = 50, run.randomData = true;
  run.observer = [](const npar::Event &event) {
    if (event.step && event.step->step == 2)
      throw Own();
    return true;
  };
  caught = false;
  try {
    (void)one.run(run);
  } catch (const Own &) {
    caught = true;
  }
  CHECK(caught && one.steps() == 3);
  run.observer = [](const npar::Event &event) { return !(event.step && event.step->step == 4); };
  fails(one.run(run), npar::Code::Stopped, "");
  CHECK(one.steps() == 5);
  CHECK(step(one) > 0); // works as before
  return finish("errors");
}
