// JSON as a flat list of settings with their places, made from the parser's events without a tree.
#include "tools/lib/foreign/EntryList.h"

#include "engine/json/Json.h"
#include "engine/safetensors/CountedText.h"

#include <algorithm>
#include <set>

namespace npar::foreign {
namespace {

class JsonFlattener {
public:
  JsonFlattener(const std::string &text, EntryList &entries) : text(text), reached(text.data()), entries(entries) {}

  void run() {
    const char *begin = text.data(), *end = begin + text.size();
    if (size_t zero = text.find('\0'); zero != std::string::npos) // which the scanner takes for the end of the text
      reached = begin + zero, fail("this is no JSON: a zero byte");
    else
      Json::sax_parse(engine::CountedText{begin, &reached}, engine::CountedText{end, &reached}, this);
  }

  bool null() { return scalar(""); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(int64_t value) { return scalar(std::to_string(value)); }
  bool number_unsigned(uint64_t value) { return scalar(std::to_string(value)); }
  bool number_float(double, const std::string &written) { return scalar(written); }
  bool string(std::string &value) { return scalar(value); }
  bool binary(Json::binary_t &) { return false; }

  bool start_object(size_t) {
    if (!enter())
      return false;
    if (inList())
      addToList("...");
    open.push_back({open.empty() ? "" : open.back().path, {}, inList() ? Place::Skipped : Place::Object, "", {}});
    return true;
  }
  bool end_object() {
    open.pop_back();
    return true;
  }
  bool start_array(size_t) {
    if (!enter())
      return false;
    if (open.empty())
      return fail("this is no object of JSON");
    if (inList())
      addToList("...");
    open.push_back({open.back().path, {}, inList() ? Place::Skipped : Place::List, "", open.back().at});
    return true;
  }
  bool end_array() {
    Level level = std::move(open.back());
    open.pop_back();
    return level.place == Place::Skipped || entries.add(level.path, level.list, level.at);
  }

  bool key(std::string &name) {
    Level &level = open.back();
    level.at = placeOf(startOfText());
    if (!level.names.insert(name).second)
      return entries.refuse(level.at, "the key '" + name.substr(0, 60) + "' is there twice");
    return level.place == Place::Skipped || entries.join(open.size() > 1 ? open[open.size() - 2].path : "", name, level.at, level.path);
  }

  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &error) {
    std::string message = error.what(); // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    size_t end = message.find(": ");
    end = end == std::string::npos ? message.find("] ") : end;
    message = end == std::string::npos ? message : message.substr(end + 2);
    reached = text.data() + std::min(position, text.size());
    return fail("this is no JSON: " + message.substr(0, 200));
  }

private:
  enum class Place { Object, List, Skipped }; ///< Skipped: inside of a list
  struct Level {
    std::string path; ///< path of the next value, or of the list
    std::set<std::string> names;
    Place place;
    std::string list; ///< its words
    dsl::Location at; ///< of the key
  };

  bool inList() const { return !open.empty() && open.back().place != Place::Object; }

  void addToList(const std::string &word) {
    Level &level = open.back();
    if (level.place == Place::List && level.list.size() <= longestForeignList)
      level.list += (level.list.empty() ? "" : " ") + word.substr(0, longestForeignList);
  }

  bool enter() { return entries.enter(open.size(), open.empty() ? entries.at(1, 1) : open.back().at); }

  bool scalar(const std::string &word) {
    if (!enter())
      return false;
    if (open.empty())
      return fail("this is no object of JSON");
    if (inList()) {
      addToList(word.empty() ? "..." : word);
      return true;
    }
    return entries.add(open.back().path, word, open.back().at);
  }

  bool fail(const std::string &message) { return entries.refuse(placeOf(std::max(text.data(), reached - 1)), message); }

  /// Returns the begin of the string that the scanner has just read: quotes inside of it follow a backslash.
  const char *startOfText() const {
    const char *begin = text.data(), *at = reached - 1; // its end
    while (at > begin) {
      if (*--at != '"')
        continue;
      const char *slash = at;
      while (slash > begin && slash[-1] == '\\')
        --slash;
      if ((at - slash) % 2 == 0)
        break;
    }
    return at;
  }

  /// Returns line and column. The scanner only moves forward, so each line is counted once.
  dsl::Location placeOf(const char *at) {
    for (; counted < at; ++counted)
      if (*counted == '\n')
        ++line, lineStart = counted + 1;
    return entries.at(line, at < lineStart ? 1 : static_cast<size_t>(at - lineStart) + 1);
  }

  const std::string &text;
  const char *reached;
  EntryList &entries;
  std::vector<Level> open;
  const char *counted = text.data(), *lineStart = text.data();
  size_t line = 1;
};

} // namespace

std::vector<ForeignEntry> readJson(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  EntryList entries(file, diagnostics);
  JsonFlattener(text, entries).run();
  return entries.take();
}

} // namespace npar::foreign
