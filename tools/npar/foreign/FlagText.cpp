// Flags out of a shell script, or a command line, and out of the list of arguments that Megatron-LM prints when it starts.
#include "tools/npar/foreign/ForeignFile.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace npar::driver {
namespace {

struct Word {
  std::string text;
  uint32_t line = 1, column = 1;
  bool isQuoted = false, startsLine = false, isCertain = true;
  bool isEnd = false; ///< of a command: what comes next is no value of a flag before it
};

constexpr size_t longest = 4000; ///< of a word, with variables in place

using Variables = std::map<std::string, std::string>;

/// The value of `$((...))` over whole numbers with + - * / from left to right, products first; nothing when it is more than that.
std::optional<int64_t> sumOf(const std::string &text) {
  static const std::regex number("\\s*(\\d{1,9})\\s*([-+*/]?)");
  int64_t sum = 0, product = 1;
  char before = '*', sign = '+';
  std::sregex_iterator at(text.begin(), text.end(), number), end;
  size_t read = 0;
  for (; at != end && static_cast<size_t>(at->position()) == read; ++at) {
    int64_t value = std::atoll((*at)[1].str().c_str());
    read += static_cast<size_t>(at->length());
    if (before == '/' && value == 0)
      return std::nullopt;
    product = before == '/' ? product / value : product * value;
    if (std::abs(product) > int64_t{1} << 40)
      return std::nullopt;
    std::string next = (*at)[2].str();
    before = next.empty() ? ' ' : next.front();
    if (before == '*' || before == '/')
      continue;
    sum += sign == '-' ? -product : product;
    if (before == ' ')
      return read == text.size() ? std::optional(sum) : std::nullopt;
    sign = before, before = '*', product = 1;
  }
  return std::nullopt;
}

/// With the values of variables that the script sets, or defaults it names: `$A`, `${A}`, `${A:-8}`, `$((A * 2))`. Others stay as they
/// stand.
std::string expanded(const std::string &text, const Variables &variables, int depth = 0) {
  static const std::regex reference("\\$(?:\\(\\(([^()]*)\\)\\)|\\{([A-Za-z_]\\w*)(?::?-([^}]*))?\\}|([A-Za-z_]\\w*))");
  static const std::regex name("[A-Za-z_]\\w*");
  if (depth > 8 || text.size() > longest || text.find('$') == std::string::npos)
    return text;
  std::string result;
  auto last = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at) {
    const std::smatch &match = *at;
    result.append(last, match[0].first);
    last = match[0].second;
    if (match[1].matched) {
      std::string sum = expanded(match[1].str(), variables, depth + 1);
      std::string numbers; // inside, a name needs no $
      auto from = sum.cbegin();
      for (std::sregex_iterator part(sum.begin(), sum.end(), name); part != end; ++part) {
        auto variable = variables.find(part->str());
        numbers.append(from, (*part)[0].first);
        numbers += variable == variables.end() ? part->str() : variable->second;
        from = (*part)[0].second;
      }
      numbers.append(from, sum.cend());
      std::optional<int64_t> value = sumOf(numbers);
      result += value ? std::to_string(*value) : match[0].str();
      continue;
    }
    auto known = variables.find(match[2].matched ? match[2].str() : match[4].str());
    if (known != variables.end())
      result += known->second;
    else if (match[3].matched)
      result += expanded(match[3].str(), variables, depth + 1);
    else
      result += match[0].str();
  }
  result.append(last, text.cend());
  return result.size() > longest ? text : result; // each may be twice the one before
}

/// The words of a shell's text, without comments; what stands between `if` and `fi` is not certain.
class Words {
public:
  Words(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) : text(text), file(file), diagnostics(diagnostics) {}

