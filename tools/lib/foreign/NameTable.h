// Classifies the names of another program's settings: what npar takes, what does not matter to it, and what it lacks.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace npar::foreign {

/// What a setting is about. Run: logging, data, checkpoints and the launch, which change neither numbers nor memory nor time of a step.
enum class Part { Model, Training, Plan, Run };

struct KnownName {
  Part part = Part::Run;
  const char *lacking = nullptr; ///< what npar does instead; null: the setting is taken, or does not matter (Run)
  std::string unchanged;         ///< the value with which it changes nothing; empty: "false", "0", "none" and the like
  bool isSection = false;        ///< stands for all names of a section

  /// Tells whether the setting has an effect on numbers, memory or time with this value.
  bool hasEffect(const std::string &value) const;
};

/// The names of one program. A name that ends in `.*` stands for all names of a section in which the program accepts any.
class NameTable {
public:
  /// One class of names. `names` are separated by blanks; `name=value` states the value with which the setting changes nothing.
  struct Row {
    Part part;
    const char *lacking;
    std::string_view names;
  };

  NameTable(std::initializer_list<Row> rows);

  /// Null for a name that the program does not have.
  const KnownName *find(const std::string &key) const;
  const std::map<std::string, KnownName> &all() const { return names; }

private:
  std::map<std::string, KnownName> names;
};

} // namespace npar::foreign
