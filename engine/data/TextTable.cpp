// Cuts a file into rows and a row into fields.
#include "engine/data/TextTable.h"

#include "engine/data/NumberText.h"
#include "engine/json/Json.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace npar::engine {
namespace {

constexpr size_t chunkBytes = 1 << 20;
constexpr char quote = '"';

bool isTable(DataFormat format) { return format == DataFormat::Csv || format == DataFormat::Tsv; }
char separatorOf(DataFormat format) { return format == DataFormat::Tsv ? '\t' : ','; }

/// Finds the ends of rows in bytes that come in chunks.
class RowEnds {
public:
  explicit RowEnds(DataFormat format) : quotes(format == DataFormat::Csv), separator(separatorOf(format)) {}
  /// The first byte at or after `from` that ends a row: a line feed outside of quotes. `text.size()` without one.
  size_t find(std::string_view text, size_t from) {
    if (!quotes) {
      const size_t end = text.find('\n', from);
      return end == std::string_view::npos ? text.size() : end;
    }
    for (size_t i = from; i < text.size(); ++i) {
      const char c = text[i];
      const bool wasInside = state == State::Inside;
      if (c == quote && state == State::Begin)
        state = State::Inside, openedAt = lines;
      else if (c == quote)
        state = wasInside ? State::Closed : state == State::Closed ? State::Inside : state; // a doubled quote opens again
      else if (!wasInside)
        state = c == separator || c == '\n' ? State::Begin : State::Within;
      if (c == '\n') {
        if (!wasInside)
          return i;
        ++lines;
      }
    }
    return text.size();
  }
  /// Begins the next row.
  void next() { lines = 0, state = State::Begin; }
  bool isOpen() const { return state == State::Inside; }
  int64_t inside() const { return lines; }      ///< line breaks within the row's quotes so far
  int64_t openLine() const { return openedAt; } ///< line of the row in which the last quote opens, from 0

private:
  enum class State { Begin, Within, Inside, Closed };
  bool quotes;
  char separator;
  State state = State::Begin;
  int64_t lines = 0, openedAt = 0;
};

Result<std::vector<std::string>> cutQuoted(std::string_view bytes, char separator) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < bytes.size();) {
    if (bytes[i] == separator) {
      fields.emplace_back();
      ++i;
      continue;
    }
    if (bytes[i] != quote) {
      const size_t end = std::min(bytes.find(separator, i), bytes.size());
      fields.back() = bytes.substr(i, end - i);
      i = end;
      continue;
    }
    for (++i;; ++i) {
      if (i >= bytes.size())
        return Status::badInput("a quote is never closed");
      if (bytes[i] != quote)
        fields.back() += bytes[i];
      else if (i + 1 < bytes.size() && bytes[i + 1] == quote)
        fields.back() += bytes[i++];
      else
        break;
    }
    if (++i < bytes.size() && bytes[i] != separator)
      return Status::badInput("there is text after a closing quote\nnpar: help: double the quotes within a quoted field: \"\"");
  }
  return fields;
}

std::vector<std::string> cut(std::string_view bytes, char separator) {
  std::vector<std::string> fields;
  for (size_t at = 0;;) {
    const size_t end = std::min(bytes.find(separator, at), bytes.size());
    fields.emplace_back(bytes.substr(at, end - at));
    if (end == bytes.size())
      return fields;
    at = end + 1;
  }
}

/// A value of JSON as text. JSON does not distinguish 1 from 1.0, so whole numbers have no point.
std::string textOf(const Json &value) {
  if (value.is_string())
    return value.get<std::string>();
  constexpr double exact = int64_t{1} << 53;
  if (const double number = value.is_number_float() ? value.get<double>() : 0.5; std::abs(number) < exact && number == std::trunc(number))
    return std::to_string(static_cast<int64_t>(number));
  return value.dump();
}

/// The members of an object that are no lists or objects; `nested`: the names of the others.
Result<Json> parseObject(std::string_view bytes, std::vector<std::string> &nested) {
  std::string key;
  auto keep = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::key && depth == 1)
      key = parsed.get<std::string>();
    const bool isTree = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (isTree && depth == 1)
      nested.push_back(key);
    return !isTree || depth == 0; // keeps nothing of deeper levels
  };
  Json object = Json::parse(bytes.begin(), bytes.end(), keep, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Status::badInput("this is no JSON object\nnpar: help: write one object in each line: {\"text\": \"...\", \"label\": 1}");
  return object;
}

/// Names for messages: 'label', 'review'.
std::string quotedNames(const std::vector<std::string> &names) {
  constexpr size_t most = 20;
  std::string text;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return text + (names.size() > most ? " and " + number(static_cast<int64_t>(names.size() - most)) + " more" : "");
}

