// Prints the results of `npar generate`: texts, tokens or JSON.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/Tokenizer.h"
#include "tools/npar/generate/GenerateFlags.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

/// The continuation of one prompt, as text if a tokenizer is known, else as numbers.
class GeneratedText {
public:
  GeneratedText(const GenerateFlags &flags, const trained::Prompts &prompts, size_t number);

  /// Adds a generated token and returns its text.
  std::string add(int32_t token, const std::vector<double> &scores);
  /// No token follows. Returns the text that still waited for the rest of a character.
  std::string finish();
  /// The text of the prompt.
  const std::string &promptText() const { return before; }
  /// The generated text so far.
  const std::string &text() const { return after; }
  bool isFinished() const { return finished; }
  OrderedJson json() const;

private:
  std::string shown(int32_t token, const char *separator);

  const GenerateFlags &flags;
  std::optional<engine::TextDecoder> decoder;
  OrderedJson tokens;
  std::string before, after;
  bool finished = false;
};

/// Prints the texts of all prompts: a single one while it is generated, several in their order, each once it and all before it are
/// complete. With --json prints everything at the end.
class GeneratedTexts {
public:
  GeneratedTexts(const GenerateFlags &flags, const trained::Prompts &prompts);

  /// False if standard output is closed or full.
  bool add(size_t prompt, int32_t token, const std::vector<double> &scores);
  bool finish(size_t prompt);
  /// Finishes all texts. `products`: the order of the products of bf16; empty without such products.
  void finishAll(const std::string &products);

private:
  void print(const std::string &text);
  /// Prints the texts that are complete, up to the first one that is not.
  void printComplete();

  const GenerateFlags &flags;
  const trained::Prompts &prompts;
  std::vector<GeneratedText> texts;
  size_t printed = 0;
};

} // namespace npar::driver
