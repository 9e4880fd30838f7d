/* Verifies a plan, simulates, annotates and describes it, and explains what pays off. */
#include "check.h"

int main(void) {
  npar_request request = requestOf(hello);
  npar_buffer *json = NULL;
  OK(npar_verify(&request, NULL, &json, &error));
  CHECK(has(npar_buffer_data(json), "\"schema\"") && has(npar_buffer_data(json), "\"ok\": true"));
  npar_buffer_free(json);
  npar_simulate_options options = {0};
  options.struct_size = sizeof options;
  FAILS(NPAR_BAD_INPUT, "hosts", npar_simulate(&request, &options, &json, &error)); /* the reference machine has one rank per host */
  request.machine = str("dgx-a100");
  OK(npar_simulate(&request, &options, &json, &error));
  CHECK(has(npar_buffer_data(json), "\"schema\""));
  npar_buffer_free(json);

  OK(npar_annotate(&request, &json, &error));
  CHECK(has(npar_buffer_data(json), "\"effects\"") && has(npar_buffer_data(json), "all_reduce"));
  npar_buffer_free(json);
  OK(npar_explain(&request, NULL, &json, &error));
  CHECK(has(npar_buffer_data(json), "Is tensor parallelism worth it?"));
  npar_buffer_free(json);

  npar_program *program = compiled();
  OK(npar_program_describe(program, NPAR_VIEW_WHY, NPAR_TEXT, NULL, &json, &error));
  CHECK(has(npar_buffer_data(json), "all_reduce") && has(npar_buffer_data(json), "hello.npar:17"));
  npar_buffer_free(json);
  OK(npar_program_describe(program, NPAR_VIEW_TIMELINE, NPAR_SVG, NULL, &json, &error));
  CHECK(has(npar_buffer_data(json), "<svg"));
  npar_buffer_free(json);
  OK(npar_program_describe(program, NPAR_VIEW_MESH, NPAR_JSON, NULL, &json, &error));
  CHECK(has(npar_buffer_data(json), "\"ranks\": 4"));
  npar_buffer_free(json);
  FAILS(NPAR_USAGE, "no view", npar_program_describe(program, NPAR_VIEW_PAGE, NPAR_SVG, NULL, &json, &error));
  npar_program_free(program);
  return finish("verify");
}
