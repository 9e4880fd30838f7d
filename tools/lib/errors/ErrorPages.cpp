// Cuts the Markdown files into pages at their headings: `## P8: title` in dsl/errors, `### P8` in the rules.
#include "tools/lib/errors/ErrorPages.h"

#include "tools/lib/errors/EmbeddedPages.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace npar::errors {
namespace {

bool isCode(const std::string &word) {
  return word.size() >= 2 && word[0] >= 'A' && word[0] <= 'Z' &&
         std::all_of(word.begin() + 1, word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Appends the sections of a file. A heading without a code ends a section. The rules' paragraphs about where they are implemented and
/// tested, which are for people with the sources, are left out.
void cut(const std::string &text, std::vector<ErrorPage> &pages) {
  std::istringstream lines(text);
  bool isInside = false, isAboutSources = false, isExample = false;
  for (std::string line; std::getline(lines, line);) {
    isAboutSources = line.rfind("Code: ", 0) == 0 || line.rfind("Test: ", 0) == 0 || (isAboutSources && !line.empty());
    if (isAboutSources)
      continue;
    isExample ^= line.rfind("```", 0) == 0;
    if (!isExample && line.rfind('#', 0) == 0) {
      std::string heading = line.substr(std::min(line.find_first_not_of("# "), line.size()));
      size_t end = heading.find(':');
      std::string code = heading.substr(0, end);
      isInside = isCode(code);
      if (isInside)
        pages.push_back({code, end == std::string::npos ? "" : heading.substr(end + 2), ""});
    } else if (isInside && !(line.empty() && pages.back().text.empty())) {
      pages.back().text += line + "\n";
    }
  }
}

void endWithOneBreak(std::string &text) {
  while (text.size() > 1 && text[text.size() - 2] == '\n')
    text.pop_back();
}

std::vector<ErrorPage> readPages() {
  std::vector<ErrorPage> pages, result;
  for (const std::string &text : embeddedPages())
    cut(text, pages);
  for (ErrorPage &page : pages) {
    endWithOneBreak(page.text);
    auto same = std::find_if(result.begin(), result.end(), [&](const ErrorPage &one) { return one.code == page.code; });
    if (same == result.end())
      result.push_back(std::move(page));
    else
      same->text += "\nThe rule " + page.code + ":\n\n" + page.text;
  }
  auto key = [](const ErrorPage &page) { return std::pair(page.code[0], std::stoi(page.code.substr(1))); };
  std::sort(result.begin(), result.end(), [&](const ErrorPage &a, const ErrorPage &b) { return key(a) < key(b); });
  return result;
}

} // namespace

const std::vector<ErrorPage> &errorPages() {
  static const std::vector<ErrorPage> pages = readPages();
  return pages;
}

const ErrorPage *findErrorPage(const std::string &code) {
  std::string capital = code;
  std::transform(capital.begin(), capital.end(), capital.begin(), [](unsigned char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  for (const ErrorPage &page : errorPages())
    if (page.code == capital)
      return &page;
  return nullptr;
}

} // namespace npar::errors
