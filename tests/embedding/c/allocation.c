/* Each function of npar.h except those of requests, such as npar_compile, which enter LLVM, with its allocations failing one
 * after the other: it returns an error about memory, leaves no file, and then gives the same result as before. Without arguments, at most
 * 40 allocations of each call fail; `allocation all` lets all of them fail, and prints the blocks that stay allocated. */
#include "check.h"
#include "failing.h"

#include <dirent.h>

static long most = 40; /* failures of each call */

typedef struct world {
  npar_program *program, *evaluation, *generation;
  npar_trainer *trainer, *whole; /* the second of one rank, where no parameter is split */
  npar_str bytes, npx;           /* the program, and the path of its file */
  batch one;
  npar_array into;   /* memory for a parameter */
  npar_buffer *text; /* the last that was given */
  char hash[33];
  double loss;
} world;

/* One call. It stores what it gives in `own` and is undone by `undo`. */
typedef npar_code (*caller)(world *own, int which, npar_error **error);
typedef void (*undoer)(world *own);

static npar_program *compiledAs(npar_kind kind) {
  npar_request request = requestOf(hello);
  request.kind = kind;
  npar_program *program = NULL;
  OK(npar_compile(&request, &program, &error));
  return program;
}

static npar_trainer *freshTrainer(world *own) {
  npar_trainer_options options = {0};
  options.struct_size = sizeof options, options.threads = 1;
  npar_trainer *trainer = NULL;
  OK(npar_trainer_create(own->program, &options, &trainer, &error));
  return trainer;
}

static void nothing(world *own) { (void)own; }

static void freeText(world *own) {
  npar_buffer_free(own->text);
  own->text = NULL;
}

/* What a step or a run may have left half done ends with its trainer. */
static void renew(world *own) {
  freeText(own);
  npar_trainer_free(own->trainer);
  own->trainer = freshTrainer(own);
}

static npar_code openFile(world *own, int which, npar_error **error) {
  (void)which;
  npar_program *program = NULL;
  npar_code code = npar_program_open(own->npx, &program, error);
  npar_program_free(program);
  return code;
}

static npar_code openBytes(world *own, int which, npar_error **error) {
  (void)which;
  npar_program *program = NULL;
  npar_code code = npar_program_from_bytes(own->bytes.ptr, own->bytes.len, &program, error);
  npar_program_free(program);
  return code;
}

static npar_code saveProgram(world *own, int which, npar_error **error) {
  (void)which;
  return npar_program_save(own->program, own->npx, error);
}

static const struct {
  npar_view view;
  npar_format format;
} views[] = {{NPAR_VIEW_SUMMARY, NPAR_TEXT},    {NPAR_VIEW_SUMMARY, NPAR_JSON}, {NPAR_VIEW_WHY, NPAR_TEXT},
             {NPAR_VIEW_WHY, NPAR_JSON},        {NPAR_VIEW_BYTES, NPAR_TEXT},   {NPAR_VIEW_BYTES, NPAR_JSON},
             {NPAR_VIEW_HOSTS, NPAR_TEXT},      {NPAR_VIEW_HOSTS, NPAR_JSON},   {NPAR_VIEW_TIMELINE, NPAR_SVG},
             {NPAR_VIEW_TIMELINE, NPAR_JSON},   {NPAR_VIEW_PAGE, NPAR_HTML},    {NPAR_VIEW_INPUTS, NPAR_JSON},
             {NPAR_VIEW_PARAMETERS, NPAR_JSON}, {NPAR_VIEW_MESH, NPAR_JSON}};

static npar_code describe(world *own, int which, npar_error **error) {
  return npar_program_describe(own->program, views[which].view, views[which].format, NULL, &own->text, error);
}

static npar_code create(world *own, int which, npar_error **error) {
  (void)which;
  npar_trainer_options options = {0};
  options.struct_size = sizeof options, options.threads = 1;
  npar_trainer *trainer = NULL;
  npar_code code = npar_trainer_create(own->program, &options, &trainer, error);
  npar_trainer_free(trainer);
  return code;
}

static npar_code stepOnce(world *own, int which, npar_error **error) {
  (void)which;
  npar_step_result result = {0};
  result.struct_size = sizeof result;
  npar_code code = npar_trainer_step(own->trainer, own->one.inputs, 2, &result, error);
  if (code == NPAR_OK)
    CHECK(own->loss == 0 || result.loss == own->loss);
  if (code == NPAR_OK)
    own->loss = result.loss;
  return code;
}

