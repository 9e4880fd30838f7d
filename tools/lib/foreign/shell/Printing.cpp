// One function per command.
#include "tools/lib/foreign/shell/Printing.h"

#include "tools/lib/foreign/shell/Arithmetic.h"

#include <algorithm>
#include <filesystem>

namespace npar::foreign::shell {
namespace {

using Words = std::vector<Text>;

/// True if all words are known.
bool areKnown(const Words &words) {
  return std::none_of(words.begin(), words.end(), [](const Text &word) { return word.unknown() != nullptr; });
}

std::optional<int64_t> numberOf(const Text &text) {
  const std::string &word = text.str();
  size_t sign = !word.empty() && word[0] == '-' ? 1 : 0;
  if (text.unknown() || word.size() == sign || word.size() > 12 || word.find_first_not_of("0123456789", sign) != std::string::npos)
    return std::nullopt;
  return std::stoll(word);
}

/// Appends a text in which `\n` and the like stand for bytes.
bool appendEscaped(Text &out, const Text &text) {
  const std::string &all = text.str();
  constexpr std::string_view escapes = "nt\\\"'", meanings = "\n\t\\\"'";
  for (size_t i = 0; i < all.size(); ++i) {
    size_t known = all[i] == '\\' && i + 1 < all.size() ? escapes.find(all[i + 1]) : std::string_view::npos;
    if (all[i] == '\\' && i + 1 < all.size() && known == std::string_view::npos)
      return false;
    if (known == std::string_view::npos) {
      out.append(text.slice(i, i + 1));
    } else {
      out.append(meanings.substr(known, 1), text.originAt(i));
      ++i;
    }
  }
  return true;
}

std::optional<Text> echo(const Words &words, Origin at) {
  size_t first = 1;
  bool isEscaped = false, hasEnd = true;
  for (; first < words.size(); ++first) {
    const std::string &word = words[first].str();
    if (word.size() < 2 || word[0] != '-' || word.find_first_not_of("neE", 1) != std::string::npos || words[first].unknown())
      break;
    for (char c : word.substr(1))
      hasEnd = hasEnd && c != 'n', isEscaped = c == 'e' || (isEscaped && c != 'E');
  }
  Text out;
  for (size_t i = first; i < words.size(); ++i) {
    if (i > first)
      out.append(" ", at);
    if (!isEscaped)
      out.append(words[i]);
    else if (!appendEscaped(out, words[i]))
      return std::nullopt;
  }
  if (hasEnd)
    out.append("\n", at);
  return out;
}

std::optional<Text> seq(const Words &words, Environment &environment, Origin at) {
  std::vector<int64_t> numbers;
  for (size_t i = 1; i < words.size(); ++i) {
    std::optional<int64_t> number = numberOf(words[i]);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() > 3 || (numbers.size() == 3 && numbers[1] == 0))
    return std::nullopt;
  int64_t first = numbers.size() > 1 ? numbers[0] : 1, step = numbers.size() == 3 ? numbers[1] : 1, last = numbers.back();
  Text out;
  for (int64_t i = first; step > 0 ? i <= last : i >= last; i += step) {
    if (!environment.spend(10, at))
      return std::nullopt;
    out.append(std::to_string(i) + "\n", at);
  }
  return out;
}

/// `expr 2 \* 3`, or the sum on the input of bc. Whole numbers only.
std::optional<Text> computed(const Text &sum, Environment &environment, Origin at) {
  if (sum.unknown())
    return Text::unknown("$(" + sum.str().substr(0, 60) + ")", sum.unknown());
  if (sum.str().find_first_not_of("0123456789+-*/%() \t\n") != std::string::npos)
    return std::nullopt;
  Number number = sumOf(sum, environment, at);
  return number.unknown ? std::nullopt : std::optional<Text>(Text(std::to_string(number.value) + "\n", at));
}

std::optional<Text> pathPart(const Words &words, bool isFolder, Origin at) {
  if (words.size() < 2 || words.size() > 3 || !areKnown(words) || words[1].empty() || words[1].str()[0] == '-')
    return std::nullopt;
  std::string path = words[1].str();
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  size_t slash = path.rfind('/');
  if (isFolder)
    return Text((slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash)) + "\n", at);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1), end = words.size() == 3 ? words[2].str() : "";
  if (end.size() < name.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
    name.resize(name.size() - end.size());
  return Text(name + "\n", at);
}

std::optional<Text> realPath(const Words &words, Origin at) {
  const std::string &path = words.back().str();
  if (words.size() < 2 || words.back().unknown() || path.empty() || path[0] != '/')
    return std::nullopt;
  return Text(std::filesystem::path(path).lexically_normal().string() + "\n", at);
}

std::optional<Text> countLines(const Words &words, const Text *input, Origin at) {
  if (words.size() != 2 || words[1].str() != "-l" || !input || input->unknown())
    return std::nullopt;
  return Text(std::to_string(std::count(input->str().begin(), input->str().end(), '\n')) + "\n", at);
}

/// `tr ',' ' '`: one byte for another.
std::optional<Text> translated(const Words &words, const Text *input) {
  if (words.size() != 3 || !input || !areKnown(words))
    return std::nullopt;
  auto byteOf = [](const std::string &word) { return word == "\\n" ? '\n' : word == "\\t" ? '\t' : word.size() == 1 ? word[0] : '\0'; };
  char from = byteOf(words[1].str()), to = byteOf(words[2].str());
  if (from == '\0' || to == '\0')
    return std::nullopt;
  Text out;
  const std::string &all = input->str();
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && (all[end] != from || input->unknownAt(end)))
      ++end;
    out.append(input->slice(begin, end));
    if (end < all.size())
      out.append(std::string_view(&to, 1), input->originAt(end));
    begin = end + 1;
  }
  return out;
}

} // namespace

