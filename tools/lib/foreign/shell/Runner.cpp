// Control flow: lists, conditions, loops, pipelines, processes of their own and redirections.
#include "tools/lib/foreign/shell/Runner.h"

#include "tools/lib/foreign/shell/BatchLines.h"
#include "tools/lib/foreign/shell/Characters.h"
#include "tools/lib/foreign/shell/Conditions.h"
#include "tools/lib/foreign/shell/FlagVariables.h"
#include "tools/lib/foreign/shell/Parser.h"

#include <utility>

namespace npar::foreign::shell {

Runner::Runner(Environment &environment, ReadFile readFile)
    : environment(environment), expander(environment, [this](const Part &part, const Unit &unit) { return outputOf(part, unit); }),
      readFile(std::move(readFile)) {}

UnitPointer Runner::parsed(const Text &source) {
  if (!environment.spend(1 + source.size(), source.originAt(0)))
    return nullptr;
  SyntaxError error;
  auto unit = std::make_shared<Unit>();
  unit->source = source.asCommands();
  unit->commands = parse(unit->source.str(), error);
  if (error.message.empty()) {
    addFlagVariables(unit->commands, unit->source.str(), environment.holdsFlags);
    return unit;
  }
  // A placeholder <NAME> is two redirections, the second one without a name.
  const std::string &all = unit->source.str();
  size_t close = std::min(all.rfind('>', error.offset), all.size()), open = std::min(all.rfind('<', close), all.size());
  bool isPlaceholder = open < close && close - open < 60 && all.find('\n', open) > close;
  environment.fail({unit->source.originAt(error.offset),
                    error.message,
                    isPlaceholder ? "put a value in the place of '" + all.substr(open, close - open + 1) + "'" : "",
                    {},
                    ""});
  return nullptr;
}

void Runner::runScript(const Text &source) {
  readBatchLines(source, environment);
  if (UnitPointer unit = parsed(source))
    run(unit->commands, *unit);
}

void Runner::run(const Commands &commands, const Unit &unit) {
  for (const std::unique_ptr<Command> &one : commands) {
    run(*one, unit);
    if (flow != Flow::Normal || !environment.good())
      return;
  }
}

void Runner::run(const Command &command, const Unit &unit) {
  Origin at = unit.source.originAt(command.begin);
  if (!environment.spend(10, at))
    return;
  if (++depth > deepestShellCalls)
    environment.fail({at,
                      "npar does not follow this script further: its commands are more than " + std::to_string(deepestShellCalls) +
                          " deep in each other",
                      "",
                      {},
                      ""});
  else if (command.isApart)
    apart([&] { dispatch(command, unit); });
  else
    dispatch(command, unit);
  --depth;
}

void Runner::dispatch(const Command &command, const Unit &unit) {
  if (auto *simple = std::get_if<Simple>(&command.node)) // whose words come before its redirections
    dispatch(*simple, command, unit);
  else
    redirected(command, unit, [&] { dispatchCompound(command, unit); });
}

void Runner::dispatchCompound(const Command &command, const Unit &unit) {
  std::visit(
      [&](const auto &node) {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, Pipeline> || std::is_same_v<Node, Simple>) {
          dispatch(node, command, unit);
        } else if constexpr (std::is_same_v<Node, Group>) {
          run(node.body, unit);
        } else if constexpr (std::is_same_v<Node, Function>) {
          // The body lives as long as the function, which may outlive this command.
          environment.state.functions[node.name] = {node.body, std::make_shared<Unit>(Unit{unit.source, {}})};
          finish(0);
        } else if constexpr (std::is_same_v<Node, Sum>) {
          Number number = expander.sum(node.expression, unit);
          environment.state.status = {number.value == 0 ? 1 : 0, number.unknown};
        } else if constexpr (std::is_same_v<Node, Test>) {
          environment.state.status = testOf(node, unit, expander, environment);
        } else {
          dispatch(node, unit);
        }
      },
      command.node);
}

