// Safetensors files from hostile hands (hostile_safetensors.tsv): each wrong one is refused with position and reason, none crashes.
#include "engine/safetensors/Safetensors.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

/// \xNN is a byte, \\ a backslash, <100*x> is 100 times x.
std::string expand(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && text[i + 1] == '\\') {
      result += text[++i];
    } else if (text[i] == '\\') {
      result += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else if (text[i] == '<') {
      size_t star = text.find('*', i), end = text.find('>', star);
      std::string part = text.substr(star + 1, end - star - 1);
      for (int left = std::stoi(text.substr(i + 1, star - i - 1)); left > 0; --left)
        result += part;
      i = end;
    } else {
      result += text[i];
    }
  return result;
}

std::string contentOf(const std::string &length, const std::string &data, const std::string &header) {
  std::string text = expand(header), prefix;
  if (length != "none") {
    uint64_t size = length == "=" ? text.size() : std::stoull(length);
    for (int i = 0; i < 8; ++i)
      prefix += static_cast<char>(size >> (8 * i));
  }
  return prefix + text + std::string(std::stoul(data), '\0');
}

TEST(HostileSafetensorsTest, eachIsRefusedWithPositionAndReason) {
  std::ifstream table(NPAR_HOSTILE_FILES);
  ASSERT_TRUE(table) << NPAR_HOSTILE_FILES;
  std::string path = "/tmp/npar-hostile-" + std::to_string(::getpid());
  int refused = 0, accepted = 0;
  for (std::string line; std::getline(table, line);) {
    if (line[0] == '#')
      continue;
    std::vector<std::string> columns;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');)
      columns.push_back(cell);
    ASSERT_EQ(columns.size(), 6u) << line;
    std::ofstream(path, std::ios::binary) << contentOf(columns[1], columns[2], columns[3]);
    auto file = SafetensorsFile::open(path, "file");
    std::string begin = "cannot read file '" + path + "': ", said = file.ok() ? "accepted" : file.status().message();
    if (said.compare(0, begin.size(), begin) == 0)
      said = said.substr(begin.size());
    else
      EXPECT_EQ(said, "accepted") << columns[0];
    EXPECT_EQ(said, columns[4]) << columns[0];
    ++(file.ok() ? accepted : refused);
  }
  ::unlink(path.c_str());
  EXPECT_GE(refused, 60);
  EXPECT_GE(accepted, 20);
}

} // namespace
} // namespace npar::testing
