// What can follow the words of a command line: made from the driver's commands and flags, printed as a script for each shell.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace npar::driver {

struct CompletionTable {
  /// `word` after the words `path` leads to the command `leads`, whose name may be another spelling of the word.
  struct Step {
    std::string path, word, leads;
  };
  /// The words that can follow `path`.
  struct Next {
    std::string path;
    std::vector<std::string> words;
  };
  std::vector<Step> steps;
  std::vector<Next> next;
  std::vector<Next> values; ///< `path` ends with a flag that takes a value. No words: a file name, or any text
};

/// The table of the driver's visible commands.
CompletionTable completionTable(const CLI::App &driver);

std::string bashScript(const CompletionTable &table);
std::string zshScript(const CompletionTable &table);
std::string fishScript(const CompletionTable &table);

} // namespace npar::driver
