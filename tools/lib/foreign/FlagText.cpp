// Extracts flags from a shell script or a command line, and from the list of arguments that Megatron-LM prints when it starts.
#include "tools/lib/foreign/EntryList.h"
#include "tools/lib/foreign/ShellText.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <sstream>

namespace npar::foreign {
namespace {

struct Word {
  std::string text;
  uint32_t line = 1, column = 1;
  bool isQuoted = false, startsLine = false, isCertain = true;
  bool isEnd = false; ///< last word of a command: the next word is not a value of its last flag
};

constexpr size_t mostWords = 200'000; ///< in a script

/// Finds the next occurrence of `word`, for callers that only move forward: each search starts at the last one's result.
class NextPlace {
public:
  NextPlace(const std::string &text, const char *word) : text(text), word(word), found(text.find(word)) {}
  size_t from(size_t at) {
    if (found < at)
      found = text.find(word, at);
    return found;
  }

private:
  const std::string &text;
  const char *word;
  size_t found;
};

/// Splits shell text into words, without comments. Words between `if` and `fi`, or `case` and `esac`, are marked as not certain.
class Words {
public:
  Words(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics)
      : text(text), file(file), diagnostics(diagnostics), closeOfSum(text, "))"), closeOfName(text, "}"), endOfLine(text, "\n") {}

  std::vector<Word> read() {
    while (at < text.size()) {
      if (words.size() > mostWords) {
        diagnostics.error({file, line, static_cast<uint32_t>(at - lineStart) + 1, 1},
                          "this script has more than " + std::to_string(mostWords) + " words, the most that are read");
        return {};
      }
      char c = text[at];
      if (c == '\\' && at + 1 == text.size()) {
        ++at; // no line to continue
      } else if (c == '\\' && isLineEnd(at + 1)) {
        at += text[at + 1] == '\r' ? 2 : 1;
        newLine();
      } else if (c == '\n') {
        end();
        newLine();
        starts = true;
      } else if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
        end();
        ++at;
        starts = c != '(' && c != ')';
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at;
      } else if (c == '#') {
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else {
        word();
      }
    }
    end();
    return std::move(words);
  }

private:
  bool isLineEnd(size_t place) const {
    return place < text.size() && (text[place] == '\n' || (text[place] == '\r' && place + 1 < text.size() && text[place + 1] == '\n'));
  }
  void newLine() {
    ++at;
    ++line;
    lineStart = at;
  }
  void end() {
    if (!words.empty())
      words.back().isEnd = true;
  }

  void word() {
    Word one;
    one.line = line, one.column = static_cast<uint32_t>(at - lineStart) + 1, one.startsLine = starts;
    starts = false;
    while (at < text.size()) {
      char c = text[at];
      if (c == '"' || c == '\'') {
        quoted(one, c);
      } else if (c == '$' && text.compare(at, 3, "$((") == 0 && closeOfSum.from(at) != std::string::npos) {
        size_t close = closeOfSum.from(at) + 2;
        one.text += text.substr(at, close - at);
        at = close;
      } else if (c == '$' && text.compare(at, 2, "${") == 0 && closeOfName.from(at) < endOfLine.from(at)) {
        size_t close = closeOfName.from(at) + 1;
        one.text += text.substr(at, close - at);
        at = close;
      } else if (c == '\\' && at + 1 < text.size() && !isLineEnd(at + 1)) {
        one.text += text[at + 1];
        at += 2;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
        break;
      } else {
        one.text += c;
        ++at;
      }
    }
    if (one.startsLine && !one.isQuoted) {
      conditions += one.text == "if" || one.text == "case" ? 1 : one.text == "fi" || one.text == "esac" ? -1 : 0;
      conditions = std::max(conditions, 0);
    }
    one.isCertain = conditions == 0;
    words.push_back(std::move(one));
  }

  void quoted(Word &one, char quote) {
    size_t open = at++;
    uint32_t openLine = line, openColumn = static_cast<uint32_t>(open - lineStart) + 1;
    one.isQuoted = true;
    for (; at < text.size() && text[at] != quote; ++at) {
      if (text[at] == '\\' && quote == '"' && at + 1 < text.size()) {
        one.text += isLineEnd(at + 1) ? ' ' : text[at + 1];
        ++at;
        if (text[at] == '\r')
          ++at;
      } else {
        one.text += text[at];
      }
      if (text[at] == '\n')
        ++line, lineStart = at + 1;
    }
    if (at == text.size() && !isBroken)
      diagnostics.error({file, openLine, openColumn, 1}, std::string("this quote (") + quote + ") has no end"), isBroken = true;
    ++at;
  }