std::optional<Text> formatted(const Text &format, const Words &words, size_t first, Environment &environment) {
  if (format.unknown())
    return std::nullopt;
  const std::string &all = format.str();
  Text out;
  size_t next = first;
  do {
    size_t before = next;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!environment.spend(1, format.originAt(0)) || !environment.fits(out.size(), format.originAt(0)))
        return std::nullopt;
      if (all[i] != '%') {
        size_t end = std::min(all.find('%', i), all.size());
        if (!appendEscaped(out, format.slice(i, end)))
          return std::nullopt;
        i = end - 1;
        continue;
      }
      char c = ++i < all.size() ? all[i] : '\0';
      size_t width = 0;
      for (bool isPadded = c == '0'; isPadded && c >= '0' && c <= '9' && width < 100; c = ++i < all.size() ? all[i] : '\0')
        width = width * 10 + static_cast<size_t>(c - '0');
      Text word = c != '%' && next < words.size() ? words[next] : Text();
      if (c == '%') {
        out.append("%", format.originAt(i));
        continue;
      }
      if (c != 's' && c != 'd' && c != 'i')
        return std::nullopt;
      ++next;
      if (c == 's' && width == 0) {
        out.append(word);
        continue;
      }
      std::optional<int64_t> number = word.empty() ? 0 : numberOf(word);
      if (word.unknown())
        out.append(word);
      else if (!number || c == 's')
        return std::nullopt;
      else
        out.append(std::string(width > word.size() ? width - word.size() : 0, '0') + std::to_string(*number), word.originAt(0));
    }
    if (next == before)
      break; // the format takes no words
  } while (next < words.size());
  return out;
}

std::optional<Text> printedBy(const Words &words, const Text *input, Environment &environment, Origin at) {
  const std::string &name = words[0].str();
  size_t size = 0;
  for (const Text &word : words)
    size += word.size();
  if (!environment.spend(size, at) || !environment.fits(size, at))
    return std::nullopt;
  if (name == "echo")
    return echo(words, at);
  if (name == "printf" && words.size() > 1)
    return formatted(words[1], words, 2, environment);
  if (name == "seq")
    return seq(words, environment, at);
  if (name == "dirname" || name == "basename")
    return pathPart(words, name == "dirname", at);
  if (name == "realpath" || name == "readlink")
    return realPath(words, at);
  if (name == "wc")
    return countLines(words, input, at);
  if (name == "tr")
    return translated(words, input);
  if (name == "bc" && words.size() == 1 && input)
    return computed(*input, environment, at);
  if (name == "expr") {
    Text sum;
    for (size_t i = 1; i < words.size(); ++i) {
      sum.append(words[i]);
      sum.append(" ", at);
    }
    return computed(sum, environment, at);
  }
  return std::nullopt;
}

} // namespace npar::foreign::shell
