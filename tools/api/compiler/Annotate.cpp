// Annotates the text of a request's plan with the effect of each line.
#include "tools/api/compiler/Functions.h"
#include "tools/api/compiler/Requests.h"

#include "engine/json/Json.h"
#include "tools/lib/annotate/Annotate.h"

namespace npar::api {

using engine::Status;

Status annotate(const npar_request &request, const Answer &answer) {
  RequestObserver observer(request);
  TRY(models::ModelOptions model, modelOf(request, observer));
  TRY(annotate::AnnotatedPlan plan, annotate::annotatePlan(model, observer));
  giveReport(answer, annotate::annotatedJson(plan));
  return {};
}

} // namespace npar::api