  std::vector<Word> read() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\\' && isLineEnd(at + 1)) {
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
      } else if (c == '$' && text.compare(at, 3, "$((") == 0 && text.find("))", at) != std::string::npos) {
        size_t close = text.find("))", at) + 2;
        one.text += text.substr(at, close - at);
        at = close;
      } else if (c == '$' && text.compare(at, 2, "${") == 0 && text.find('}', at) < text.find('\n', at)) {
        size_t close = text.find('}', at) + 1;
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
  std::vector<Word> words;
  size_t at = 0, lineStart = 0;
  uint32_t line = 1;
  int conditions = 0;
  bool starts = true, isBroken = false;
};

/// Flags that take more than one word; what follows the value of another is none of it.
const std::set<std::string> severalValues = {
    "rampup_batch_size", "cp_comm_type",    "recompute_modules", "data_path",
    "train_data_path",   "valid_data_path", "test_data_path",    "hierarchical_context_parallel_sizes",
    "profile_ranks"};

bool isFlag(const std::string &text) {
  return text.size() > 2 && text[0] == '-' && text[1] == '-' && std::isalpha(static_cast<unsigned char>(text[2]));
}

/// The script of Megatron-LM that gets the flags.
bool isProgram(const std::string &text) {
  return text.find("pretrain_") != std::string::npos && text.size() < 200 && text.rfind(".py") == text.size() - 3 &&
         text.find_first_of(" \t\n") == std::string::npos;
}

std::string keyOf(const std::string &flag) {
  std::string key = flag.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// A quoted text of several words, as scripts keep flags in: taken apart, at the place of the whole.
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
      all.push_back(word);
      all.back().text = expanded(part, variables), all.back().isQuoted = false, all.back().isEnd = false;
    }
    all.back().isEnd = word.isEnd;
  }
  words = std::move(all);
}

} // namespace

std::vector<ForeignEntry> readFlags(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  static const std::regex assignment("([A-Za-z_]\\w{0,60})(\\+?)=([^]*)");
  std::vector<Word> words = Words(text, file, diagnostics).read();
  Variables variables;
  std::vector<Word> rest;
  for (Word &word : words) {
    std::smatch match;
    std::string start = word.text.substr(0, longest);
    if (!isFlag(word.text) && variables.size() < 1000 && std::regex_match(start, match, assignment)) {
      std::string value = match[3].str();
      size_t first = value.find_first_not_of(" \t\r\n");
      if (first != std::string::npos && value.compare(first, 2, "--") == 0) {
        word.text = value.substr(first), word.isQuoted = true;
        if (word.text.find_first_of(" \t\r\n") == std::string::npos)
          word.text += " "; // one flag alone is a list too
        rest.push_back(std::move(word));
        continue;
      }
      if (word.isCertain || variables.count(match[1].str()) == 0)
        variables[match[1].str()] = expanded(value, variables);
      continue;
    }
    rest.push_back(std::move(word));
  }
  unfold(rest, variables);

  std::vector<ForeignEntry> entries;
  for (size_t i = 0; i < rest.size(); ++i) {
    const Word &word = rest[i];
    if (isProgram(word.text)) {
      auto before = std::find_if(entries.begin(), entries.end(), [](const ForeignEntry &entry) { return entry.key.empty(); });
      if (before != entries.end())
        entries.erase(before);
      entries.push_back({"", word.text, {file, word.line, word.column, static_cast<uint32_t>(word.text.size())}});
    }
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
    if (entry.value.empty())
      entry.value = "true";
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<ForeignEntry> readDump(const std::string &text, uint32_t file) {
  std::vector<ForeignEntry> entries;
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
    ForeignEntry entry;
    entry.key = line.substr(start, dots - start);
    entry.value = line.substr(end + 1);
    entry.at = {file, number, static_cast<uint32_t>(start) + 1, static_cast<uint32_t>(entry.key.size())};
    if (entry.value == "True" || entry.value == "False")
      entry.value = entry.value == "True" ? "true" : "false";
    if (!entry.key.empty() && entry.value != "None" && !entry.value.empty())
      entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace npar::driver