void Runner::dispatch(const If &all, const Unit &unit, size_t clause) {
  if (clause == all.clauses.size()) {
    finish(0);
    return run(all.otherwise, unit);
  }
  const auto &[condition, body] = all.clauses[clause];
  run(condition, unit);
  if (flow != Flow::Normal || !environment.good())
    return;
  ExitCode status = environment.state.status;
  auto yes = [&, &body = body] { finish(0), run(body, unit); };
  auto no = [&] { dispatch(all, unit, clause + 1); };
  if (status.unknown)
    either(status.unknown, yes, no);
  else
    status.code == 0 ? yes() : no();
}

void Runner::dispatch(const Case &all, const Unit &unit) {
  Text subject = expander.text(all.subject, unit);
  finish(0);
  items(all, subject, 0, unit);
}

void Runner::items(const Case &all, const Text &subject, size_t item, const Unit &unit) {
  for (; item < all.items.size() && environment.good() && flow == Flow::Normal; ++item) {
    bool matches = false;
    UnknownPointer why;
    for (const Word &word : all.items[item].patterns) {
      KnownPattern pattern = expander.pattern(word, unit);
      bool isAny = word.plain() == "*";
      UnknownPointer unknown = isAny ? nullptr : subject.unknown() ? subject.unknown() : pattern.unknown;
      size_t steps = 1;
      matches = matches || (!unknown && pattern.pattern.matches(subject.str(), steps));
      if (!environment.spend(steps, unit.source.originAt(word.begin)))
        return;
      why = why ? why : unknown;
    }
    auto body = [&] {
      size_t last = item;
      for (run(all.items[last].body, unit); flow == Flow::Normal && all.items[last].end == ";&" && last + 1 < all.items.size();)
        run(all.items[++last].body, unit);
      if (flow == Flow::Normal && all.items[last].end == ";;&")
        items(all, subject, last + 1, unit);
    };
    if (matches)
      return body();
    if (why)
      return either(why, body, [&] { items(all, subject, item + 1, unit); });
  }
}

/// True if the loop ends.
bool Runner::takeLoopEnd() {
  if (flow == Flow::Normal || !environment.good())
    return !environment.good();
  if (flow != Flow::Break && flow != Flow::Continue)
    return true;
  bool isOver = flow == Flow::Break || levels > 1;
  if (--levels <= 0)
    flow = Flow::Normal;
  return isOver;
}

void Runner::dispatch(const For &loop, const Unit &unit) {
  std::vector<Text> words = loop.words ? expander.fields(*loop.words, unit) : environment.state.arguments;
  Origin at = unit.source.originAt(loop.words && !loop.words->empty() ? loop.words->front().begin : 0);
  finish(0);
  for (Text &word : words) {
    if (!environment.spend(10, at))
      return;
    UnknownPointer why = word.unknownAt(0) ? word.unknown() : nullptr; // it may be several words, or none
    auto body = [&] {
      environment.assign(loop.name, word, at);
      run(loop.body, unit);
    };
    if (why)
      either(why, body, [] {});
    else
      body();
    if (takeLoopEnd())
      return;
  }
}

void Runner::repeat(const std::function<ExitCode()> &condition, const std::function<void()> &body, Origin at) {
  constexpr int mostRestarts = 100; // of a loop without end that starts the training again after a crash
  int restarts = 0;
  while (environment.spend(10, at)) {
    ExitCode status = condition();
    if (status.unknown)
      return either(
          status.unknown, [&] { body(), takeLoopEnd(); }, [] {});
    if (status.code != 0 || flow != Flow::Normal)
      return;
    size_t launches = environment.state.launches.size();
    body();
    bool hasTrained = environment.state.launches.size() > launches && !environment.state.launches.back().words[0].empty();
    if (takeLoopEnd() || (hasTrained && ++restarts == mostRestarts))
      return;
  }
}

void Runner::dispatch(const While &loop, const Unit &unit) {
  repeat(
      [&] {
        run(loop.condition, unit);
        ExitCode status = environment.state.status;
        if (loop.isUntil && !status.unknown)
          status.code = status.code == 0;
        finish(0);
        return status;
      },
      [&] { run(loop.body, unit); }, unit.source.originAt(loop.condition.empty() ? 0 : loop.condition.front()->begin));
}

