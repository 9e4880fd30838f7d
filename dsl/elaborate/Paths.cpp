// Names of parameters in weight files: the names in the text, or the paths after `as` and `under`, in which words in braces are evaluated.
#include "dsl/elaborate/ModelElaborator.h"

#include <algorithm>
#include <cctype>

namespace npar::dsl {

std::string ModelElaborator::inBraces(Location at, const std::string &word, Scope &scope) {
  const std::string what = "'{" + word + "}' in a path";
  Binding *found = scope.find(word);
  if (!found)
    reporter.fail(Code::L18, at, what + ": there is no constant and no axis '" + word + "'",
                  {"braces contain a constant, or an axis with a separate tensor for each index"});
  if (std::holds_alternative<Poison>(found->value))
    throw Stop{};
  if (auto *number = std::get_if<int64_t>(&found->value); number && *number >= 0)
    return std::to_string(*number);
  if (auto *text = std::get_if<std::string>(&found->value))
    return *text;
  if (auto *axis = std::get_if<AxisValue>(&found->value); axis && axis->names.size() == 1 && axis->names[0] != "batch")
    return "{" + axis->names[0] + "}";
  const std::string value = isNumber(found->value) ? textOf(found->value) : kindOf(found->value);
  reporter.error(Code::L18, at, what + " is " + value + ", it must be an integer from 0 on, a text or one axis", found->location,
                 "declared here");
  throw Stop{};
}

std::string ModelElaborator::pathText(Location at, const std::string &written, Scope &scope, const std::string &number) {
  std::string path, words; // in `words` without the braces of axes
  for (size_t i = 0; i < written.size(); ++i) {
    size_t close = written[i] == '{' ? written.find('}', i) : std::string::npos;
    if (close == std::string::npos) {
      path += written[i], words += written[i];
      continue;
    }
    const std::string word = written.substr(i + 1, close - i - 1);
    const std::string meant = !number.empty() && word == number ? "{}" : inBraces(at, word, scope);
    path += meant;
    Binding *binding = scope.find(word);
    words += meant == "{}" || (binding && std::holds_alternative<AxisValue>(binding->value)) ? "0" : meant;
    i = close;
  }
  bool good = !words.empty() && words.front() != '.' && words.back() != '.' && words.find("..") == std::string::npos;
  for (char c : words)
    good = good && (std::isalnum(static_cast<unsigned char>(c)) || std::string("_.-/:+").find(c) != std::string::npos);
  if (!good)
    reporter.fail(Code::L18, at, "the path \"" + written + "\" must be names with points between them");
  return path;
}

std::string ModelElaborator::pathOf(const ast::Name &name, const std::optional<ast::Name> &as, Scope &scope) {
  return (graph.path.empty() ? "" : graph.path + ".") + (as ? pathText(as->location, as->text, scope) : name.text);
}

void ModelElaborator::checkIndexed(const Parameter &p, Location at) {
  size_t open = p.path.find('{');
  if (open == std::string::npos)
    return;
  const std::string axis = p.path.substr(open + 1, p.path.find('}', open) - open - 1);
  if (p.path.size() > longestIndexed)
    reporter.fail(Code::L18, at,
                  "the path has " + std::to_string(p.path.size()) + " characters, one with an axis in braces at most " +
                      std::to_string(longestIndexed));
  if (size_t second = p.path.find('{', open + 1); second != std::string::npos)
    reporter.fail(Code::L18, at, "the path \"" + p.path + "\" has two axes in braces, a parameter has tensors for the indices of one");
  size_t dim = 0;
  for (int merged : p.storedRank) {
    if (merged == 1 && p.type.axes[dim] == axis)
      return;
    dim += static_cast<size_t>(merged);
  }
  reporter.fail(Code::L18, at,
                "the path \"" + p.path + "\" stands for a tensor for each index of '" + axis + "', and the parameter, over " +
                    textOf(p.type.axes) + ", has no such dimension",
                {contains(p.type.axes, axis) ? "write '" + axis + "' as a dimension of its own, outside of the inner list"
                                             : "give the parameter the dimension '" + axis + "', or the path without the braces"});
}

void ModelElaborator::under(const ast::Statement &s, Scope &scope, Body body) {
  const std::string below = pathText(s.location, s.message, scope);
  checkNoForward(s.body, "under");
  struct Path {
    Path(std::string &path, const std::string &below) : path(path), before(path) { path += (before.empty() ? "" : ".") + below; }
    ~Path() { path = before; }
    std::string &path;
    const std::string before;
  } inside(graph.path, below);
  execute(s.body, scope, body);
}

} // namespace npar::dsl
