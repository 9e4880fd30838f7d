// One group of prompts after the other: each step adds a token to every text of the group that is not complete.
#include "tools/npar/generate/GenerateAll.h"

#include "engine/program/Words.h"
#include "tools/npar/generate/GeneratedTexts.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/use/Pace.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::driver {

using engine::Result;
using training::Generator;

namespace {

class Group {
public:
  Group(const GenerateFlags &flags, const trained::Prompts &prompts, size_t first, Generator generator, GeneratedTexts &texts)
      : flags(flags), prompts(prompts), first(first), generator(std::move(generator)), texts(texts),
        left(this->generator.size(), flags.count), end(prompts.tokenizer ? prompts.tokenizer->endOfText() : std::nullopt) {}

  /// Continues the prompts until all texts are complete, a signal asks to stop, or standard output is closed.
  ExitCode run(Pace &pace) {
    while (!isComplete() && !isClosed && !stopSignal()) {
      if (engine::Status status = generator.advance(); !status.ok())
        return fail(status);
      int64_t open = 0;
      for (size_t i = 0; i < left.size(); ++i)
        if (left[i] > 0) {
          ++open;
          if (ExitCode code = extend(i); code != ExitCode::Good)
            return code;
        }
      pace.count(open);
    }
    return ExitCode::Good;
  }
  bool canContinue() const { return !isClosed && !stopSignal(); }
  int64_t generated() const {
    int64_t sum = 0;
    for (size_t i = 0; i < left.size(); ++i)
      sum += static_cast<int64_t>(generator.tokens(i).size() - prompts.list[first + i].tokens.size());
    return sum;
  }

private:
  bool isComplete() const {
    return std::all_of(left.begin(), left.end(), [](int64_t count) { return count == 0; });
  }

  /// Adds the next token to a text.
  ExitCode extend(size_t place) {
    Result<std::vector<double>> scores = generator.scores(place);
    if (!scores.ok())
      return fail(scores.status());
    const size_t known = generator.tokens(place).size();
    std::optional<int32_t> token = training::nextToken(*scores, flags.sampling, known);
    if (!token)
      return fail(ExitCode::RunFailed,
                  fmt::format("{}the scores after {} tokens are not finite", prompts.list[first + place].where(), known));
    generator.append(place, *token);
    left[place] = token == end ? 0 : left[place] - 1;
    bool isOpen = texts.add(first + place, *token, *scores) && (left[place] > 0 || texts.finish(first + place));
    isClosed = isClosed || !isOpen;
    return ExitCode::Good;
  }

  const GenerateFlags &flags;
  const trained::Prompts &prompts;
  size_t first; ///< number of the first prompt
  Generator generator;
  GeneratedTexts &texts;
  std::vector<int64_t> left; ///< tokens that can still be added to each text
  std::optional<int32_t> end;
  bool isClosed = false;
};

} // namespace

Generator GeneratingSessions::generatorOf(const Generator::Prompts &prompts) const {
  return keeps ? Generator(parts, length, prompts) : Generator(parts.front(), prompts);
}

ExitCode generateAll(const GenerateFlags &flags, const GeneratingSessions &sessions, const trained::Prompts &prompts) {
  GeneratedTexts texts(flags, prompts);
  stopWhenAsked(flags.hasList() ? "after the current tokens" : "after this token", flags.use.quiet);
  Pace pace;
  int64_t generated = 0;
  bool goesOn = true;
  const size_t all = prompts.list.size(), rows = static_cast<size_t>(std::min(flags.together(), sessions.parts.front().shape.rows));
  for (size_t first = 0; first < all && goesOn; first += rows) {
    Generator::Prompts tokens;
    for (size_t i = first; i < std::min(first + rows, all); ++i)
      tokens.push_back(prompts.list[i].tokens);
    Group group(flags, prompts, first, sessions.generatorOf(tokens), texts);
    if (ExitCode code = group.run(pace); code != ExitCode::Good)
      return code;
    generated += group.generated(), goesOn = group.canContinue();
  }
  auto order = sessions.parts.back().session->productOrder();
  texts.finishAll(order ? program::wordOf(*order) : "");
  if (!flags.use.quiet)
    pace.say();
  if (const char *signal = stopSignal())
    return fail(ExitCode::RunFailed,
                fmt::format("stopped by {} after {} of {} tokens", signal, generated, flags.count * static_cast<int64_t>(all)));
  return ExitCode::Good;
}

} // namespace npar::driver
