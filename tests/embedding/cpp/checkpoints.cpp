// A checkpoint continues with the same bits, under another plan as well; runs report, evaluate and generate.
#include "check.hpp"

#include <fstream>

int main() {
  npar::Trainer one = trainer(good(npar::compile(request("two_by_two"))));
  for (int i = 0; i < 3; ++i)
    step(one);
  good(one.save("checkpoints"));
  good(one.saveWeights("weights.safetensors"));
  std::string hash = good(one.hash());
  CHECK(hash.size() == 32);

  npar::Trainer two = trainer(good(npar::compile(request("none"))));
  CHECK(good(two.hash()) != hash || one.steps() == 0);
  good(two.resume("checkpoints"));
  CHECK(two.steps() == 3 && good(two.hash()) == hash);
  two = trainer(good(npar::compile(request("two_by_two"))));
  good(two.loadWeights("weights.safetensors"));
  CHECK(two.steps() == 0 && good(two.hash()) == hash);
  fails(two.resume("nowhere"), npar::Code::BadInput, "nowhere");

  std::ofstream file("text.txt", std::ios::binary);
  for (int i = 0; i < 4000; ++i)
    file.put(static_cast<char>(i * 3 % 32));
  file.close();
  int steps = 0, saved = 0;
  npar::RunOptions run;
  run.data = {"text.txt"}, run.tokens = "bytes", run.steps = 8, run.checkpoint = "run", run.checkpointEvery = 4;
  run.observer = [&](const npar::Event &event) {
    steps += event.kind == npar::Event::Step;
    saved += event.kind == npar::Event::Saved;
    return true;
  };
  npar::Report report = good(one.run(run));
  CHECK(steps == 5 && saved > 0 && one.steps() == 8);
  CHECK(report.json.find(good(one.hash())) != std::string::npos);
  npar::EvaluateOptions evaluation;
  evaluation.data = {"text.txt"}, evaluation.tokens = "bytes";
  CHECK(good(one.evaluate(evaluation)).json.find("loss") != std::string::npos);
  npar::GenerateOptions generation;
  generation.prompt = {1, 4, 7}, generation.count = 4;
  CHECK(good(one.generate(generation)).json.find("\"tokens\"") != std::string::npos);
  return finish("checkpoints");
}
