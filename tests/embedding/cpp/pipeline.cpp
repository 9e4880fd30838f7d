// The page's pipeline: its views tell the stage of each parameter and the ranks of each stage, and it trains.
#include "check.hpp"

int main() {
  npar::Program program = good(npar::compile("deep.npar"));
  std::string mesh = good(program.mesh()), parameters = good(program.parameters()), inputs = good(program.inputs());
  auto words = [](std::string text) { // without the layout of JSON
    std::string all;
    for (char letter : text)
      if (letter != ' ' && letter != '\n')
        all += letter;
    return all;
  };
  CHECK(words(mesh).find(R"("stages":[{"stage":0,"ranks":[0,1]},{"stage":1,"ranks":[2,3]})") != std::string::npos);
  auto of = [all = words(parameters)](const std::string &name) {
    size_t begin = all.find("{\"name\":\"" + name + "\""), end = all.find('}', begin);
    CHECK(begin != std::string::npos);
    return all.substr(begin, end - begin);
  };
  CHECK(of("table.weight").find(R"("stages":[0])") != std::string::npos);
  CHECK(of("h.3.up.weight").find(R"("stages":[1])") != std::string::npos);
  CHECK(of("head.weight").find(R"("stages":[3])") != std::string::npos);
  CHECK(of("head.weight").find(R"("states":["head.weight)") != std::string::npos);
  CHECK(words(inputs).find(R"("outputs":[])") != std::string::npos);

  npar::Request forward;
  forward.file = "deep.npar", forward.kind = npar::Kind::Evaluation;
  CHECK(words(good(good(npar::compile(forward)).inputs())).find(R"("outputs":[{"name":"losses")") != std::string::npos);

  npar::Trainer one = trainer(program);
  std::vector<int32_t> tokens(16 * 32, 'a'), targets(16 * 32, 'b');
  auto loss = [&] { return good(one.step({{"tokens", {tokens, {16, 32}}}, {"targets", {targets, {16, 32}}}})).loss; };
  double first = loss();
  CHECK(loss() < first);
  return finish("pipeline");
}
