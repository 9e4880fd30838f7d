/* A null pointer with a count or a length, an empty name and a path with a zero byte are refused by the name of their member. */
#include "check.h"

static const npar_str nothing = {NULL, 3}, zeroed = {"hello.npar\0x", 12}, empty = {"", 0};

static void compileFails(npar_request request, const char *words) {
  npar_program *program = NULL;
  npar_buffer *json = NULL;
  FAILS(NPAR_USAGE, words, npar_compile(&request, &program, &error));
  FAILS(NPAR_USAGE, words, npar_verify(&request, NULL, &json, &error));
  FAILS(NPAR_USAGE, words, npar_simulate(&request, NULL, &json, &error));
  FAILS(NPAR_USAGE, words, npar_simulate_draw(&request, NULL, NPAR_SVG, &json, &error));
  FAILS(NPAR_USAGE, words, npar_plan(&request, NULL, &json, &error));
  FAILS(NPAR_USAGE, words, npar_explain(&request, NULL, &json, &error));
  FAILS(NPAR_USAGE, words, npar_annotate(&request, &json, &error));
  CHECK(!program && !json);
}

static int nullText(void *user, npar_str name, npar_str *text) {
  if (!has(name, "mine"))
    return 0;
  *text = *(const npar_str *)user;
  return 1;
}

static int untouchedText(void *user, npar_str name, npar_str *text) {
  (void)user, (void)text;
  return has(name, "mine");
}

static void simulating(void) {
  npar_request request = requestOf(hello);
  npar_simulate_options options = {0};
  npar_buffer *json = NULL;
  options.struct_size = sizeof options, options.slow_count = 1;
  FAILS(NPAR_USAGE, "npar_simulate_options: slow is null", npar_simulate(&request, &options, &json, &error));
  options.slow = &nothing;
  FAILS(NPAR_USAGE, "npar_simulate_options: slow[0] is null", npar_simulate(&request, &options, &json, &error));
  options.slow_count = 0, options.place = zeroed;
  FAILS(NPAR_USAGE, "npar_simulate_options: place has a zero byte", npar_simulate(&request, &options, &json, &error));
  FAILS(NPAR_USAGE, "picture", npar_simulate_draw(&request, NULL, NPAR_SVG, NULL, &error));
  CHECK(!json);
}

static void requests(void) {
  npar_request request = requestOf(hello);
  request.settings = NULL, request.setting_count = 3;
  compileFails(request, "npar_request: settings is null, and its count is 3");
  request = requestOf(hello);
  request.targets = NULL, request.target_count = 2;
  compileFails(request, "npar_request: targets is null, and its count is 2");
  request = requestOf(hello);
  request.text = nothing;
  compileFails(request, "npar_request: text is null, and its length is 3");
  npar_setting setting = {{NULL, 0}, {"16", 2}};
  request = requestOf(hello);
  request.settings = &setting, request.setting_count = 1;
  compileFails(request, "npar_request: settings[0].key is empty");
  setting.key = str("batch"), setting.value = nothing;
  compileFails(request, "npar_request: settings[0].value is null");
  request = requestOf(hello);
  request.text.ptr = NULL, request.text.len = 0, request.file = zeroed;
  compileFails(request, "npar_request: file has a zero byte, number 10 of 12");
  request = requestOf(hello);
  request.plan = nothing;
  compileFails(request, "npar_request: plan is null, and its length is 3");
  request = requestOf("import \"mine\"\n");
  request.import = nullText, request.import_user = (void *)&nothing;
  compileFails(request, "npar_request: import returned 1 for 'mine', and its text is null");
  request.import = untouchedText;
  compileFails(request, "npar_request: import returned 1 for 'mine', and its text is null");
}

static void trainers(npar_program *program, npar_trainer *trainer) {
  npar_buffer *json = NULL;
  npar_run_options run = {0};
  run.struct_size = sizeof run, run.steps = 3, run.data_count = 1;
  FAILS(NPAR_USAGE, "npar_run_options: data is null, and its count is 1", npar_trainer_run(trainer, &run, &json, &error));
  run.data = &nothing;
  FAILS(NPAR_USAGE, "npar_run_options: data[0] is null, and its length is 3", npar_trainer_run(trainer, &run, &json, &error));
  run.data = NULL, run.data_count = 0, run.random_data = 1, run.evaluate_data_count = 2;
  FAILS(NPAR_USAGE, "npar_run_options: evaluate_data is null, and its count is 2", npar_trainer_run(trainer, &run, &json, &error));
  npar_evaluate_options evaluation = {0};
  evaluation.struct_size = sizeof evaluation, evaluation.data_count = 1;
  FAILS(NPAR_USAGE, "npar_evaluate_options: data is null, and its count is 1", npar_trainer_evaluate(trainer, &evaluation, &json, &error));
  npar_generate_options generation = {0};
  generation.struct_size = sizeof generation, generation.prompt_count = 4;
  FAILS(NPAR_USAGE, "npar_generate_options: prompt is null, and its count is 4",
        npar_trainer_generate(trainer, &generation, &json, &error));
  generation.prompt_count = 0, generation.prompt_text = nothing;
  FAILS(NPAR_USAGE, "npar_generate_options: prompt_text is null, and its length is 3",
        npar_trainer_generate(trainer, &generation, &json, &error));
  FAILS(NPAR_USAGE, "npar_trainer_step: inputs is null, and its count is 2", npar_trainer_step(trainer, NULL, 2, NULL, &error));
  FAILS(NPAR_USAGE, "npar_trainer_run: options is null", npar_trainer_run(trainer, NULL, &json, &error));

  npar_program *opened = NULL;
  npar_array array = {0};
  const npar_piece *pieces = NULL;
  size_t count = 0;
  for (int i = 0; i < 2; ++i) {
    const npar_str wrong = i == 0 ? nothing : empty;
    const char *words = i == 0 ? "is null, and its length is 3" : "is empty";
    FAILS(NPAR_USAGE, words, npar_program_open(wrong, &opened, &error));
    FAILS(NPAR_USAGE, words, npar_program_save(program, wrong, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_save(trainer, wrong, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_resume(trainer, wrong, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_save_weights(trainer, wrong, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_load_weights(trainer, wrong, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_view(trainer, wrong, &array, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_pieces(trainer, wrong, &pieces, &count, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_read(trainer, wrong, &array, &error));
    FAILS(NPAR_USAGE, words, npar_trainer_write(trainer, wrong, &array, &error));
  }
  CHECK(!json && !opened && !pieces);
}

int main(void) {
  requests();
  simulating();
  npar_program *program = compiled();
  npar_trainer *trainer = trainerOf(program);
  trainers(program, trainer);
  CHECK(step(trainer) > 0);
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("null_pointers");
}
