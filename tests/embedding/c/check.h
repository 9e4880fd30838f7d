/* What the programs of this folder share: a small model, its batch, and checks that end the program with the line at fault. */
#ifndef CHECK_H
#define CHECK_H

#include <npar/npar.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 16
#define LENGTH 8
#define VOCAB 32

static const char *const hello = "import \"Embedding\"\n"
                                 "import \"Linear\"\n"
                                 "model Hello(vocab = 32, width = 8, length = 8) {\n"
                                 "    axis batch, seq = length, vocab, embed = width, hidden = 4 * width\n"
                                 "    input tokens, targets: i32[batch, seq]\n"
                                 "    table = Embedding(vocab, embed)\n"
                                 "    up    = Linear(embed, hidden)\n"
                                 "    head  = Linear(hidden, vocab)\n"
                                 "    loss cross_entropy(head(relu(up(table(tokens)))), targets, over = vocab)\n"
                                 "}\n"
                                 "train base for Hello { batch 16  optimizer AdamW(lr = 1e-2) }\n"
                                 "plan two_by_two for Hello {\n"
                                 "    mesh dp = 2, tp = 2\n"
                                 "    micro 4\n"
                                 "    split {\n"
                                 "        batch         -> dp\n"
                                 "        hidden, vocab -> tp\n"
                                 "    }\n"
                                 "}\n";

static inline npar_str str(const char *text) {
  npar_str made = {text, strlen(text)};
  return made;
}

static inline void fail(const char *file, int line, const char *why) {
  printf("%s:%d: %s\n", file, line, why);
  exit(1);
}

#define CHECK(condition)                                                                                                                   \
  do {                                                                                                                                     \
    if (!(condition))                                                                                                                      \
      fail(__FILE__, __LINE__, #condition);                                                                                                \
  } while (0)

/* A call, which may use `error`, succeeds. */
#define OK(call)                                                                                                                           \
  do {                                                                                                                                     \
    npar_error *error = NULL;                                                                                                              \
    if ((call) != NPAR_OK) {                                                                                                               \
      printf("%.*s\n", (int)npar_error_text(error).len, npar_error_text(error).ptr);                                                       \
      fail(__FILE__, __LINE__, #call);                                                                                                     \
    }                                                                                                                                      \
  } while (0)

/* A call fails with this code, and its message has these words. */
#define FAILS(code, words, call)                                                                                                           \
  do {                                                                                                                                     \
    npar_error *error = NULL;                                                                                                              \
    npar_code was = (call);                                                                                                                \
    if (was != (code) || npar_error_code(error) != (code) || !has(npar_error_text(error), words)) {                                        \
      printf("code %d: %.*s\n", was, (int)npar_error_text(error).len, npar_error_text(error).ptr);                                         \
      fail(__FILE__, __LINE__, #call);                                                                                                     \
    }                                                                                                                                      \
    npar_error_free(error);                                                                                                                \
  } while (0)

static inline int has(npar_str text, const char *part) {
  size_t length = strlen(part);
  for (size_t i = 0; i + length <= text.len; ++i)
    if (memcmp(text.ptr + i, part, length) == 0)
      return 1;
  return 0;
}

static inline npar_request requestOf(const char *text) {
  npar_request request = {0};
  request.struct_size = sizeof request;
  request.text = str(text);
  request.name = str("hello.npar");
  return request;
}

static inline npar_program *compiled(void) {
  npar_request request = requestOf(hello);
  npar_program *program = NULL;
  OK(npar_compile(&request, &program, &error));
  return program;
}

static inline npar_trainer *trainerOf(npar_program *program) {
  npar_trainer_options options = {0};
  options.struct_size = sizeof options;
  options.threads = 2;
  npar_trainer *trainer = NULL;
  OK(npar_trainer_create(program, &options, &trainer, &error));
  return trainer;
}

/* A batch whose targets are the tokens that follow: one array of positions, seen twice. */
typedef struct batch {
  int64_t tokens[BATCH][LENGTH + 1];
  int64_t shape[2], strides[2];
  npar_input inputs[2];
} batch;

static inline void fill(batch *to) {
  for (int i = 0; i < BATCH; ++i)
    for (int j = 0; j <= LENGTH; ++j)
      to->tokens[i][j] = (i * 7 + j * 3) % VOCAB;
  to->shape[0] = BATCH, to->shape[1] = LENGTH, to->strides[0] = LENGTH + 1, to->strides[1] = 1;
  const npar_array array = {to->tokens, NPAR_I64, 2, to->shape, to->strides};
  to->inputs[0].name = str("tokens"), to->inputs[0].array = array;
  to->inputs[1].name = str("targets"), to->inputs[1].array = array;
  to->inputs[1].array.data = &to->tokens[0][1];
}

static inline double step(npar_trainer *trainer) {
  batch one;
  fill(&one);
  npar_step_result result = {0};
  result.struct_size = sizeof result;
  OK(npar_trainer_step(trainer, one.inputs, 2, &result, &error));
  return result.loss;
}

static inline int finish(const char *name) {
  printf("ok %s\n", name);
  return 0;
}
#endif
