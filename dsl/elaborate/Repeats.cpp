// Repeats: their bodies run once for each block. The blocks of outer repeats are the chain that a pipeline cuts; inner ones are parts of
// them.
#include "dsl/elaborate/ModelElaborator.h"

#include <algorithm>

namespace npar::dsl {

using ast::Statement;

void ModelElaborator::placeBlock(const Statement &s, const std::string &path) {
  constexpr size_t most = 100'000;
  if (blockPaths.size() >= most)
    reporter.abort(Code::L3, s.location, "the model repeats more than " + std::to_string(most) + " blocks");
  auto refuse = [&](const std::pair<const std::string, const Statement *> &other) {
    reporter.error(Code::L17, s.path ? s.path->location : s.name.location,
                   "the blocks of repeat '" + s.name.text + "' would have the path \"" + path + "\", which is within repeat '" +
                       other.second->name.text + "' at \"" + other.first + "\"",
                   other.second->name.location, "declared here", {"give it another path, with `as` or `under`"});
    throw Stop{};
  };
  for (size_t end = path.size(); end != std::string::npos && end > openBlock.size(); end = path.rfind('.', end - 1))
    if (auto above = blockPaths.find(path.substr(0, end)); above != blockPaths.end())
      refuse(*above);
  if (auto below = blockPaths.lower_bound(path + ".");
      below != blockPaths.end() && below->first.compare(0, path.size() + 1, path + ".") == 0)
    refuse(*below);
  blockPaths[path] = &s;
}

void ModelElaborator::repeat(const Statement &s, Scope &scope, Body body) {
  constexpr int64_t most = 10'000;
  Model &model = graph.model;
  const bool inner = body == Body::Repeat;
  for (const Repeat &r : model.repeats)
    if (!inner && r.label == s.name.text) {
      reporter.error(Code::L17, s.name.location, "repeat '" + s.name.text + "' is declared twice", r.location, "first declared here");
      throw Stop{};
    }
  checkFresh(s.name, scope);
  if (s.index)
    checkFresh(*s.index, scope);
  int64_t count = integer(*s.value, scope, "the count of repeat '" + s.name.text + "'");
  const int64_t least = inner ? 0 : 1;
  if (count < least || count > most)
    reporter.fail(Code::L17, s.value->location,
                  "repeat '" + s.name.text + "' has count " + std::to_string(count) + ", the " +
                      (count < least ? "smallest is " + std::to_string(least) : "largest is " + std::to_string(most)));

  const std::string outer = graph.path, number = s.index ? s.index->text : "";
  std::string path = (outer.empty() ? "" : outer + ".") + (s.path ? pathText(s.path->location, s.path->text, scope, number) : s.name.text);
  size_t place = path.find("{}");
  if (place == std::string::npos)
    place = path.size() + 1, path += ".{}";
  if (path.find("{}", place + 2) != std::string::npos)
    reporter.fail(Code::L17, s.path->location, "the path \"" + s.path->text + "\" has the number of a block twice");
  const Repeat made{s.name.text, path, model.blocks, static_cast<int>(count), s.name.location, inner ? openRepeat->name.text : ""};
  if (!inner)
    model.repeats.push_back(made);
  else if (std::none_of(model.nested.begin(), model.nested.end(),
                        [&](const Repeat &r) { return r.label == made.label && r.inside == made.inside; }))
    model.nested.push_back(made);

  const Statement *outerRepeat = openRepeat;
  const std::string outerBlock = openBlock;
  const int before = graph.block;
  size_t errors = reporter.errorCount();
  for (int64_t i = 0; i < count && reporter.errorCount() == errors; ++i) {
    Scope own(&scope);
    if (s.index)
      own.bind(number, i, s.index->location);
    std::string block = path;
    placeBlock(s, block.replace(place, 2, std::to_string(i)));
    graph.path = openBlock = block;
    openRepeat = &s;
    if (!inner)
      graph.block = model.blocks + static_cast<int>(i);
    execute(s.body, own, Body::Repeat);
    graph.path = outer, openBlock = outerBlock, openRepeat = outerRepeat;
  }
  if (!inner)
    model.blocks += static_cast<int>(count);
  graph.block = inner ? before : model.blocks;
}

} // namespace npar::dsl
