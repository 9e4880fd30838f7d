// What the programs of this folder share: a small model, its batch, and checks that end the program with the line at fault.
#pragma once

#include <npar/npar.hpp>

#include <cstdio>
#include <cstdlib>

inline const char *const hello = R"(import "Embedding"
import "Linear"
model Hello(vocab = 32, width = 8, length = 8) {
    axis batch, seq = length, vocab, embed = width, hidden = 4 * width
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    up    = Linear(embed, hidden)
    head  = Linear(hidden, vocab)
    loss cross_entropy(head(relu(up(table(tokens)))), targets, over = vocab)
}
train base for Hello { batch 16  optimizer AdamW(lr = 1e-2) }
plan two_by_two for Hello {
    mesh dp = 2, tp = 2
    micro 4
    split {
        batch         -> dp
        hidden, vocab -> tp
    }
}
)";

#define CHECK(condition)                                                                                                                   \
  do {                                                                                                                                     \
    if (!(condition)) {                                                                                                                    \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                                          \
      std::exit(1);                                                                                                                        \
    }                                                                                                                                      \
  } while (0)

template <typename T> T good(npar::Result<T> result) {
  if (!result.ok())
    std::printf("%s\n", result.error().text.c_str());
  CHECK(result.ok());
  return std::move(result).value();
}
inline void good(const npar::Result<void> &result) {
  if (!result.ok())
    std::printf("%s\n", result.error().text.c_str());
  CHECK(result.ok());
}

/// The result is an error with this code, and its message has these words.
template <typename T> void fails(const npar::Result<T> &result, npar::Code code, const std::string &words) {
  if (result.ok() || result.error().code != code || result.error().text.find(words) == std::string::npos)
    std::printf("code %d: %s\n", static_cast<int>(result.error().code), result.error().text.c_str());
  CHECK(!result.ok() && result.error().code == code && result.error().text.find(words) != std::string::npos);
}

inline npar::Request request(const std::string &plan = "") {
  npar::Request made;
  made.text = hello;
  made.name = "hello.npar";
  made.plan = plan;
  return made;
}

inline npar::Trainer trainer(const npar::Program &program) {
  npar::TrainerOptions options;
  options.threads = 2;
  return good(npar::Trainer::create(program, options));
}

inline double step(npar::Trainer &trainer) {
  std::vector<int32_t> tokens, targets;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      tokens.push_back((i * 7 + j * 3) % 32);
      targets.push_back((i * 7 + j * 3 + 3) % 32);
    }
  return good(trainer.step({{"tokens", {tokens, {16, 8}}}, {"targets", {targets, {16, 8}}}})).loss;
}

inline int finish(const char *name) {
  std::printf("ok %s\n", name);
  return 0;
}
