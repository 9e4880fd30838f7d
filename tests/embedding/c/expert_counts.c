/* The numbers of all parameters and of those that a position meets, of a model with experts: from a text, and from the program's bytes. */
#include "check.h"

static const char *const experts = "import \"Embedding\"\n"
                                   "import \"Linear\"\n"
                                   "import \"Projection\"\n"
                                   "model Routed(vocab = 32, width = 8, length = 8) {\n"
                                   "    axis batch, seq = length, vocab, embed = width, hidden = 16, expert = 4, slot = 2\n"
                                   "    input tokens, targets: i32[batch, seq]\n"
                                   "    param up: [expert, embed, hidden] = normal(0.1)\n"
                                   "    param down: [expert, hidden, embed] = normal(0.1)\n"
                                   "    table  = Embedding(vocab, embed)\n"
                                   "    router = Projection(embed, expert)\n"
                                   "    head   = Linear(embed, vocab)\n"
                                   "    x = table(tokens)\n"
                                   "    p = softmax(router(x), over = expert)\n"
                                   "    best = top_k(p, along = slot, over = expert)\n"
                                   "    rows = dispatch(x, best, along = slot, to = expert)\n"
                                   "    made = einsum(relu(einsum(rows, up, over = embed)), down, over = hidden)\n"
                                   "    x = x + combine(made, gather(p, best, over = expert))\n"
                                   "    loss cross_entropy(head(x), targets, over = vocab)\n"
                                   "}\n"
                                   "train base for Routed { batch 16  optimizer AdamW(lr = 1e-2) }\n"
                                   "plan shared for Routed { mesh ep = 2  micro 4  split { expert -> ep in op grouped  batch -> ep } }\n";

static int describes(const npar_program *program, npar_format format, const char *words) {
  npar_buffer *text = NULL;
  OK(npar_program_describe(program, NPAR_VIEW_SUMMARY, format, NULL, &text, &error));
  int found = has(npar_buffer_data(text), words);
  npar_buffer_free(text);
  return found;
}

/* 256 in the table, 32 in the router, 288 in the head, 1,024 in experts, of which a position meets half. */
static void check(const npar_program *program) {
  CHECK(describes(program, NPAR_JSON, "\"parameters\": 1600,"));
  CHECK(describes(program, NPAR_JSON, "\"active_parameters\": 1088,"));
  CHECK(describes(program, NPAR_JSON, "\"table_parameters\": 256,"));
  CHECK(describes(program, NPAR_TEXT, "1600, of which a position meets 1088 (832 without tables that it looks up)"));
}

int main(void) {
  npar_request request = requestOf(experts);
  npar_program *program = NULL, *copy = NULL, *dense = compiled();
  OK(npar_compile(&request, &program, &error));
  check(program);
  npar_str bytes = npar_program_bytes(program);
  OK(npar_program_from_bytes(bytes.ptr, bytes.len, &copy, &error));
  check(copy);
  CHECK(!describes(dense, NPAR_JSON, "active_parameters"));
  npar_program_free(copy);
  npar_program_free(program);
  npar_program_free(dense);
  return finish("expert_counts");
}