static npar_code run(world *own, int which, npar_error **error) {
  const npar_str file = str("text");
  npar_run_options options = {0};
  options.struct_size = sizeof options, options.steps = 2;
  if (which == 0)
    options.random_data = 1;
  else
    options.data = &file, options.data_count = 1, options.tokens = str("bytes"), options.evaluation = own->evaluation,
    options.evaluate_every = 1, options.evaluate_data = &file, options.evaluate_data_count = 1;
  return npar_trainer_run(own->trainer, &options, &own->text, error);
}

static npar_code evaluate(world *own, int which, npar_error **error) {
  (void)which;
  const npar_str file = str("text");
  npar_evaluate_options options = {0};
  options.struct_size = sizeof options, options.program = own->evaluation;
  options.data = &file, options.data_count = 1, options.tokens = str("bytes");
  return npar_trainer_evaluate(own->trainer, &options, &own->text, error);
}

static npar_code generate(world *own, int which, npar_error **error) {
  (void)which;
  const int32_t prompt[] = {1, 4, 7};
  npar_generate_options options = {0};
  options.struct_size = sizeof options, options.program = own->generation;
  options.prompt = prompt, options.prompt_count = 3, options.count = 2;
  return npar_trainer_generate(own->trainer, &options, &own->text, error);
}

static npar_code hash(world *own, int which, npar_error **error) {
  (void)which;
  char now[33];
  npar_code code = npar_trainer_hash(own->trainer, now, error);
  CHECK(code != NPAR_OK || memcmp(now, own->hash, 33) == 0);
  return code;
}

static npar_code look(world *own, int which, npar_error **error) {
  npar_array array;
  const npar_piece *pieces;
  size_t count;
  const npar_str name = str("table.weight");
  switch (which) {
  case 0:
    return npar_trainer_view(own->whole, name, &array, error);
  case 1:
    return npar_trainer_pieces(own->trainer, name, &pieces, &count, error);
  case 2:
    return npar_trainer_read(own->trainer, name, &own->into, error);
  default:
    return npar_trainer_write(own->trainer, name, &own->into, error);
  }
}

typedef struct managed { /* the begin of struct DLManagedTensorVersioned */
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct managed *self);
} managed;

static npar_code exportTensor(world *own, int which, npar_error **error) {
  void *made = NULL;
  npar_array array;
  npar_code code =
      npar_trainer_to_dlpack(which == NPAR_EXPORT_VIEW ? own->whole : own->trainer, str("table.weight"), which, 0, &made, error);
  if (code == NPAR_OK)
    code = npar_array_from_dlpack(made, &array, error);
  if (made)
    ((managed *)made)->deleter(made);
  return code;
}

static npar_code files(world *own, int which, npar_error **error) {
  switch (which) {
  case 0:
    return npar_trainer_save_weights(own->trainer, str("weights.safetensors"), error);
  case 1:
    return npar_trainer_load_weights(own->trainer, str("weights.safetensors"), error);
  case 2:
    return npar_trainer_save(own->trainer, str("checkpoints"), error);
  default:
    return npar_trainer_resume(own->trainer, str("checkpoints"), error);
  }
}

static npar_code wrongVersion(world *own, int which, npar_error **error) {
  (void)own, (void)which;
  npar_code code = npar_check_abi(NPAR_ABI + 0x10000u, error);
  npar_error_free(*error);
  *error = NULL;
  return code == NPAR_USAGE || code == NPAR_RUN_FAILED ? NPAR_OK : code;
}

/* What is wrong with a text is found before LLVM starts, which ends the process when it has no memory. */
static npar_code wrongModel(world *own, int which, npar_error **error) {
  static const char *const texts[] = {"model Wrong { loss nothing }", "model Open { loss sum(",
                                      "import \"Linear\"\nplan alone for Nobody { mesh dp = 2 }"};
  (void)own;
  npar_request wrong = requestOf(texts[which]);
  npar_program *program = NULL;
  npar_code code = npar_compile(&wrong, &program, error);
  CHECK(code != NPAR_OK && !program);
  if (code != NPAR_BAD_INPUT)
    return code;
  npar_error_free(*error);
  *error = NULL;
  return NPAR_OK;
}

/* Two texts are equal, or this call gives none whose parts are all known before. */
static int same(caller call, npar_buffer *one, npar_buffer *other) {
  npar_str left = npar_buffer_data(one), right = npar_buffer_data(other);
  return call == run || (left.len == right.len && memcmp(left.ptr, right.ptr, left.len) == 0);
}

