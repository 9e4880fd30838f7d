// Cuts a file into lines, and reads each as text or as an object.
#include "tools/lib/trained/PromptFile.h"

#include "engine/files/AtomicFile.h"
#include "engine/json/Json.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace npar::trained {

using engine::Result;
using engine::Status;

namespace {

constexpr uint64_t largestFile = 64 << 20; ///< bytes

/// Reads {"prompt": TEXT} or {"tokens": [1, 2, 3]} without a tree of values, so that no nesting is too deep.
class PromptReader {
public:
  explicit PromptReader(PromptLine &line) : line(line) {}

  std::string wrong;
  size_t column = 1;

  bool key(std::string &name) {
    if (!given.empty())
      return fail("a prompt has one key, but '" + given + "' and '" + name + "' are given");
    if (name != "prompt" && name != "tokens")
      return fail("unknown key '" + name + "': a prompt is {\"prompt\": \"TEXT\"} or {\"tokens\": [1, 2, 3]}");
    given = name;
    return true;
  }
  bool string(std::string &value) {
    if (given != "prompt" || line.text)
      return unexpected("a string");
    line.text = std::move(value);
    return true;
  }
  bool number_unsigned(uint64_t value) {
    if (!inList)
      return unexpected("a number");
    if (value > INT32_MAX)
      return fail(fmt::format("token {} is {}, above {}", line.tokens.size() + 1, value, INT32_MAX));
    line.tokens.push_back(static_cast<int32_t>(value));
    return true;
  }
  bool number_integer(int64_t value) { return inList ? noToken(std::to_string(value)) : unexpected("a number"); }
  bool number_float(double, const std::string &text) { return inList ? noToken(text) : unexpected("a number"); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a truth value"); }
  bool binary(std::vector<uint8_t> &) { return unexpected("bytes"); }
  bool start_array(size_t) {
    if (given != "tokens" || inList)
      return unexpected("a list");
    inList = true;
    return true;
  }
  bool end_array() {
    inList = false;
    return true;
  }
  bool start_object(size_t) {
    if (isOpen)
      return unexpected("an object");
    isOpen = true;
    return true;
  }
  bool end_object() { return given.empty() ? fail("a prompt needs the key 'prompt' or 'tokens'") : true; }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) {
    column = position;
    return fail("invalid JSON");
  }

private:
  bool fail(const std::string &what) {
    wrong = what;
    return false;
  }
  bool noToken(const std::string &text) {
    return fail(fmt::format("token {} is {}, but tokens are whole numbers from 0", line.tokens.size() + 1, text));
  }
  bool unexpected(const char *what) {
    if (given.empty())
      return fail(fmt::format("the line is {}, but a prompt is {{\"prompt\": \"TEXT\"}} or {{\"tokens\": [1, 2, 3]}}", what));
    return fail(fmt::format("'{}' has {}, but needs {}", given, what, given == "prompt" ? "a text" : "a list of token numbers"));
  }

  PromptLine &line;
  std::string given; ///< the object's key; empty: not read yet
  bool isOpen = false, inList = false;
};

bool isJsonLines(const std::string &path) {
  constexpr std::string_view ending = ".jsonl";
  return path.size() >= ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

} // namespace

Result<std::vector<PromptLine>> readPromptFile(const std::string &path) {
  TRY(std::vector<uint8_t> bytes, files::readFile(path, largestFile));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  std::vector<PromptLine> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view content = text.substr(at, end - at);
    at = end + 1;
    if (!content.empty() && content.back() == '\r')
      content.remove_suffix(1);
    const size_t number = lines.size() + 1;
    PromptLine &line = lines.emplace_back();
    line.place = fmt::format("{}:{}", path, number);
    if (content.empty())
      return Status::badInput(line.place + ":1: the line is empty, but each line is a prompt: remove it");
    if (!isJsonLines(path)) {
      line.text = std::string(content);
      continue;
    }
    if (PromptReader reader(line); !Json::sax_parse(content.begin(), content.end(), &reader))
      return Status::badInput(fmt::format("{}:{}: {}", line.place, std::max<size_t>(reader.column, 1), reader.wrong));
  }
  if (lines.empty())
    return Status::badInput(path + ":1:1: the file is empty: give one prompt per line");
  return lines;
}

} // namespace npar::trained