void Runner::dispatch(const CountedFor &loop, const Unit &unit) {
  Origin at = unit.source.originAt(loop.first.begin);
  expander.sum(loop.first, unit);
  bool isFirst = true;
  repeat(
      [&] {
        if (!std::exchange(isFirst, false))
          expander.sum(loop.next, unit);
        Number number = expander.sum(loop.condition, unit);
        bool holds = number.value != 0 || loop.condition.parts.empty();
        return ExitCode{holds ? 0 : 1, number.unknown};
      },
      [&] { run(loop.body, unit); }, at);
}

void Runner::dispatch(const Chain &chain, const Unit &unit) {
  run(*chain.commands[0], unit);
  for (size_t i = 0; i < chain.operators.size() && flow == Flow::Normal && environment.good(); ++i) {
    ExitCode status = environment.state.status;
    bool isAnd = chain.operators[i] == "&&";
    auto next = [&] { run(*chain.commands[i + 1], unit); };
    if (status.unknown)
      either(
          status.unknown, isAnd ? std::function<void()>(next) : [&] { finish(0); },
          isAnd ? std::function<void()>([&] { finish(1); }) : next);
    else if ((status.code == 0) == isAnd)
      next();
  }
}

void Runner::dispatch(const Pipeline &pipeline, const Command &, const Unit &unit) {
  Text between;
  for (size_t i = 0; i < pipeline.commands.size() && environment.good(); ++i) {
    bool isLast = i + 1 == pipeline.commands.size();
    Text before = std::exchange(between, Text());
    const Text *outerInput = input;
    Text *outerOutput = output;
    if (i > 0)
      input = &before;
    if (!isLast)
      output = &between;
    auto one = [&] { run(*pipeline.commands[i], unit); };
    if (pipeline.commands.size() == 1)
      one();
    else
      apart(one);
    input = outerInput, output = outerOutput;
  }
  if (ExitCode &status = environment.state.status; pipeline.isNegated && !status.unknown)
    status.code = status.code == 0;
}

void Runner::either(const UnknownPointer &why, const std::function<void()> &yes, const std::function<void()> &no) {
  Origin at = why->at;
  if (!environment.spend(environment.weight(), at))
    return;
  size_t launches = environment.state.launches.size();
  State before = environment.state;
  bool exited = hasExited;
  yes();
  State after = std::exchange(environment.state, std::move(before));
  Flow first = std::exchange(flow, Flow::Normal);
  int firstLevels = levels;
  no();
  if (!environment.good() || !environment.spend(environment.weight(), at))
    return;
  // A way that ends the script without training is not the run that the user has.
  bool firstEnds = first == Flow::Exit, otherEnds = flow == Flow::Exit;
  if (firstEnds && !otherEnds && after.launches.size() == launches) {
    hasExited = exited;
    return;
  }
  if (otherEnds && !firstEnds && environment.state.launches.size() == launches) {
    environment.state = std::move(after), flow = first, levels = firstLevels, hasExited = exited;
    return;
  }
  if (first != flow && !firstEnds && !otherEnds) {
    environment.fail({at,
                      "npar cannot know how the script continues from here: that depends on " + why->why,
                      why->name.empty() ? "" : "--env " + why->name + "=VALUE gives it",
                      {},
                      ""});
    return;
  }
  if (firstEnds != otherEnds) { // one way has trained and is over, the other one continues
    State over = firstEnds ? std::move(after) : std::exchange(environment.state, std::move(after));
    if (otherEnds)
      flow = first, levels = firstLevels;
    for (size_t i = launches; i < over.launches.size(); ++i) {
      over.launches[i].decidedBy = why;
      environment.state.launches.push_back(std::move(over.launches[i]));
    }
    return;
  }
  environment.merge(std::move(after), launches, why);
}

void Runner::apart(const std::function<void()> &body) {
  if (!environment.spend(environment.weight(), environment.state.folder.originAt(0)))
    return;
  State before = environment.state;
  body();
  before.files = std::move(environment.state.files);
  before.launches = std::move(environment.state.launches);
  before.status = environment.state.status;
  environment.state = std::move(before);
  flow = Flow::Normal;
}

