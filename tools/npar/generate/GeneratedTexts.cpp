// Decodes tokens and prints them in the order of the prompts.
#include "tools/npar/generate/GeneratedTexts.h"

#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/PrintableStreams.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using engine::Result;

namespace {

/// The best classes with their scores.
OrderedJson bestOf(const std::vector<double> &scores, int64_t count) {
  std::vector<int32_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int32_t>(i);
  size_t kept = std::min(order.size(), static_cast<size_t>(count));
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                    [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  OrderedJson best = OrderedJson::array();
  for (size_t i = 0; i < kept; ++i)
    best.push_back({{"token", order[i]}, {"logit", scores[order[i]]}});
  return best;
}

} // namespace

GeneratedText::GeneratedText(const GenerateFlags &flags, const trained::Prompts &prompts, size_t number) : flags(flags) {
  if (prompts.tokenizer)
    decoder.emplace(*prompts.tokenizer);
  tokens["prompt_tokens"] = prompts.list[number].tokens;
  tokens["tokens"] = OrderedJson::array();
  for (int32_t token : prompts.list[number].tokens)
    before += shown(token, before.empty() ? "" : " ");
}

std::string GeneratedText::shown(int32_t token, const char *separator) {
  if (!decoder)
    return separator + std::to_string(token);
  Result<std::string> text = decoder->push(token);
  return text.ok() ? *text : ""; // ids that the tokenizer does not have print nothing
}

std::string GeneratedText::add(int32_t token, const std::vector<double> &scores) {
  tokens["tokens"].push_back(token);
  if (flags.top > 0)
    tokens["best"].push_back(bestOf(scores, flags.top));
  std::string more = shown(token, " ");
  after += more;
  return more;
}

std::string GeneratedText::finish() {
  std::string rest = decoder && !finished ? decoder->finish() : "";
  after += rest, finished = true;
  return rest;
}

OrderedJson GeneratedText::json() const {
  OrderedJson json = tokens;
  if (decoder)
    json["text"] = after;
  return json;
}

GeneratedTexts::GeneratedTexts(const GenerateFlags &flags, const trained::Prompts &prompts) : flags(flags), prompts(prompts) {
  for (size_t i = 0; i < prompts.list.size(); ++i)
    texts.emplace_back(flags, prompts, i);
  if (!flags.hasList())
    print(texts[0].promptText());
}

void GeneratedTexts::print(const std::string &text) {
  if (!flags.use.json)
    productOutput() << text;
}

void GeneratedTexts::printComplete() {
  for (; printed < texts.size() && texts[printed].isFinished(); ++printed)
    print(fmt::format("{}--- {}\n{}{}\n", printed ? "\n" : "", prompts.list[printed].place, texts[printed].promptText(),
                      texts[printed].text()));
}

bool GeneratedTexts::add(size_t prompt, int32_t token, const std::vector<double> &scores) {
  std::string more = texts[prompt].add(token, scores);
  if (!flags.hasList())
    print(more);
  return flags.use.json || bool(productOutput().flush());
}

bool GeneratedTexts::finish(size_t prompt) {
  std::string rest = texts[prompt].finish();
  if (flags.hasList())
    printComplete();
  else
    print(rest + "\n");
  return flags.use.json || bool(productOutput().flush());
}

void GeneratedTexts::finishAll(const std::string &products) {
  for (size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].isFinished())
      finish(i);
  if (!flags.use.json)
    return;
  OrderedJson json;
  if (flags.hasList())
    for (const GeneratedText &text : texts)
      json["prompts"].push_back(text.json());
  else
    json = texts[0].json();
  if (!products.empty())
    json["products"] = products;
  printJson(std::move(json));
}

} // namespace npar::driver
