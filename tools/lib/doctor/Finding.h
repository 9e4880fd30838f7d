// What one check of the doctor found.
#pragma once

#include <string>

namespace npar::doctor {

enum class Health {
  Ok,
  Note,   ///< something that only some commands need is missing
  Problem ///< a command fails or is slow because of this
};

/// "ok", "note" or "fix", as it is printed.
inline const char *wordOf(Health health) {
  switch (health) {
  case Health::Ok:
    return "ok";
  case Health::Note:
    return "note";
  case Health::Problem:
    return "fix";
  }
  return "";
}

struct Finding {
  std::string check; ///< "job secret"
  Health health = Health::Ok;
  std::string text; ///< what was found
  std::string fix;  ///< what to do; empty if nothing has to be done, or if `text` says it
};

} // namespace npar::doctor
