// Looks variables up, and joins the states after the two ways of a condition that is not known.
#include "tools/lib/foreign/shell/Environment.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace npar::foreign::shell {
namespace {

/// Variables that every shell or login sets.
constexpr std::array<std::string_view, 17> everSet = {"HOME",    "USER",    "PATH",         "PWD",      "HOSTNAME", "SHELL",
                                                      "RANDOM",  "SECONDS", "UID",          "LOGNAME",  "OLDPWD",   "LINENO",
                                                      "BASHPID", "PPID",    "EPOCHSECONDS", "HOSTTYPE", "EUID"};

VariablePointer textVariable(Text text) {
  auto variable = std::make_shared<Variable>();
  variable->list[0] = std::move(text);
  return variable;
}

/// A variable of which only what both have is known.
VariablePointer common(const std::string &name, const VariablePointer &one, const VariablePointer &other, const UnknownPointer &why) {
  if (one == other || (one && other && *one == *other))
    return one;
  Text unknown = Text::unknown("${" + name + "}", why);
  if (!one || !other || one->kind != other->kind || one->kind == Variable::Kind::Map)
    return textVariable(unknown);
  auto result = std::make_shared<Variable>();
  result->kind = one->kind;
  auto mine = one->list.begin(), theirs = other->list.begin();
  for (; one->kind == Variable::Kind::List && mine != one->list.end() && theirs != other->list.end() && *mine == *theirs; ++mine, ++theirs)
    result->list.insert(*mine);
  result->list[result->end()] = unknown; // stands for all that follow
  return result;
}

template <class Value> void keepCommon(std::map<std::string, Value> &mine, const std::map<std::string, Value> &theirs) {
  for (auto one = mine.begin(); one != mine.end();) {
    auto other = theirs.find(one->first);
    one = other == theirs.end() || !(other->second == one->second) ? mine.erase(one) : std::next(one);
  }
}

} // namespace

void Environment::fail(Failure failure) {
  if (!std::exchange(failed, true))
    reason = std::move(failure);
}

bool Environment::spend(size_t more, Origin at) {
  work += more;
  if (work > mostShellWork)
    fail({at, "npar does not follow this script further: it takes too many steps", "", {}, ""});
  return good();
}

bool Environment::fits(size_t bytes, Origin at) {
  if (bytes > longestShellText)
    fail({at, "this value has more than " + std::to_string(longestShellText) + " bytes, the most that are read", "", {}, ""});
  return good();
}

const Variable *Environment::find(const std::string &name) const {
  auto known = state.variables.find(name);
  return known == state.variables.end() ? nullptr : known->second.get();
}

bool Environment::isUnset(const std::string &name) const {
  auto known = state.variables.find(name);
  return known != state.variables.end() && !known->second;
}

UnknownPointer Environment::unsetReason(const std::string &name, Origin at) const {
  Unknown unknown;
  unknown.name = name, unknown.at = at;
  bool isArgument = !name.empty() && name[0] >= '0' && name[0] <= '9';
  bool isEverSet = std::find(everSet.begin(), everSet.end(), name) != everSet.end();
  unknown.isUnset = !isEverSet && unfollowed.empty();
  unknown.why = isArgument  ? "'$" + name + "', an argument of the script"
                : isEverSet ? "'" + name + "', which each machine sets"
                : !unfollowed.empty()
                    ? "'" + name + "', which the script does not set (npar does not have '" + unfollowed + "', which it reads)"
                    : "'" + name + "', which the script does not set";
  return std::make_shared<Unknown>(std::move(unknown));
}

const std::string *Environment::giver(const std::string &name) {
  auto known = given.find(name);
  if (known == given.end())
    return nullptr;
  used.insert(name);
  return &known->second;
}

void Environment::assign(const std::string &name, Text value, Origin at) {
  if (UnknownPointer why = value.unknown()) {
    if (const std::string *known = giver(name)) {
      value = Text(*known, at);
    } else if (why->name.empty()) { // the variable gives the value a name
      Unknown named = *why;
      named.name = name;
      value = value.renamed(std::make_shared<Unknown>(std::move(named)));
    }
  }
  state.variables[name] = textVariable(std::move(value));
}

void Environment::assign(const std::string &name, Variable variable) {
  state.variables[name] = std::make_shared<Variable>(std::move(variable));
}

void Environment::makeLocal(const std::string &name) {
  if (state.replaced.empty())
    return;
  auto known = state.variables.find(name);
  if (known == state.variables.end())
    state.replaced.back().emplace(name, nullptr);
  else
    state.replaced.back().emplace(name, known->second);
}

void Environment::assumeUnset(const Unknown &unknown) {
  for (const Unknown &one : assumedUnset)
    if (one.name == unknown.name)
      return;
  assumedUnset.push_back(unknown);
}

size_t Environment::weight() const {
  return 100 + 20 * (state.variables.size() + state.arguments.size() + state.functions.size() + state.files.size() + state.launches.size());
}

/// A value that depends on a variable that nothing sets is not that variable: it does not count as empty.
static UnknownPointer decidedBy(const UnknownPointer &condition) {
  if (!condition || !condition->isUnset)
    return condition;
  Unknown decision = *condition;
  decision.isUnset = false;
  return std::make_shared<Unknown>(std::move(decision));
}

void Environment::merge(State other, size_t launches, const UnknownPointer &condition) {
  const UnknownPointer why = decidedBy(condition);
  for (auto &[name, variable] : state.variables) {
    auto theirs = other.variables.find(name);
    if (theirs != other.variables.end() || variable)
      variable = common(name, variable, theirs == other.variables.end() ? nullptr : theirs->second, why);
  }
  for (auto &[name, variable] : other.variables)
    if (state.variables.count(name) == 0)
      state.variables.emplace(name, common(name, nullptr, variable, why));
  if (!(state.arguments == other.arguments))
    state.arguments = {Text::unknown("$@", why)};
  if (!(state.status == other.status))
    state.status.unknown = why;
  if (state.folder != other.folder)
    state.folder = Text::unknown("$PWD", why);
  keepCommon(state.functions, other.functions);
  for (auto &[path, text] : state.files)
    if (auto theirs = other.files.find(path); theirs == other.files.end() || theirs->second != text)
      text = Text::unknown("$(cat " + path + ")", why);
  for (auto &[path, text] : other.files)
    state.files.emplace(path, Text::unknown("$(cat " + path + ")", why));
  if (state.launches == other.launches)
    return;
  for (size_t i = launches; i < state.launches.size(); ++i)
    if (!state.launches[i].decidedBy)
      state.launches[i].decidedBy = why;
  for (size_t i = launches; i < other.launches.size(); ++i) {
    if (!other.launches[i].decidedBy)
      other.launches[i].decidedBy = why;
    state.launches.push_back(std::move(other.launches[i]));
  }
}

} // namespace npar::foreign::shell
