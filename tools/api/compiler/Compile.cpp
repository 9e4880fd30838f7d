// Compiles and verifies the model of a request.
#include "tools/api/Texts.h"
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "tools/lib/models/LoadModel.h"
#include "tools/lib/verify/VerifyPlan.h"

namespace npar::api {

using engine::Status;

Status compile(const npar_request &request, const Answer &answer) {
  RequestObserver observer(request.observer);
  TRY(models::ModelOptions model, modelOf(request, observer));
  models::FileClaims files;
  TRY(program::ProgramPointer program, models::loadModel(model, files, observer, request.without_kernels != 0));
  answer.warnings(answer.user, strOf(observer.diagnostics));
  answer.bytes(answer.user, program->data().data(), program->data().size());
  return {};
}

Status verify(const npar_request &request, const npar_verify_options &options, const Answer &answer) {
  RequestObserver observer(request.observer);
  verify::VerifyRequest wanted;
  TRY(wanted.model, modelOf(request, observer));
  wanted.seed = options.seed ? options.seed : wanted.seed;
  wanted.threads = options.threads;
  wanted.anySize = options.any_size != 0;
  job::Processes alone;
  TRY(verify::VerifyReport report, verify::verifyPlan(wanted, alone, observer));
  std::string json = verify::jsonOf(report);
  answer.bytes(answer.user, json.data(), json.size());
  return {};
}

} // namespace npar::api