std::string fieldsText(size_t count) { return number(static_cast<int64_t>(count)) + (count == 1 ? " field" : " fields"); }

} // namespace

Status TextTable::at(int64_t line, const Status &status) const {
  return status.ok() ? status : Status(status.code(), path + ":" + number(line) + ": " + status.message());
}

Status TextTable::eachRow(const std::function<Result<bool>(std::string_view bytes, const Place &place)> &row) const {
  RowEnds ends(format);
  std::string waiting, chunk;
  Place place;
  place.line = 1;
  auto emit = [&]() -> Result<bool> {
    std::string_view bytes = waiting;
    if (!bytes.empty() && bytes.back() == '\r')
      bytes.remove_suffix(1);
    place.size = static_cast<uint32_t>(bytes.size());
    if (bytes.empty() && format != DataFormat::Lines)
      return true;
    const Utf8Extent extent = utf8Extent(bytes);
    if (extent.end < bytes.size()) {
      static constexpr char digits[] = "0123456789abcdef";
      const auto byte = static_cast<uint8_t>(bytes[extent.end]);
      return at(place.line,
                Status::badInput(std::string("this is not UTF-8: 0x") + digits[byte >> 4] + digits[byte & 15] + " at byte " +
                                 number(static_cast<int64_t>(extent.end)) +
                                 " of the row\nnpar: help: convert the file, from GB18030 for example: iconv -f GB18030 -t UTF-8 "
                                 "FILE > NEW"));
    }
    return row(bytes, place);
  };
  for (uint64_t offset = 0; offset < file.size();) {
    chunk.resize(static_cast<size_t>(std::min<uint64_t>(chunkBytes, file.size() - offset)));
    TRY_STATUS(file.read(offset, chunk.size(), chunk.data()));
    std::string_view text = chunk;
    size_t from = 0;
    if (offset == 0 && text.substr(0, 3) == "\xef\xbb\xbf")
      from = 3, place.begin = 3;
    if (offset == 0 && (text.substr(0, 2) == "\xff\xfe" || text.substr(0, 2) == "\xfe\xff"))
      return at(1, Status::badInput("the file is UTF-16\nnpar: help: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"));
    while (from < text.size()) {
      const size_t end = ends.find(text, from);
      waiting += text.substr(from, end - from);
      if (waiting.size() > longestRow)
        return at(place.line,
                  Status::badInput(
                      "the row that begins here has more than " + number(longestRow) + " bytes" +
                      (ends.isOpen() ? ": line " + number(place.line + ends.openLine()) + " opens a quote that is not closed" : "")));
      from = end;
      if (end == text.size())
        break;
      TRY(const bool goesOn, emit());
      if (!goesOn)
        return {};
      if (place.line + ends.inside() + 1 > int64_t{UINT32_MAX})
        return Status::badInput("'" + path + "' has more than " + number(UINT32_MAX) + " lines");
      place.line += static_cast<uint32_t>(ends.inside()) + 1;
      place.begin = offset + ++from;
      ends.next();
      waiting.clear();
    }
    offset += chunk.size();
  }
  if (ends.isOpen())
    return at(place.line + ends.openLine(), Status::badInput("a quote is opened here and never closed"));
  if (!waiting.empty()) {
    TRY(const bool ignored, emit());
    static_cast<void>(ignored);
  }
  return {};
}

Status TextTable::takeHeader(const std::vector<std::string> &names, const TextColumns &columns) {
  width = names.size();
  for (const std::string &wanted : columns.wanted) {
    if (columns.numbered) {
      const auto place = static_cast<size_t>(std::stoul(wanted));
      if (place > width)
        return Status::badInput("there is no column " + wanted + ": the row has " + fieldsText(width));
      indices.push_back(place - 1);
      continue;
    }
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      return Status::badInput("there is no column '" + wanted + "'\nnpar: help: the columns are " + quotedNames(names) +
                              "; a file without names has numbered columns");
    if (std::find(found + 1, names.end(), wanted) != names.end())
      return Status::badInput("two columns are named '" + wanted + "'");
    indices.push_back(static_cast<size_t>(found - names.begin()));
  }
  return {};
}

