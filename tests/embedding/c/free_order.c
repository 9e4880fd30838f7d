/* Objects are freed in any order: a trainer holds its program, and exported arrays hold the memory of their trainer. */
#include "check.h"

typedef struct managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct managed *);
  uint64_t flags;
} managed;

int main(void) {
  npar_request request = requestOf(hello);
  request.plan = str("none");
  npar_program *program = NULL;
  OK(npar_compile(&request, &program, &error));
  npar_program *second = npar_program_retain(program);
  npar_trainer *trainer = trainerOf(program);
  npar_program_free(program);
  npar_program_free(second);
  step(trainer);
  void *view = NULL, *piece = NULL;
  OK(npar_trainer_to_dlpack(trainer, str("up.weight"), NPAR_EXPORT_VIEW, 0, &view, &error));
  OK(npar_trainer_to_dlpack(trainer, str("up.bias"), NPAR_EXPORT_PIECE, 0, &piece, &error));
  npar_array array = {0};
  OK(npar_array_from_dlpack(view, &array, &error));
  float before = ((const float *)array.data)[5];
  npar_trainer_free(trainer);
  CHECK(((const float *)array.data)[5] == before);
  CHECK(((managed *)view)->flags & 1); /* read-only */
  ((managed *)view)->deleter(view);
  ((managed *)piece)->deleter(piece);

  npar_error_free(NULL);
  npar_buffer_free(NULL);
  npar_program_free(NULL);
  npar_trainer_free(NULL);
  CHECK(npar_error_text(NULL).len == 0 && npar_buffer_data(NULL).len == 0 && npar_program_retain(NULL) == NULL);
  return finish("free_order");
}
