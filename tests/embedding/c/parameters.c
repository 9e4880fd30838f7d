/* Reads a parameter in place, by pieces, as a copy and through DLPack, and writes it. */
#include "check.h"

#include <math.h>

/* The head of struct DLManagedTensorVersioned. */
typedef struct managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct managed *);
  uint64_t flags;
} managed;

int main(void) {
  npar_program *program = compiled();
  npar_trainer *trainer = trainerOf(program);
  step(trainer);

  float copy[32][8]; /* up.weight: [hidden, embed] or [embed, hidden] */
  int64_t shape[2] = {32, 8};
  npar_array into = {copy, NPAR_F32, 2, shape, NULL};
  npar_error *refused = NULL;
  if (npar_trainer_read(trainer, str("up.weight"), &into, &refused) != NPAR_OK)
    shape[0] = 8, shape[1] = 32;
  npar_error_free(refused);
  OK(npar_trainer_read(trainer, str("up.weight"), &into, &error));

  const npar_piece *pieces = NULL;
  size_t count = 0;
  OK(npar_trainer_pieces(trainer, str("up.weight"), &pieces, &count, &error));
  CHECK(count == 4);
  int64_t covered = 0;
  for (size_t i = 0; i < count; ++i) {
    const npar_array *array = &pieces[i].array;
    CHECK(!pieces[i].is_flat && array->dtype == NPAR_F32 && array->ndim == 2);
    if (pieces[i].owned)
      covered += array->shape[0] * array->shape[1];
    for (int64_t a = 0; a < array->shape[0]; ++a)
      for (int64_t b = 0; b < array->shape[1]; ++b)
        CHECK(((const float *)array->data)[a * array->strides[0] + b * array->strides[1]] ==
              ((const float *)copy)[(pieces[i].start[0] + a) * shape[1] + pieces[i].start[1] + b]);
  }
  CHECK(covered == 32 * 8);

  npar_array view = {0};
  FAILS(NPAR_BAD_INPUT, "up.weight", npar_trainer_view(trainer, str("up.weight"), &view, &error));
  FAILS(NPAR_BAD_INPUT, "nothing", npar_trainer_view(trainer, str("nothing"), &view, &error));

  for (int i = 0; i < 256; ++i)
    ((float *)copy)[i] = (float)i;
  OK(npar_trainer_write(trainer, str("up.weight"), &into, &error));
  double wide[256] = {0};
  npar_array wideInto = {wide, NPAR_F64, 2, shape, NULL};
  OK(npar_trainer_read(trainer, str("up.weight"), &wideInto, &error));
  CHECK(wide[255] == 255);

  /* Several at once, all or none, and the steps done. */
  npar_input both[2] = {{str("up.weight"), {wide, NPAR_F64, 2, shape, NULL}}, {str("nothing"), {wide, NPAR_F64, 2, shape, NULL}}};
  wide[255] = 1;
  FAILS(NPAR_BAD_INPUT, "nothing", npar_trainer_write_all(trainer, both, 2, 7, &error));
  FAILS(NPAR_USAGE, "steps", npar_trainer_write_all(trainer, both, 1, -2, &error));
  both[1].name = both[0].name;
  FAILS(NPAR_USAGE, "twice", npar_trainer_write_all(trainer, both, 2, 7, &error));
  OK(npar_trainer_read(trainer, str("up.weight"), &into, &error));
  CHECK(((float *)copy)[255] == 255 && npar_trainer_steps(trainer) != 7);
  OK(npar_trainer_write_all(trainer, both, 1, 7, &error));
  OK(npar_trainer_read(trainer, str("up.weight"), &into, &error));
  CHECK(((float *)copy)[255] == 1 && npar_trainer_steps(trainer) == 7);

  void *exported = NULL;
  OK(npar_trainer_to_dlpack(trainer, str("up.weight"), NPAR_EXPORT_COPY, 0, &exported, &error));
  npar_array again = {0};
  OK(npar_array_from_dlpack(exported, &again, &error));
  CHECK(again.ndim == 2 && again.shape[0] == shape[0] && ((const float *)again.data)[7] == 7);
  ((managed *)exported)->deleter(exported);
  FAILS(NPAR_USAGE, "pieces", npar_trainer_to_dlpack(trainer, str("up.weight"), NPAR_EXPORT_PIECE, 4, &exported, &error));

  npar_trainer_free(trainer);
  npar_program_free(program);

  /* On one rank nothing is split, so that a view is the whole parameter. */
  npar_request request = requestOf(hello);
  request.plan = str("none");
  OK(npar_compile(&request, &program, &error));
  trainer = trainerOf(program);
  OK(npar_trainer_view(trainer, str("up.weight"), &view, &error));
  CHECK(view.dtype == NPAR_F32 && view.shape[0] * view.shape[1] == 256);
  float before = ((const float *)view.data)[0];
  step(trainer);
  CHECK(((const float *)view.data)[0] != before && isfinite(before));
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("parameters");
}
