/* Numbers that mean nothing, negative or NaN, are refused by the name of their member; so are devices without kernels and unknown words. */
#include "check.h"

#include <math.h>

static void describing(npar_program *program) {
  npar_view_options view = {0};
  view.struct_size = sizeof view;
  npar_buffer *text = NULL;
  const int64_t hosts[] = {-5, 5, 10000000, INT64_MAX};
  for (int i = 0; i < 4; ++i) {
    view.hosts = hosts[i], view.ranks_per_host = 0;
    FAILS(NPAR_USAGE, "npar_view_options: hosts is ", npar_program_describe(program, NPAR_VIEW_HOSTS, NPAR_TEXT, &view, &text, &error));
    view.hosts = 2, view.ranks_per_host = hosts[i];
    FAILS(NPAR_USAGE, "npar_view_options: ranks_per_host is ",
          npar_program_describe(program, NPAR_VIEW_HOSTS, NPAR_TEXT, &view, &text, &error));
  }
  view.hosts = 0, view.ranks_per_host = 0, view.width = -5;
  FAILS(NPAR_USAGE, "npar_view_options: width is -5", npar_program_describe(program, NPAR_VIEW_SUMMARY, NPAR_TEXT, &view, &text, &error));
  CHECK(!text);
  view.width = 0, view.hosts = 4;
  OK(npar_program_describe(program, NPAR_VIEW_HOSTS, NPAR_TEXT, &view, &text, &error));
  npar_buffer_free(text);
}

static void compiling(void) {
  const char *const targets[] = {"cuda:sm_7", "cuda:hopper", "cuda:sm_90;rm", "tpu", "cpu", "cuda:", ""};
  npar_request request = requestOf(hello);
  npar_program *program = NULL;
  npar_buffer *json = NULL;
  npar_str target;
  request.targets = &target, request.target_count = 1, request.without_kernels = 1;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    target = str(targets[i]);
    FAILS(NPAR_USAGE, "'targets' names '", npar_compile(&request, &program, &error));
    FAILS(NPAR_USAGE, "cuda:sm_80, cuda:sm_86, cuda:sm_89 and cuda:sm_90", npar_compile(&request, &program, &error));
  }
  request = requestOf(hello);
  request.kind = 3;
  FAILS(NPAR_USAGE, "npar_request: kind is 3", npar_compile(&request, &program, &error));

  request = requestOf(hello);
  npar_verify_options verify = {0};
  verify.struct_size = sizeof verify, verify.threads = -4;
  FAILS(NPAR_USAGE, "npar_verify_options: threads is -4", npar_verify(&request, &verify, &json, &error));
  const double numbers[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; ++i) {
    npar_simulate_options simulate = {0};
    simulate.struct_size = sizeof simulate, simulate.jitter = numbers[i];
    FAILS(NPAR_USAGE, "npar_simulate_options: jitter is ", npar_simulate(&request, &simulate, &json, &error));
    simulate.jitter = 0, simulate.total_tokens = numbers[i];
    FAILS(NPAR_USAGE, "npar_simulate_options: total_tokens is ", npar_simulate(&request, &simulate, &json, &error));
    npar_plan_options plan = {0};
    plan.struct_size = sizeof plan, plan.budget = numbers[i];
    FAILS(NPAR_USAGE, "npar_plan_options: budget is ", npar_plan(&request, &plan, &json, &error));
  }
  npar_simulate_options simulate = {0};
  simulate.struct_size = sizeof simulate, simulate.jitter_samples = -3;
  FAILS(NPAR_USAGE, "npar_simulate_options: jitter_samples is -3", npar_simulate(&request, &simulate, &json, &error));
  simulate.jitter_samples = 0, simulate.hosts = -1;
  FAILS(NPAR_USAGE, "npar_simulate_options: hosts is -1", npar_simulate(&request, &simulate, &json, &error));
  simulate.hosts = INT64_MAX;
  FAILS(NPAR_USAGE, "npar_simulate_options: hosts is 9223372036854775807", npar_simulate(&request, &simulate, &json, &error));
  simulate.hosts = 0, simulate.devices = -1;
  FAILS(NPAR_USAGE, "npar_simulate_options: devices is -1", npar_simulate(&request, &simulate, &json, &error));
  npar_str slow = str("rank=3");
  simulate.devices = 0, simulate.slow = &slow, simulate.slow_count = 1;
  FAILS(NPAR_USAGE, "npar_simulate_options: slow[0] is 'rank=3'", npar_simulate(&request, &simulate, &json, &error));
  simulate.slow_count = 0, simulate.slow_links = &slow, simulate.slow_link_count = 1;
  FAILS(NPAR_USAGE, "npar_simulate_options: slow_links[0] is 'rank=3'", npar_simulate(&request, &simulate, &json, &error));
  simulate.slow_link_count = 0, simulate.device_mtbf = 100;
  FAILS(NPAR_USAGE, "checkpoint_seconds and restart_seconds", npar_simulate(&request, &simulate, &json, &error));
  const double times[] = {1, 2, NAN, 4};
  simulate.device_mtbf = 0, simulate.task_times = times;
  FAILS(NPAR_USAGE, "npar_simulate_options: task_times[2] is nan", npar_simulate(&request, &simulate, &json, &error));
  simulate.task_times = NULL;
  FAILS(NPAR_USAGE, "npar_simulate_draw: format is 0", npar_simulate_draw(&request, &simulate, NPAR_TEXT, &json, &error));
  npar_plan_options plan = {0};
  plan.struct_size = sizeof plan, plan.jobs = -1;
  FAILS(NPAR_USAGE, "npar_plan_options: jobs is -1", npar_plan(&request, &plan, &json, &error));
  plan.jobs = 0, plan.batch = -1;
  FAILS(NPAR_USAGE, "npar_plan_options: batch is -1", npar_plan(&request, &plan, &json, &error));
  npar_explain_options explain = {0};
  explain.struct_size = sizeof explain, explain.hosts = -1;
  FAILS(NPAR_USAGE, "npar_explain_options: hosts is -1", npar_explain(&request, &explain, &json, &error));
  CHECK(!program && !json);
}

