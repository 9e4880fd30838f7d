// The rows of a file of texts, found in one pass and read one by one afterwards, in any order.
#pragma once

#include "engine/files/RangeFile.h"
#include "engine/program/TextInput.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

using program::DataFormat;

/// The columns that are read, in the order of a row's fields.
struct TextColumns {
  std::vector<std::string> wanted; ///< names, or numbers from 1
  bool numbered = false;           ///< the file has no names: its first row is data
};

/// The chosen fields of a row. A field is absent if a JSON object lacks it or has null.
using TextFields = std::vector<std::optional<std::string>>;

/// CSV as RFC 4180 has it, with quotes, doubled quotes and line breaks within quotes; TSV, which has no quotes; an object of JSON in each
/// line; or a text in each line. Lines end in LF or CRLF. A byte order mark is skipped, and so are empty lines, except in a file of plain
/// lines. Keeps 16 bytes for each row and nothing of the texts. Thread-safe to read.
class TextTable {
public:
  static constexpr size_t longestRow = 4 << 20; ///< bytes
  /// Called with each row in order; false leaves the row out.
  using Visit = std::function<Result<bool>(const TextFields &)>;

  /// Reads the whole file. Refuses text that is not UTF-8, rows with another number of columns than the first, rows longer than
  /// `longestRow`, open quotes, and missing columns, with the line. Errors of `visit` follow the line too.
  static Result<TextTable> open(const std::string &path, DataFormat format, const TextColumns &columns, const Visit &visit);
  /// The names of the columns: the first line of a table, the members of the first JSON object; none for a file of plain lines.
  static Result<std::vector<std::string>> names(const std::string &path, DataFormat format);

  int64_t rows() const { return static_cast<int64_t>(places.size()); }
  Result<TextFields> read(int64_t row) const;
  /// The line in which a row begins, from 1.
  int64_t line(int64_t row) const { return places[static_cast<size_t>(row)].line; }
  /// Fields of a TSV file that are in quotes, as if it were a CSV file.
  int64_t quoted() const { return quotedFields; }

private:
  struct Place {
    uint64_t begin = 0;
    uint32_t size = 0, line = 0;
  };
  TextTable(files::RangeFile file, std::string path, DataFormat format) : file(std::move(file)), path(std::move(path)), format(format) {}
  Status scan(const TextColumns &columns, const Visit &visit);
  /// Calls `row` with the bytes of each row, until it returns false.
  Status eachRow(const std::function<Result<bool>(std::string_view bytes, const Place &place)> &row) const;
  Status takeHeader(const std::vector<std::string> &names, const TextColumns &columns);
  Result<TextFields> fieldsOf(std::string_view bytes, const TextColumns &columns, std::vector<std::string> &all) const;
  Status at(int64_t line, const Status &status) const;

  files::RangeFile file;
  std::string path;
  DataFormat format;
  TextColumns chosen;
  std::vector<size_t> indices; ///< of the chosen columns in a table
  size_t width = 0;            ///< columns of a table
  std::vector<Place> places;
  int64_t quotedFields = 0;
};

} // namespace npar::engine