/* `recover` follows each call that failed, and `undo` each that succeeded. */
static void failEach(world *own, const char *name, caller call, int which, undoer undo, undoer recover) {
  npar_error *why = NULL;
  OK(call(own, which, &error)); /* fills what the library keeps */
  npar_buffer *before = own->text;
  own->text = NULL;
  undo(own);
  watch(-1);
  OK(call(own, which, &error));
  const long total = unwatch();
  undo(own);
  const long already = blocks, stride = total > most ? (total + most - 1) / most : 1;
  long failures = 0, tolerated = 0;
  for (long number = 0; number < total; number += stride) {
    watch(number);
    npar_code code = call(own, which, &why);
    unwatch();
    if (code == NPAR_OK) {
      ++tolerated;
      undo(own);
      continue;
    }
    ++failures;
    if (code != NPAR_RUN_FAILED || npar_error_code(why) != code || npar_error_text(why).len == 0 || own->text) {
      printf("%s %d, allocation %ld: code %d, %.*s\n", name, which, number, code, (int)npar_error_text(why).len, npar_error_text(why).ptr);
      exit(1);
    }
    npar_error_free(why);
    why = NULL;
    recover(own);
  }
  OK(call(own, which, &error));
  CHECK(same(call, before, own->text));
  undo(own);
  if (most > 40)
    fprintf(stderr, "%-12s %2d: %5ld allocations, %5ld failed, %ld tolerated, %ld blocks leaked\n", name, which, total, failures, tolerated,
            blocks - already);
  npar_buffer_free(before);
}

/* The files of this folder: those of a call that failed are gone. */
static int files_of(const char *folder) {
  int count = 0;
  DIR *all = opendir(folder);
  for (struct dirent *one; all && (one = readdir(all));)
    count += one->d_name[0] != '.';
  if (all)
    closedir(all);
  return count;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "all") == 0)
    most = 1000000;
  world own = {0};
  const int files_before = files_of(".");
  own.program = compiled();
  own.evaluation = compiledAs(NPAR_EVALUATION), own.generation = compiledAs(NPAR_GENERATION);
  own.bytes = npar_program_bytes(own.program), own.npx = str("hello.npx");
  fill(&own.one);
  static float table[VOCAB * 8];
  static const int64_t shape[] = {VOCAB, 8};
  own.into.data = table, own.into.dtype = NPAR_F32, own.into.ndim = 2, own.into.shape = shape;
  FILE *text = fopen("text", "wb");
  for (int i = 0; i < 1200; ++i)
    fputc(i * 3 % VOCAB, text);
  fclose(text);
  own.trainer = freshTrainer(&own);
  npar_request alone = requestOf(hello);
  alone.plan = str("none");
  npar_program *one = NULL;
  OK(npar_compile(&alone, &one, &error));
  own.whole = trainerOf(one);
  npar_program_free(one);
  OK(npar_trainer_hash(own.trainer, own.hash, &error));

  failEach(&own, "save program", saveProgram, 0, nothing, nothing);
  failEach(&own, "open", openFile, 0, nothing, nothing);
  failEach(&own, "from_bytes", openBytes, 0, nothing, nothing);
  for (int i = 0; i < (int)(sizeof views / sizeof *views); ++i)
    failEach(&own, "describe", describe, i, freeText, nothing);
  failEach(&own, "check_abi", wrongVersion, 0, nothing, nothing);
  for (int i = 0; i < 3; ++i)
    failEach(&own, "wrong model", wrongModel, i, nothing, nothing);
  failEach(&own, "create", create, 0, nothing, nothing);
  failEach(&own, "hash", hash, 0, nothing, nothing);
  for (int i = 0; i < 4; ++i)
    failEach(&own, "parameters", look, i, nothing, nothing);
  for (int i = 0; i < 3; ++i)
    failEach(&own, "dlpack", exportTensor, i, nothing, nothing);
  for (int i = 0; i < 4; ++i)
    failEach(&own, "files", files, i, nothing, nothing);
  failEach(&own, "evaluate", evaluate, 0, freeText, nothing);
  failEach(&own, "generate", generate, 0, freeText, nothing);
  failEach(&own, "hash", hash, 0, nothing, nothing); /* nothing above has changed a parameter */
  failEach(&own, "step", stepOnce, 0, renew, renew);
  for (int i = 0; i < 2; ++i)
    failEach(&own, "run", run, i, renew, renew);

  watch(0); /* these allocate nothing */
  npar_program_free(npar_program_retain(own.program));
  CHECK(npar_abi() == NPAR_ABI && npar_version().len > 0 && npar_program_bytes(own.program).len > 0);
  CHECK(npar_program_warnings(own.program).len > 0 && npar_trainer_steps(own.trainer) == 0);
  npar_trainer_stop(own.trainer);
  CHECK(unwatch() == 0);
  CHECK(files_of(".") == files_before + 4); /* the program, the text, the weights and the checkpoints */
  npar_trainer_free(own.trainer), npar_trainer_free(own.whole);
  npar_program_free(own.program), npar_program_free(own.evaluation), npar_program_free(own.generation);
  return finish("allocation");
}