void Runner::redirected(const Command &command, const Unit &unit, const std::function<void()> &body) {
  if (command.redirections.empty())
    return body();
  const Text *outerInput = input;
  Text *outerOutput = output;
  Text given, printed, path;
  bool writes = false, adds = false;
  for (const Redirection &one : command.redirections) {
    Origin at = unit.source.originAt(one.target.begin);
    if (one.document) {
      given = expander.text(one.document->body, unit), input = &given;
      continue;
    }
    Text target = expander.text(one.target, unit);
    if (const std::string &word = target.str(); word.size() > 2 && word.compare(0, 2, "--") == 0 && isLetter(word[2]))
      return environment.fail({at,
                               "'" + one.op + " " + word.substr(0, 60) + "' redirects to a file of that name: this is no flag",
                               "a placeholder such as <NAME> before it needs a value in its place",
                               {},
                               ""});
    if (one.op == "<<<") {
      given = target, given.append("\n", at), input = &given;
    } else if (one.op == "<") {
      std::optional<Text> content = file(target);
      Unknown why;
      why.at = at, why.why = "the file '" + target.str().substr(0, 60) + "', which npar does not have";
      given = content ? *content : Text::unknown("$(<" + target.str() + ")", std::make_shared<Unknown>(std::move(why)));
      input = &given;
    } else if (one.op[0] != '<' && one.number == 1) {
      bool isNumber = one.op == ">&" && (target.str().size() == 1 || target.str() == "-");
      if (isNumber && target.str() == "1")
        continue;
      printed = Text(), output = &printed;
      writes = !isNumber && target.str().compare(0, 5, "/dev/") != 0;
      path = target, adds = one.op == ">>" || one.op == "&>>";
    }
  }
  body();
  input = outerInput, output = outerOutput;
  if (!writes)
    return;
  std::string name = path.str();
  auto &files = environment.state.files;
  if (auto known = files.find(name); adds && known != files.end()) {
    if (environment.fits(known->second.size() + printed.size(), unit.source.originAt(command.begin)))
      known->second.append(printed);
  } else if (adds) {
    Unknown why;
    why.at = unit.source.originAt(command.begin), why.why = "what '" + name.substr(0, 60) + "' had before";
    files[name] = Text::unknown("$(<" + name + ")", std::make_shared<Unknown>(std::move(why)));
  } else {
    files[name] = std::move(printed);
  }
}

Text Runner::outputOf(const Part &part, const Unit &unit) {
  const std::string &all = unit.source.str();
  Origin at = unit.source.originAt(part.begin);
  std::string_view shown = std::string_view(all).substr(part.begin, part.end - part.begin);
  Text source = all.compare(part.begin + 2, part.text.size(), part.text) == 0
                    ? unit.source.slice(part.begin + 2, part.begin + 2 + part.text.size())
                    : Text(part.text, unit.source.originAt(part.begin + 1));
  hasSubstituted = true;
  Text printed;
  bool isProcess = all.compare(part.begin, 1, "<") == 0 || all.compare(part.begin, 1, ">") == 0;
  SyntaxError error;
  Unit inside{source, {}};
  if (environment.spend(1 + source.size(), at) && depth < deepestShellCalls)
    inside.commands = parse(source.str(), error);
  if (!isProcess && error.message.empty()) {
    Text *outerOutput = std::exchange(output, &printed);
    const Text *outerInput = std::exchange(input, nullptr);
    Flow outerFlow = std::exchange(flow, Flow::Normal);
    apart([&] { run(inside.commands, inside); });
    output = outerOutput, input = outerInput, flow = outerFlow, hasSubstituted = true;
  }
  UnknownPointer why = printed.unknown();
  if (!why && !isProcess && error.message.empty()) {
    size_t end = printed.size();
    while (end > 0 && printed.str()[end - 1] == '\n')
      --end;
    return end == printed.size() ? printed : printed.slice(0, end);
  }
  if (!why || why->name.empty()) {
    Unknown named;
    named.at = at;
    named.why = "the output of '" + source.str().substr(0, 60) + (source.size() > 60 ? "...'" : "'");
    why = std::make_shared<Unknown>(std::move(named));
  }
  return Text::unknown(shown, why);
}

} // namespace npar::foreign::shell