/// `all`: every field of a table's row.
Result<TextFields> TextTable::fieldsOf(std::string_view bytes, const TextColumns &columns, std::vector<std::string> &all) const {
  if (format == DataFormat::Lines)
    return TextFields(columns.wanted.size(), std::string(bytes));
  if (format == DataFormat::JsonLines) {
    std::vector<std::string> nested;
    TRY(const Json object, parseObject(bytes, nested));
    TextFields fields;
    for (const std::string &wanted : columns.wanted) {
      if (std::find(nested.begin(), nested.end(), wanted) != nested.end())
        return Status::badInput("the value of '" + wanted + "' is a list or an object: it must be a text or a number");
      const auto found = object.find(wanted);
      if (found == object.end() || found->is_null())
        fields.emplace_back();
      else
        fields.emplace_back(textOf(*found));
    }
    return fields;
  }
  if (format == DataFormat::Csv) {
    TRY(all, cutQuoted(bytes, separatorOf(format)));
  } else {
    all = cut(bytes, separatorOf(format));
  }
  if (width && all.size() != width)
    return Status::badInput("this row has " + fieldsText(all.size()) + ", the first has " + number(static_cast<int64_t>(width)) +
                            (format == DataFormat::Csv ? "\nnpar: help: put a text with commas in quotes"
                                                       : "\nnpar: help: a text in a TSV file has no tabs and line breaks"));
  TextFields fields;
  for (size_t index : indices)
    fields.emplace_back(all[index]);
  return fields;
}

Status TextTable::scan(const TextColumns &columns, const Visit &visit) {
  chosen = columns;
  if (columns.numbered && format == DataFormat::JsonLines)
    return Status::badInput("'" + path + "' has JSON objects, whose members have names: give the columns by name");
  if (format == DataFormat::Lines)
    for (const std::string &wanted : columns.wanted)
      if (wanted != columns.wanted[0])
        return Status::badInput("'" + path + "' has one text in each line, and two columns are needed, '" + columns.wanted[0] + "' and '" +
                                wanted + "'\nnpar: help: give a .csv, .tsv or .jsonl file");
  bool isFirst = true;
  std::vector<bool> found(columns.wanted.size());
  std::string members;
  TRY_STATUS(eachRow([&](std::string_view bytes, const Place &place) -> Result<bool> {
    std::vector<std::string> all;
    auto fail = [&](const Status &status) { return at(place.line, status); };
    if (std::exchange(isFirst, false) && isTable(format)) {
      Result<TextFields> header = fieldsOf(bytes, columns, all);
      if (!header.ok())
        return fail(header.status());
      if (Status status = takeHeader(all, columns); !status.ok())
        return fail(status);
      if (!columns.numbered)
        return true;
    }
    Result<TextFields> fields = fieldsOf(bytes, columns, all);
    if (!fields.ok())
      return fail(fields.status());
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = found[i] || (*fields)[i].has_value();
    if (format == DataFormat::Tsv)
      for (const std::optional<std::string> &field : *fields)
        quotedFields += field->size() > 1 && field->front() == quote && field->back() == quote;
    Result<bool> keeps = visit(*fields);
    if (!keeps.ok())
      return fail(keeps.status());
    if (*keeps)
      places.push_back(place);
    return true;
  }));
  if (isFirst)
    return Status::badInput("'" + path + "' is empty");
  if (const auto missing = std::find(found.begin(), found.end(), false); format == DataFormat::JsonLines && missing != found.end()) {
    Result<std::vector<std::string>> there = names(path, format);
    return at(1, Status::badInput("no object has a member '" + columns.wanted[static_cast<size_t>(missing - found.begin())] + "'" +
                                  (there.ok() ? "\nnpar: help: the members of the first are " + quotedNames(*there) : "")));
  }
  return {};
}

Result<TextTable> TextTable::open(const std::string &path, DataFormat format, const TextColumns &columns, const Visit &visit) {
  TRY(files::RangeFile opened, files::RangeFile::open(path, "the texts"));
  TextTable table(std::move(opened), path, format);
  TRY_STATUS(table.scan(columns, visit));
  return table;
}

Result<std::vector<std::string>> TextTable::names(const std::string &path, DataFormat format) {
  std::vector<std::string> names;
  if (format == DataFormat::Lines)
    return names;
  TRY(files::RangeFile opened, files::RangeFile::open(path, "the texts"));
  TextTable table(std::move(opened), path, format);
  TRY_STATUS(table.eachRow([&](std::string_view bytes, const Place &place) -> Result<bool> {
    if (isTable(format)) {
      Result<TextFields> fields = table.fieldsOf(bytes, {}, names);
      return fields.ok() ? Result<bool>(false) : table.at(place.line, fields.status());
    }
    Result<Json> object = parseObject(bytes, names);
    if (!object.ok())
      return table.at(place.line, object.status());
    for (const auto &member : object->items())
      names.push_back(member.key());
    return false;
  }));
  return names;
}

Result<TextFields> TextTable::read(int64_t row) const {
  const Place &place = places[static_cast<size_t>(row)];
  std::string bytes(place.size, '\0');
  TRY_STATUS(file.read(place.begin, bytes.size(), bytes.data()));
  std::vector<std::string> all;
  Result<TextFields> fields = fieldsOf(bytes, chosen, all); // the file can have changed since it was checked
  return fields.ok() ? std::move(fields) : Result<TextFields>(at(place.line, fields.status()));
}

} // namespace npar::engine
