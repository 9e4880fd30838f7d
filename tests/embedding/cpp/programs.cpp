// Programs: compiled with imports of the host, described, saved, opened, shared; verified, simulated.
#include "check.hpp"

int main() {
  npar::Request wanted = request();
  wanted.text.replace(wanted.text.find("\"Linear\""), 8, "\"mine\"");
  wanted.imports = [](std::string_view name) -> std::optional<std::string> {
    if (name == "mine")
      return "import \"Linear\"\n";
    return std::nullopt;
  };
  int phases = 0;
  wanted.observer = [&](const npar::Event &event) {
    phases += event.kind == npar::Event::Phase;
    return true;
  };
  npar::Program program = good(npar::compile(wanted));
  CHECK(phases > 3);
  CHECK(program.warnings().front() == '[');
  CHECK(good(program.inputs()).find("\"tokens\"") != std::string::npos);
  CHECK(good(program.parameters()).find("\"up.weight\"") != std::string::npos);
  CHECK(good(program.mesh()).find("\"ranks\": 4") != std::string::npos);
  CHECK(good(program.describe(npar::View::Page, npar::Format::Html)).find("<html") != std::string::npos);
  fails(program.describe(npar::View::Page, npar::Format::Svg), npar::Code::Usage, "no view");

  good(program.save("hello.npx"));
  CHECK(good(npar::Program::open("hello.npx")).bytes() == program.bytes());
  npar::Program copy = good(npar::Program::fromBytes(program.bytes()));
  program = copy; // the first is gone
  CHECK(copy.raw() == program.raw() && copy.warnings() == "[]");
  fails(npar::Program::open("missing.npx"), npar::Code::BadInput, "missing.npx");
  fails(npar::Program::fromBytes("nothing"), npar::Code::BadInput, "");

  CHECK(good(npar::verify(request())).json.find("\"ok\": true") != std::string::npos);
  npar::Request simulated = request();
  simulated.machine = "dgx-a100";
  CHECK(good(npar::simulate(simulated)).json.find("\"schema\"") != std::string::npos);
  return finish("programs");
}
