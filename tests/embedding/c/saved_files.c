/* Files of the host in a checkpoint, how many checkpoints stay, the length of a training, and the names of the library. */
#include "check.h"

int main(void) {
  npar_program *program = compiled();
  npar_trainer *one = trainerOf(program);
  step(one);
  npar_setting files[] = {{str("data.json"), str("{\"position\": 16}")}, {str("state"), {"a\0b", 3}}};
  npar_save_options options = {0};
  options.struct_size = sizeof options;
  options.files = files, options.file_count = 2;
  options.keep = 1;
  OK(npar_trainer_save_with(one, str("run"), &options, &error));
  step(one);
  files[0].value = str("{\"position\": 32}");
  OK(npar_trainer_save_with(one, str("run"), &options, &error));
  CHECK(fopen("run/step-1/manifest.json", "r") == NULL);
  step(one);
  files[0].value = str("{\"position\": 48}");
  options.keep = 2;
  OK(npar_trainer_save_with(one, str("run"), &options, &error));

  npar_trainer *two = trainerOf(program);
  npar_buffer *content = NULL;
  OK(npar_trainer_saved_file(two, str("data.json"), &content, &error));
  CHECK(content == NULL);
  OK(npar_trainer_resume(two, str("run"), &error));
  CHECK(npar_trainer_steps(two) == 3);
  OK(npar_trainer_saved_file(two, str("data.json"), &content, &error));
  CHECK(has(npar_buffer_data(content), "48"));
  npar_buffer_free(content);
  OK(npar_trainer_saved_file(two, str("state"), &content, &error));
  CHECK(npar_buffer_data(content).len == 3 && memcmp(npar_buffer_data(content).ptr, "a\0b", 3) == 0);
  npar_buffer_free(content);
  OK(npar_trainer_saved_file(two, str("other"), &content, &error));
  CHECK(content == NULL);

  /* Another content under the same name is found by its hash, and the checkpoint before is taken. */
  FILE *file = fopen("run/step-3/model/host.data.json", "r+b");
  CHECK(file != NULL && fputc('x', file) == 'x' && fclose(file) == 0);
  npar_trainer *three = trainerOf(program);
  OK(npar_trainer_resume(three, str("run"), &error));
  CHECK(npar_trainer_steps(three) == 2);
  OK(npar_trainer_saved_file(three, str("data.json"), &content, &error));
  CHECK(has(npar_buffer_data(content), "32"));
  npar_buffer_free(content);
  file = fopen("run/step-2/model/host.data.json", "r+b"); /* no checkpoint is whole: the damage of the newest is the answer */
  CHECK(file != NULL && fputc('x', file) == 'x' && fclose(file) == 0);
  FAILS(NPAR_BAD_INPUT, "step-3", npar_trainer_resume(three, str("run"), &error));

  files[1].key = str("data.json");
  FAILS(NPAR_USAGE, "given twice", npar_trainer_save_with(one, str("run"), &options, &error));
  files[1].key = str("a/b");
  FAILS(NPAR_USAGE, "no name of a file", npar_trainer_save_with(one, str("run"), &options, &error));
  options.keep = -1;
  FAILS(NPAR_USAGE, "keep", npar_trainer_save_with(one, str("run"), &options, &error));
  OK(npar_trainer_set_length(one, 100, 12.5, &error));
  FAILS(NPAR_USAGE, "steps", npar_trainer_set_length(one, -1, 0, &error));
  npar_trainer_options elsewhere = {0};
  elsewhere.struct_size = sizeof elsewhere;
  elsewhere.job = str("mpi");
  npar_trainer *four = NULL;
  FAILS(NPAR_USAGE, "job is 'mpi'", npar_trainer_create(program, &elsewhere, &four, &error));
  elsewhere.job = str("env"); /* without a launcher: one process */
  OK(npar_trainer_create(program, &elsewhere, &four, &error));

  npar_buffer *names = NULL;
  OK(npar_library(&names, &error));
  CHECK(has(npar_buffer_data(names), "\"gpt2\"") && has(npar_buffer_data(names), "\"dgx-a100\""));
  npar_buffer_free(names);
  npar_trainer_free(four);
  npar_trainer_free(three);
  npar_trainer_free(two);
  npar_trainer_free(one);
  npar_program_free(program);
  return finish("saved_files");
}
