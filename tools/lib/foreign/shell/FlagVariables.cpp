// Walks the syntax tree. Nothing is expanded.
#include "tools/lib/foreign/shell/FlagVariables.h"

namespace npar::foreign::shell {
namespace {

bool beginsWithDash(const Assignment &assignment, const std::string &source) {
  const Word &value = assignment.elements && !assignment.elements->empty() ? assignment.elements->front() : assignment.value;
  size_t first = value.parts.empty() ? std::string::npos : source.find_first_not_of(" \t\n\\\"'", value.parts.front().begin);
  return first < source.size() && first < value.end && source[first] == '-';
}

void addFlagVariables(const Command &command, const std::string &source, std::set<std::string> &names) {
  std::visit(
      [&](const auto &node) {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, Simple>) {
          for (const Assignment &one : node.assignments)
            if (beginsWithDash(one, source))
              names.insert(one.name);
        } else if constexpr (std::is_same_v<Node, If>) {
          for (const auto &[condition, body] : node.clauses)
            shell::addFlagVariables(body, source, names);
          shell::addFlagVariables(node.otherwise, source, names);
        } else if constexpr (std::is_same_v<Node, Case>) {
          for (const Case::Item &item : node.items)
            shell::addFlagVariables(item.body, source, names);
        } else if constexpr (std::is_same_v<Node, Chain> || std::is_same_v<Node, Pipeline>) {
          shell::addFlagVariables(node.commands, source, names);
        } else if constexpr (std::is_same_v<Node, Group> || std::is_same_v<Node, For> || std::is_same_v<Node, CountedFor> ||
                             std::is_same_v<Node, While>) {
          shell::addFlagVariables(node.body, source, names);
        } else if constexpr (std::is_same_v<Node, Function>) {
          addFlagVariables(*node.body, source, names);
        }
      },
      command.node);
}

} // namespace

void addFlagVariables(const Commands &commands, const std::string &source, std::set<std::string> &names) {
  for (const std::unique_ptr<Command> &one : commands)
    addFlagVariables(*one, source, names);
}

} // namespace npar::foreign::shell
