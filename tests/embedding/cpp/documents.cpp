// Writes every kind of JSON that the library gives to a file SCHEMA@WHAT.json; test_embedding.py validates them by tools/api/schemas.
#include "check.hpp"

#include <fstream>

static void write(const std::string &name, const std::string &json) { std::ofstream(name + ".json", std::ios::binary) << json; }

static void describe(const npar::Program &program) {
  const std::pair<const char *, npar::View> views[] = {
      {"inspect@summary", npar::View::Summary}, {"inspect@why", npar::View::Why},       {"inspect@bytes", npar::View::Bytes},
      {"program-hosts", npar::View::Hosts},     {"program-inputs", npar::View::Inputs}, {"program-parameters", npar::View::Parameters},
      {"program-mesh", npar::View::Mesh}};
  for (const auto &[name, view] : views)
    write(name, good(program.describe(view, npar::Format::Json)));
}

static void train(const npar::Program &program) {
  std::ofstream file("text.txt", std::ios::binary);
  for (int i = 0; i < 1000; ++i)
    file.put(static_cast<char>(i * 3 % 32));
  file.close();
  npar::Trainer own = trainer(program);
  npar::RunOptions run;
  run.data = {"text.txt"}, run.tokens = "bytes", run.steps = 4, run.checkpoint = "run";
  run.evaluateEvery = 2, run.evaluateData = {"text.txt"};
  run.observer = [](const npar::Event &event) {
    if (event.kind == npar::Event::Evaluated)
      write("eval@event", std::string(event.text));
    return true;
  };
  write("train", good(own.run(run)).json);
  npar::EvaluateOptions evaluation;
  evaluation.data = {"text.txt"}, evaluation.tokens = "bytes";
  write("eval", good(own.evaluate(evaluation)).json);
  npar::Request forward = request();
  forward.kind = npar::Kind::Evaluation;
  npar::Trainer evaluator = trainer(good(npar::compile(forward)));
  std::vector<int32_t> tokens(16 * 8, 3), targets(16 * 8, 4);
  npar::StepResult evaluated = good(evaluator.step({{"tokens", {tokens, {16, 8}}}, {"targets", {targets, {16, 8}}}}));
  CHECK(evaluated.loss > 1);
  write("eval@steps", good(evaluator.evaluated()).json);
  npar::GenerateOptions generation;
  generation.prompt = {1, 4, 7}, generation.count = 2;
  write("generate", good(own.generate(generation)).json);
}

static void compileWrongTexts() {
  npar::Request wrong = request();
  wrong.text.replace(wrong.text.find("hidden, vocab -> tp"), 6, "hiden");
  write("error@located", npar::compile(wrong).error().json);
  wrong = request("nowhere");
  write("error@plan", npar::compile(wrong).error().json);
  write("error@file", npar::Program::open("missing.npx").error().json);
}

int main() {
  npar::Program program = good(npar::compile(request()));
  describe(program);
  train(program);
  compileWrongTexts();
  write("library", good(npar::library()).json);
  write("verify", good(npar::verify(request())).json);
  npar::Request wanted = request();
  wanted.machine = "dgx-a100";
  npar::SimulateOptions simulated;
  simulated.jitter = 0.05, simulated.totalTokens = 1e9;
  write("simulate", good(npar::simulate(wanted, simulated)).json);
  write("explain", good(npar::explain(wanted)).json);
  write("inspect-annotate", good(npar::annotate(wanted)).json);
  simulated.slow = {"rank=3:1.5"}, simulated.slowLinks = {"host:2"}, simulated.place = "tp, dp", simulated.devices = 4;
  simulated.deviceMtbf = 5e4, simulated.checkpointSeconds = 30, simulated.restartSeconds = 600;
  simulated.taskTimes = {1, 2, 1, 0.1}, simulated.rowsSent = {0.5, 0.25};
  write("simulate@slow", good(npar::simulate(wanted, simulated)).json);
  CHECK(good(npar::simulateDraw(wanted, simulated, npar::Format::Svg)).find("<svg") == 0);
  CHECK(good(npar::simulateDraw(wanted, simulated, npar::Format::Json)).find("traceEvents") != std::string::npos);
  CHECK(good(npar::simulateDraw(wanted, simulated, npar::Format::Html)).find("slowed") != std::string::npos);
  npar::PlanOptions planned;
  planned.budget = 8;
  npar::Request found; // a plan compiles as it is: it has the text of the model, which is in memory
  wanted.settings = {{"width", "32"}};
  wanted.observer = [&](const npar::Event &event) {
    if (event.candidate && event.candidate->refusal.empty())
      found.text = event.candidate->plan;
    return true;
  };
  write("plan", good(npar::plan(wanted, planned)).json);
  found.withoutKernels = true;
  CHECK(found.text.find("width = 32") != std::string::npos);
  good(npar::compile(found));
  return finish("documents");
}
