// `npar explain-code`: prints the page that explains the code of an error.
#include "tools/npar/Command.h"

#include "dsl/Suggestions.h"
#include "engine/readable/TableRow.h"
#include "tools/lib/errors/ErrorPages.h"
#include "tools/npar/terminal/Talk.h"

#include <iostream>

namespace npar::driver {
namespace {

using errors::ErrorPage;

void printList() {
  for (const ErrorPage &page : errors::errorPages())
    if (!page.title.empty())
      std::cout << readable::TableRow(0).left(page.code, 4).text(page.title).str();
}

ExitCode printPage(const std::string &code) {
  if (code.empty()) {
    printList();
    return ExitCode::Good;
  }
  const bool isBracketed = code.size() > 2 && code.front() == '[' && code.back() == ']'; // as errors print it
  const ErrorPage *page = errors::findErrorPage(isBracketed ? code.substr(1, code.size() - 2) : code);
  if (!page) {
    std::vector<std::string> codes;
    for (const ErrorPage &one : errors::errorPages())
      codes.push_back(one.code);
    std::string nearest = dsl::nearest(code, codes);
    return fail(ExitCode::Usage, "no error has the code '" + code + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                                     "\nnpar: 'npar explain-code' lists all codes");
  }
  std::cout << page->code << (page->title.empty() ? "" : ": " + page->title) << "\n\n" << page->text;
  return ExitCode::Good;
}

} // namespace

Command addExplainCodeCommand(CLI::App &driver) {
  auto code = std::make_shared<std::string>();
  CLI::App *app =
      driver.add_subcommand("explain-code", "print what the code of an error means, with an example and its correction\n\n"
                                            "Example:\n"
                                            "  npar explain-code P8\n"
                                            "\n"
                                            "Errors of models and plans end with a code, such as [P8]. Without CODE it lists all codes.\n");
  app->add_option("CODE", *code, "code of an error, such as P8");
  return {app, [code] { return printPage(*code); }};
}

} // namespace npar::driver