  const std::string &text;
  uint32_t file;
  dsl::Diagnostics &diagnostics;
  NextPlace closeOfSum, closeOfName, endOfLine;
  std::vector<Word> words;
  size_t at = 0, lineStart = 0;
  uint32_t line = 1;
  int conditions = 0;
  bool starts = true, isBroken = false;
};

/// Flags that take several words. All other flags take at most one.
const std::set<std::string> severalValues = {
    "rampup_batch_size", "cp_comm_type",    "recompute_modules", "data_path",
    "train_data_path",   "valid_data_path", "test_data_path",    "hierarchical_context_parallel_sizes",
    "profile_ranks"};

bool isFlag(const std::string &text) {
  return text.size() > 2 && text[0] == '-' && text[1] == '-' && std::isalpha(static_cast<unsigned char>(text[2]));
}

/// True for the name of a Megatron-LM script that takes the flags, such as pretrain_gpt.py.
bool isProgram(const std::string &text) {
  return text.find("pretrain_") != std::string::npos && text.size() < 200 && text.rfind(".py") == text.size() - 3 &&
         text.find_first_of(" \t\n") == std::string::npos;
}

std::string keyOf(const std::string &flag) {
  std::string key = flag.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// Expands variables, and splits quoted strings of several flags into words. Each word gets the location of its string.
void unfold(std::vector<Word> &words, const Variables &variables) {
  std::vector<Word> all;
  for (Word &word : words) {
    size_t first = word.text.find_first_not_of(" \t\r\n");
    bool isList = word.isQuoted && first != std::string::npos && word.text.compare(first, 2, "--") == 0 &&
                  word.text.find_first_of(" \t\r\n", first) != std::string::npos;
    if (!isList) {
      word.text = expanded(word.text, variables);
      all.push_back(std::move(word));
      continue;
    }
    std::istringstream parts(word.text);
    for (std::string part; parts >> part;) {
      if (part.size() > 1 && (part.front() == '\'' || part.front() == '"') && part.back() == part.front())
        part = part.substr(1, part.size() - 2);
      if (part == "\\")
        continue;
      all.push_back({expanded(part, variables), word.line, word.column, false, word.startsLine, word.isCertain, false});
    }
    all.back().isEnd = word.isEnd;
  }
  words = std::move(all);
}

} // namespace

std::vector<ForeignEntry> readFlags(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  std::vector<Word> words = Words(text, file, diagnostics).read();
  Variables variables;
  std::vector<Word> rest;
  for (Word &word : words) {
    size_t name = isFlag(word.text) || variables.size() == mostVariables ? 0 : lengthOfAssigned(word.text);
    if (name > 0) {
      std::string value = word.text.substr(word.text.find('=') + 1);
      size_t first = value.find_first_not_of(" \t\r\n");
      if (first != std::string::npos && value.compare(first, 2, "--") == 0) {
        word.text = value.substr(first), word.isQuoted = true;
        if (word.text.find_first_of(" \t\r\n") == std::string::npos)
          word.text += " "; // makes a single flag a list too
        rest.push_back(std::move(word));
        continue;
      }
      if (std::string variable = word.text.substr(0, name); word.isCertain || variables.count(variable) == 0)
        variables[variable] = expanded(value, variables);
      continue;
    }
    rest.push_back(std::move(word));
  }
  unfold(rest, variables);

  EntryList entries(file, diagnostics);
  std::optional<ForeignEntry> program; // the last script named
  for (size_t i = 0; i < rest.size() && entries.good(); ++i) {
    const Word &word = rest[i];
    if (isProgram(word.text))
      program = {"", word.text, entries.at(word.line, word.column, word.text.size())};
    if (!isFlag(word.text))
      continue;
    ForeignEntry entry;
    entry.isCertain = word.isCertain;
    entry.at = {file, word.line, word.column, static_cast<uint32_t>(std::min<size_t>(word.text.size(), 200))};
    size_t equals = word.text.find('=');
    entry.key = keyOf(word.text.substr(0, equals));
    entry.value = equals == std::string::npos ? "" : word.text.substr(equals + 1);
    bool isList = severalValues.count(entry.key) != 0;
    for (bool ended = word.isEnd; equals == std::string::npos && !ended && i + 1 < rest.size() && !isFlag(rest[i + 1].text);) {
      const std::string &next = rest[++i].text;
      ended = rest[i].isEnd || !isList;
      if (next.find("[@]}") != std::string::npos || next.find("[*]}") != std::string::npos || (!entry.value.empty() && next[0] == '$'))
        break;
      entry.value += (entry.value.empty() ? "" : " ") + next;
    }
    entries.add(entry.key, entry.value.empty() ? "true" : entry.value, entry.at, entry.isCertain);
  }
  if (program)
    entries.add(program->key, program->value, program->at);
  return entries.take();
}

namespace {

/// Calls `take(key, value, line, column)` for each line of a list of arguments, until it returns false.
template <typename Take> void eachArgument(const std::string &text, Take take) {
  std::istringstream lines(text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    size_t dots = line.find(" ..");
    size_t end = dots == std::string::npos ? dots : line.find_first_not_of('.', dots + 1);
    if (dots == std::string::npos || dots == 0 || end == std::string::npos || line[end] != ' ')
      continue;
    size_t start = line.find_last_of(" \t", dots - 1);
    start = start == std::string::npos ? 0 : start + 1;
    std::string key = line.substr(start, dots - start), value = line.substr(end + 1);
    if (value == "True" || value == "False")
      value = value == "True" ? "true" : "false";
    if (!key.empty() && value != "None" && !value.empty() && !take(key, value, number, start + 1))
      return;
  }
}

} // namespace

bool isDump(const std::string &text) {
  size_t count = 0;
  eachArgument(text, [&](const std::string &, const std::string &, uint32_t, size_t) { return ++count < 3; });
  return count == 3;
}

std::vector<ForeignEntry> readDump(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  EntryList entries(file, diagnostics);
  eachArgument(text, [&](const std::string &key, const std::string &value, uint32_t line, size_t column) {
    return entries.add(key, value, entries.at(line, column, key.size()));
  });
  return entries.take();
}

} // namespace npar::foreign
