// Compiles and verifies the model of a request.
#include "tools/api/Origin.h"
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "tools/lib/models/LoadModel.h"
#include "tools/lib/models/ModelTexts.h"
#include "tools/lib/trained/GeneratingPrograms.h"
#include "tools/lib/trained/Prompt.h"
#include "tools/lib/verify/VerifyPlan.h"

namespace npar::api {

using engine::Status;

Status compile(const npar_request &request, const Answer &answer) {
  RequestObserver observer(request);
  TRY(models::ModelOptions model, modelOf(request, observer));
  models::FileClaims files;
  models::ModelOrigin origin;
  TRY(program::ProgramPointer program, models::loadModel(model, files, observer, request.without_kernels != 0, &origin));
  give(answer, "warnings", observer.diagnostics);
  if (origin.texts)
    give(answer, "origin", packOrigin(models::keptModel(model, *origin.texts, std::move(origin.constants))));
  give(answer, "program", *program);
  return {};
}

Status verify(const npar_request &request, const npar_verify_options &options, const Answer &answer) {
  RequestObserver observer(request);
  verify::VerifyRequest wanted;
  TRY(wanted.model, modelOf(request, observer));
  wanted.seed = options.seed ? options.seed : wanted.seed;
  wanted.threads = options.threads;
  wanted.anySize = options.any_size != 0;
  job::Processes alone;
  TRY(verify::VerifyReport report, verify::verifyPlan(wanted, alone, observer));
  giveReport(answer, verify::jsonOf(report));
  return {};
}

Status generate(const npar_request &request, int64_t prompt, int64_t count, const Answer &answer) {
  RequestObserver observer(request);
  trained::NamedModel named;
  named.kind = program::ProgramKind::Generation;
  TRY(named.options, modelOf(request, observer));
  models::SettingsList probe; // under a plan: a batch divisible by all numbers of ranks up to 16
  if (named.options.plan && *named.options.plan != "none")
    probe = {{"batch", "720720"}, {"micro", "1"}};
  auto choose = [&](const dsl::Program &model) -> engine::Result<models::SettingsList> {
    return trained::settingsFor(model, 1, prompt + std::max<int64_t>(count - 1, 0));
  };
  models::FileClaims files;
  TRY(trained::GeneratingPrograms programs, trained::compileToGenerate(named, files, probe, choose, prompt, /*quiet=*/false, observer));
  for (const auto &[name, program] :
       {std::pair("whole", programs.whole), std::pair("step", programs.step), std::pair("prompt", programs.prompt)})
    if (program)
      give(answer, name, *program);
  give(answer, "length", std::to_string(programs.length));
  return {};
}

} // namespace npar::api
