#include "engine/readable/CsvRow.h"

namespace npar::readable {

std::string csvField(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char letter : text)
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::vector<std::string> firstCsvRow(std::string_view text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t at = 0; at < text.size() && (quoted || text[at] != '\n'); ++at)
    if (text[at] == '"' && quoted && text.substr(at + 1, 1) == "\"")
      fields.back() += text[at++];
    else if (text[at] == '"')
      quoted = !quoted;
    else if (text[at] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += text[at];
  return fields;
}

} // namespace npar::readable