static void training(npar_program *program, npar_trainer *trainer) {
  npar_trainer *other = NULL;
  const double numbers[] = {-1, NAN, INFINITY};
  npar_buffer *json = NULL;
  for (int i = 0; i < 3; ++i) {
    npar_trainer_options options = {0};
    options.struct_size = sizeof options, options.timeout_seconds = numbers[i];
    FAILS(NPAR_USAGE, "npar_trainer_options: timeout_seconds is ", npar_trainer_create(program, &options, &other, &error));
    const int32_t prompt = 1;
    npar_generate_options generate = {0};
    generate.struct_size = sizeof generate, generate.prompt = &prompt, generate.prompt_count = 1;
    generate.temperature = numbers[i];
    FAILS(NPAR_USAGE, "npar_generate_options: temperature is ", npar_trainer_generate(trainer, &generate, &json, &error));
    generate.temperature = 0, generate.top_p = numbers[i];
    FAILS(NPAR_USAGE, "npar_generate_options: top_p is ", npar_trainer_generate(trainer, &generate, &json, &error));
  }
  const npar_run_options good = {.struct_size = sizeof good, .random_data = 1, .steps = 3};
  npar_run_options run = good;
  run.checkpoint = str("run"), run.checkpoint_every = -5;
  FAILS(NPAR_USAGE, "npar_run_options: checkpoint_every is -5: it must be 0 or more", npar_trainer_run(trainer, &run, &json, &error));
  run.checkpoint_every = 0, run.checkpoint_keep = -5;
  FAILS(NPAR_USAGE, "npar_run_options: checkpoint_keep is -5", npar_trainer_run(trainer, &run, &json, &error));
  run = good, run.evaluate_every = -1;
  FAILS(NPAR_USAGE, "npar_run_options: evaluate_every is -1", npar_trainer_run(trainer, &run, &json, &error));
  run = good, run.steps = 0;
  FAILS(NPAR_USAGE, "steps is 0, and 0 steps are done: it must be larger", npar_trainer_run(trainer, &run, &json, &error));
  const npar_str file = str("text");
  run = good, run.random_data = 0, run.data = &file, run.data_count = 1, run.tokens = str("bytes"), run.data_order = str("sequentail");
  FAILS(NPAR_USAGE, "'data_order' is 'sequentail': shuffled or sequential", npar_trainer_run(trainer, &run, &json, &error));
  run.data_order = str(""), run.tokens = str("utf8");
  FAILS(NPAR_USAGE, "'tokens' is 'utf8': bytes, u16 or i32", npar_trainer_run(trainer, &run, &json, &error));

  batch one;
  fill(&one);
  npar_step_result result = {0};
  for (uint32_t size = 0; size < 8; size += 4) {
    result.struct_size = size;
    FAILS(NPAR_USAGE, "npar_step_result: struct_size is ", npar_trainer_step(trainer, one.inputs, 2, &result, &error));
  }
  CHECK(!other && !json && npar_trainer_steps(trainer) == 0);
}

int main(void) {
  compiling();
  npar_program *program = compiled();
  describing(program);
  npar_trainer *trainer = trainerOf(program);
  training(program, trainer);
  CHECK(step(trainer) > 0);
  npar_trainer_free(trainer);
  npar_program_free(program);
  return finish("wrong_numbers");
}
