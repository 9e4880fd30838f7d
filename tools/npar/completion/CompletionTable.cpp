// Walks over the commands and flags of the driver.
#include "tools/npar/completion/CompletionTable.h"

#include "tools/lib/models/ModelOptions.h"

#include <sstream>

namespace npar::driver {
namespace {

/// The values that an option's check allows, which its type lists as "TEXT:{cpu,cuda}"; empty if any value is allowed.
std::vector<std::string> allowedWords(const CLI::Option &option) {
  std::string type = option.get_type_name();
  size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos)
    return words;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(list, word, ',');)
    words.push_back(word);
  return words;
}

/// Adds a command and all its subcommands.
void add(CompletionTable &table, const CLI::App &app, const std::string &path) {
  std::vector<std::string> next;
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; })) {
    if (each->get_group().empty())
      continue;
    std::string leads = path + " " + each->get_name();
    table.steps.push_back({path, each->get_name(), leads});
    for (const std::string &alias : each->get_aliases())
      table.steps.push_back({path, alias, leads});
    next.push_back(each->get_name());
    add(table, *each, leads);
  }
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_positional() && option->get_name(true) == "MODEL")
      for (const std::string &model : models::libraryTexts("models"))
        next.push_back(model);
    std::vector<std::string> words = allowedWords(*option);
    for (const std::string &flag : option->get_lnames()) {
      next.push_back("--" + flag);
      if (!words.empty() || option->get_items_expected_max() > 0)
        table.values.push_back({path + " --" + flag, words});
    }
  }
  table.next.push_back({path, next});
}

} // namespace

CompletionTable completionTable(const CLI::App &driver) {
  CompletionTable table;
  add(table, driver, "npar");
  return table;
}

} // namespace npar::driver
