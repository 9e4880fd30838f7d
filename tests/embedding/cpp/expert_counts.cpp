// The numbers of all parameters and of those that a position meets, of a model with experts: from a text, and from a saved program.
#include "check.hpp"

static const char *const experts = R"(import "Embedding"
import "Linear"
model Routed(vocab = 32, width = 8, length = 8) {
    axis batch, seq = length, vocab, embed = width, hidden = 16, expert = 4, slot = 1
    input tokens, targets: i32[batch, seq]
    param up: [expert, embed, hidden] = normal(0.1)
    param down: [expert, hidden, embed] = normal(0.1)
    table  = Embedding(vocab, embed)
    router = Linear(embed, expert)
    head   = Linear(embed, vocab)
    x = table(tokens)
    p = softmax(router(x), over = expert)
    best = top_k(p, along = slot, over = expert)
    made = einsum(relu(einsum(dispatch(x, best, along = slot, to = expert), up, over = embed)), down, over = hidden)
    x = x + combine(made, gather(p, best, over = expert))
    loss cross_entropy(head(x), targets, over = vocab)
}
train base for Routed { batch 16  optimizer AdamW(lr = 1e-2) }
plan shared for Routed { mesh ep = 2  micro 4  split { expert -> ep in op grouped  batch -> ep } }
)";

/// 256 in the table, 36 in the router, 288 in the head, 1,024 in experts, of which a position meets a quarter.
static void check(const npar::Program &program) {
  const std::string json = good(program.describe(npar::View::Summary, npar::Format::Json));
  CHECK(json.find("\"parameters\": 1604,") != std::string::npos);
  CHECK(json.find("\"active_parameters\": 836,") != std::string::npos);
  CHECK(json.find("\"table_parameters\": 256,") != std::string::npos);
  const std::string text = good(program.describe(npar::View::Summary, npar::Format::Text));
  CHECK(text.find("1604, of which a position meets 836 (580 without tables that it looks up)") != std::string::npos);
}

int main() {
  npar::Request wanted = request();
  wanted.text = experts;
  npar::Program program = good(npar::compile(wanted));
  check(program);
  good(program.save("routed.npx"));
  check(good(npar::Program::open("routed.npx")));
  const std::string dense = good(good(npar::compile(request())).describe(npar::View::Summary, npar::Format::Json));
  CHECK(dense.find("active_parameters") == std::string::npos);
  return finish("expert_counts");
}
