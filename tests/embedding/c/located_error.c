/* An error of a model text names file and line, and offers its fix as an edit. */
#include "check.h"

int main(void) {
  char text[4096];
  strcpy(text, hello);
  char *rule = strstr(text, "hidden, vocab -> tp");
  CHECK(rule);
  memcpy(rule, "hiden,  vocab -> tp", 19);
  npar_request request = requestOf(text);
  npar_program *program = NULL;
  npar_error *error = NULL;
  CHECK(npar_compile(&request, &program, &error) == NPAR_BAD_INPUT);
  CHECK(!program);
  CHECK(has(npar_error_text(error), "hello.npar:17:9: error: "));
  npar_str json = npar_error_json(error);
  CHECK(has(json, "\"file\": \"hello.npar\"") && has(json, "\"line\": 17"));
  CHECK(has(json, "\"fixes\": [") && has(json, "\"text\": \"hidden\"") && has(json, "\"trust\""));
  npar_error_free(error);
  CHECK(npar_compile(&request, &program, NULL) == NPAR_BAD_INPUT); /* the error may be unwanted */
  return finish("located_error");
}
