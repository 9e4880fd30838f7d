// Messages name what the caller has, members of npar.h, and what to do; a text has no newline at its end and no flag of the driver.
#include "check.hpp"

#include <fstream>

/// A failure's text is written for a host.
template <typename T> void says(const npar::Result<T> &result, const std::string &words) {
  fails(result, result.error().code, words);
  const std::string &text = result.error().text;
  if (text.back() == '\n' || text.find(" --") != std::string::npos || text.rfind("--", 0) == 0 || text.find("'--") != std::string::npos ||
      text.find("npar: ") != std::string::npos)
    std::printf("%s\n", text.c_str());
  CHECK(text.back() != '\n' && text.find(" --") == std::string::npos && text.rfind("--", 0) != 0 && text.find("'--") == std::string::npos &&
        text.find("npar: ") == std::string::npos);
}

void ofTexts() {
  npar::Request wrong = request("three");
  says(npar::compile(wrong), "plan:1:1: error: unknown plan 'three'");
  wrong = request();
  wrong.settings = {{"wdth", "8"}};
  says(npar::compile(wrong), "settings:1:1: error: unknown setting 'wdth'");
  wrong = request();
  wrong.text += "plan other for Hello { micro 2 }\n";
  says(npar::compile(wrong), "choose one with plan = NAME");
  wrong = request();
  wrong.text.replace(wrong.text.find("hidden, vocab ->"), 6, "hiden");
  says(npar::compile(wrong), "hello.npar:17:9: error: ");
  wrong = request();
  wrong.text.replace(wrong.text.find("hidden, vocab -> tp"), 19, "hidden -> tp by 1f1b");
  says(npar::compile(wrong), "`repeat h[4] { ... }`");

  npar::SimulateOptions options;
  says(npar::simulate(request()), "give a machine that has them, such as machine = dgx-a100");
  npar::Request simulated = request();
  simulated.machine = "dgx-a100";
  options.hosts = 3;
  says(npar::simulate(simulated, options), "'hosts' says 3");
  npar::Request planned = request();
  planned.settings = {{"micro", "2"}};
  says(npar::plan(planned), "'the setting micro=2' sets a plan");
}

void ofTrainers() {
  npar::Program program = good(npar::compile(request()));
  npar::Trainer one = trainer(program);
  std::vector<int32_t> ten(10), full(128);
  says(one.step({{"tokens", {ten, {16, 8}}}, {"targets", {full, {16, 8}}}}),
       "input 'tokens': the shape has 128 elements, and the vector 10");
  says(one.write("up.weight", {std::vector<float>(3).data(), {3}}), "'up.weight' has the shape");
  std::vector<float> three(3);
  says(one.write("up.weight", {three, {8, 32}}), "'up.weight': the shape has 256 elements, and the vector 3");
  says(one.view<float>("up.wieght"), "did you mean 'up.weight'?");
  says(one.pieces("head"), "'head.weight' and 'head.bias'");
  says(one.read<float>("loss"), "the program has no variable 'loss'");

  npar::RunOptions run;
  run.steps = 3;
  says(one.run(run), "no data: give data = FILE and tokens = bytes|u16|i32");
  run.data = {"text.txt"};
  says(one.run(run), "'data' needs 'tokens'");
  run.randomData = true;
  says(one.run(run), "'data' and 'random_data' cannot be used together");
  npar::GenerateOptions both;
  both.prompt = {1}, both.promptText = "a";
  says(one.generate(both), "give only one");
  says(one.generate({}), "give prompt (token numbers) or prompt_text");

  npar::Trainer to = std::move(one);
  says(one.hash(), "the trainer was moved to another object");
  npar::Program copy = std::move(program);
  says(npar::Trainer::create(program), "the program was moved to another object");
}

/// An opened program evaluates with a program of the same model, and refuses one of another model.
void ofEvaluation() {
  std::ofstream("text.txt") << std::string(2000, '\1');
  npar::Request forward = request();
  forward.kind = npar::Kind::Evaluation;
  npar::Program evaluation = good(npar::compile(forward));
  npar::Trainer opened = trainer(good(npar::Program::fromBytes(good(npar::compile(request())).bytes())));
  npar::RunOptions run;
  run.steps = 2, run.randomData = true, run.evaluateEvery = 1, run.evaluateData = {"text.txt"};
  says(opened.run(run), "npar_run_options.evaluation");
  forward.settings = {{"width", "16"}};
  run.evaluation = good(npar::compile(forward));
  says(opened.run(run), "npar_run_options.evaluation has other parameters than the trainer's program");
  run.evaluation = good(npar::compile(request()));
  says(opened.run(run), "npar_run_options.evaluation is compiled for training, not for evaluation");
  run.evaluation = evaluation, run.randomData = false, run.data = {"text.txt"}, run.tokens = "bytes";
  CHECK(good(opened.run(run)).json.find("\"eval\"") != std::string::npos);
  npar::EvaluateOptions options;
  options.program = good(npar::compile(request()));
  says(opened.evaluate(options), "npar_evaluate_options.program is compiled for training");
}

int main() {
  ofTexts();
  ofTrainers();
  ofEvaluation();
  npar::Result<npar::Program> named = npar::compile(request());
  npar::Program &program = named.orThrow(); // a named result gives a reference
  CHECK(program.raw() == named.orThrow().raw());
  return finish("messages");
}
