// Finds the code of a notebook in the events of the JSON parser, which say where each string ends.
#include "tools/lib/foreign/python/Tokens.h"

#include "engine/json/Json.h"
#include "engine/safetensors/CountedText.h"
#include "tools/lib/foreign/EntryList.h"

#include <algorithm>

namespace npar::foreign::python {
namespace {

class CellReader {
public:
  CellReader(const std::string &text, uint32_t file) : text(text), reached(text.data()), file(file) {}

  bool run() {
    const char *begin = text.data(), *end = begin + text.size();
    return Json::sax_parse(engine::CountedText{begin, &reached}, engine::CountedText{end, &reached}, this) && isNotebook;
  }
  std::vector<Line> take() { return std::move(lines); }

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string &) { return true; }
  bool binary(Json::binary_t &) { return false; }
  bool string(std::string &value) {
    if (path == std::vector<std::string>{"cells", "cell_type"})
      isCode = value == "code";
    if (path == std::vector<std::string>{"cells", "source"})
      add(value);
    return true;
  }
  bool key(std::string &name) {
    path.back() = name.substr(0, 40);
    isNotebook = isNotebook || (path.size() == 1 && name == "nbformat");
    return true;
  }
  bool start_object(size_t) {
    path.emplace_back();
    if (path.size() == 2 && path[0] == "cells")
      isCode = true, cell.clear();
    return path.size() <= deepestForeignFile;
  }
  bool end_object() {
    if (path.size() == 2 && path[0] == "cells" && isCode) {
      lines.insert(lines.end(), cell.begin(), cell.end());
      lines.push_back({"", lines.empty() ? dsl::Location() : lines.back().at}); // ends a statement
    }
    path.pop_back();
    return true;
  }
  bool start_array(size_t) { return ++arrays <= deepestForeignFile; }
  bool end_array() {
    --arrays;
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) { return false; }

private:
  /// Adds a string of the source, which is one line or several. The scanner is at its end.
  void add(const std::string &value) {
    for (; counted < reached; ++counted)
      if (*counted == '\n')
        ++line, lineStart = counted + 1;
    const auto last = static_cast<size_t>(reached - lineStart);
    const size_t column = last > value.size() + 1 ? last - value.size() : 1; // nearly, where the string has escapes
    for (size_t begin = 0; begin < value.size();) {
      size_t end = std::min(value.find('\n', begin), value.size());
      cell.push_back({value.substr(begin, end - begin), {file, line, static_cast<uint32_t>(column), 1}});
      begin = end + 1;
    }
  }

  const std::string &text;
  const char *reached;
  uint32_t file;
  std::vector<std::string> path; ///< keys of the objects around, and the last key in the innermost one
  std::vector<Line> lines, cell;
  size_t arrays = 0;
  bool isCode = true, isNotebook = false;
  const char *counted = text.data(), *lineStart = text.data();
  uint32_t line = 1;
};

} // namespace

std::optional<std::vector<Line>> linesOfNotebook(const std::string &text, uint32_t file) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{' || text.find('\0') != std::string::npos)
    return std::nullopt;
  CellReader reader(text, file);
  return reader.run() ? std::optional(reader.take()) : std::nullopt;
}

} // namespace npar::foreign::python
