// Follows a script given as text, for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace npar::foreign::shell::test {

/// The words after the program of each training command that the script runs. Unknown parts are in guillemets.
struct FollowedScript {
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> flagsAlone;                      ///< words of commands that begin with a flag
  std::string failure;                                      ///< message of the error that ended the reading; empty: none
  std::vector<std::string> reasons;                         ///< why parts of the words are not known
  std::vector<std::string> decidedBy;                       ///< conditions that the commands depend on
  std::vector<std::pair<std::string, std::string>> devices; ///< of the last command
  std::vector<std::string> assumedUnset;
};

/// `files`: files next to the script, by name.
FollowedScript follow(const std::string &script, const std::map<std::string, std::string> &given = {},
                      const std::map<std::string, std::string> &files = {});

/// The words of the only command; "?" if there is not exactly one, or the failure.
std::vector<std::string> wordsOf(const std::string &script, const std::map<std::string, std::string> &given = {});

} // namespace npar::foreign::shell::test
