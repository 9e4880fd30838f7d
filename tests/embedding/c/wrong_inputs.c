/* Wrong arguments of every kind are refused in words, and the trainer works afterwards. */
#include "check.h"

int main(void) {
  npar_program *program = NULL;
  npar_request request = requestOf(hello);
  FAILS(NPAR_USAGE, "request", npar_compile(NULL, &program, &error));
  request.struct_size = 0;
  FAILS(NPAR_USAGE, "struct_size", npar_compile(&request, &program, &error));
  request = requestOf(hello);
  request.file = str("gpt2");
  FAILS(NPAR_USAGE, "", npar_compile(&request, &program, &error));
  request = requestOf(hello);
  request.plan = str("three");
  FAILS(NPAR_BAD_INPUT, "three", npar_compile(&request, &program, &error));
  FAILS(NPAR_BAD_INPUT, "missing.npx", npar_program_open(str("missing.npx"), &program, &error));
  FAILS(NPAR_BAD_INPUT, "", npar_program_from_bytes("not a program", 13, &program, &error));

  program = compiled();
  npar_trainer *trainer = NULL;
  FAILS(NPAR_USAGE, "program", npar_trainer_create(NULL, NULL, &trainer, &error));
  npar_trainer_options options = {0};
  options.struct_size = sizeof options;
  options.backend = str("abacus");
  FAILS(NPAR_USAGE, "abacus", npar_trainer_create(program, &options, &trainer, &error));
  options.backend = str(""), options.products = str("some");
  FAILS(NPAR_USAGE, "products is 'some': fastest, portable or pairs", npar_trainer_create(program, &options, &trainer, &error));
  options.products = str("portable"), options.threads = -1;
  FAILS(NPAR_USAGE, "threads", npar_trainer_create(program, &options, &trainer, &error));
  CHECK(!trainer);
  trainer = trainerOf(program);

  batch one;
  fill(&one);
  FAILS(NPAR_BAD_INPUT, "targets", npar_trainer_step(trainer, one.inputs, 1, NULL, &error)); /* one is missing */
  one.inputs[1].name = str("tokens");
  FAILS(NPAR_BAD_INPUT, "twice", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  one.inputs[1].name = str("labels");
  FAILS(NPAR_BAD_INPUT, "labels", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.shape[1] = LENGTH - 1;
  FAILS(NPAR_BAD_INPUT, "seq", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.inputs[0].array.ndim = 1;
  FAILS(NPAR_BAD_INPUT, "dimensions", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.tokens[3][2] = VOCAB;
  FAILS(NPAR_BAD_INPUT, "32", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.tokens[3][2] = (int64_t)1 << 40;
  FAILS(NPAR_BAD_INPUT, "1099511627776", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.inputs[0].array.dtype = NPAR_F32;
  FAILS(NPAR_BAD_INPUT, "integers", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.inputs[0].array.dtype = 99;
  FAILS(NPAR_USAGE, "99", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.inputs[0].array.data = NULL;
  FAILS(NPAR_USAGE, "null", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));
  fill(&one), one.shape[0] = -1;
  FAILS(NPAR_USAGE, "-1", npar_trainer_step(trainer, one.inputs, 2, NULL, &error));

  npar_run_options run = {0};
  run.struct_size = sizeof run;
  npar_buffer *json = NULL;
  FAILS(NPAR_USAGE, "steps", npar_trainer_run(trainer, &run, &json, &error));
  npar_str file = str("missing.txt");
  run.steps = 3, run.data = &file, run.data_count = 1, run.tokens = str("bytes");
  FAILS(NPAR_BAD_INPUT, "missing.txt", npar_trainer_run(trainer, &run, &json, &error));
  FAILS(NPAR_BAD_INPUT, "nowhere", npar_trainer_resume(trainer, str("nowhere"), &error));
  FAILS(NPAR_BAD_INPUT, "nowhere", npar_trainer_load_weights(trainer, str("nowhere"), &error));
  FAILS(NPAR_USAGE, "safetensors", npar_trainer_save_weights(trainer, str("weights.txt"), &error));
  FAILS(NPAR_USAGE, "trainer", npar_trainer_step(NULL, NULL, 0, NULL, &error));

  CHECK(npar_trainer_steps(trainer) == 0);
  CHECK(step(trainer) > 0);
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("wrong_inputs");
}
