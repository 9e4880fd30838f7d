// Writes the file's text from a table of byte characters of its own making.
#include "tests/engine/text/TinyTokenizer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {

using namespace engine;

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "npar-text-XXXXXX").string();
  folder = ::mkdtemp(name.data()) ? name : "";
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  std::filesystem::remove_all(folder, none);
}

std::string TemporaryFolder::write(const std::string &name, const std::string &bytes) const {
  std::string path = folder + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string tinyJson() {
  std::string vocabulary;
  int id = 0;
  auto add = [&](const std::string &token) {
    vocabulary += (id ? ",\"" : "\"") + token + "\":" + std::to_string(id);
    ++id;
  };
  // The printable bytes stand for themselves, in Latin-1; the others are the characters from U+0100 on.
  auto utf8 = [](int c) {
    return c < 0x80 ? std::string(1, static_cast<char>(c))
                    : std::string{static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
  };
  for (int byte = 0; byte < 256; ++byte)
    if ((byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad))
      add(byte == '"' || byte == '\\' ? "\\" + utf8(byte) : utf8(byte));
  for (int other = 0; other < 68; ++other)
    add(utf8(0x100 + other));
  for (const char *merged : {"he", "ll", "hell", "\u0120hell"})
    add(merged);
  auto added = [](int number, const std::string &text, const char *special) {
    return "{\"id\":" + std::to_string(number) + ",\"content\":\"" + text +
           "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":" + special + "}";
  };
  return "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[" + added(260, "<end>", "true") + "," +
         added(261, "<end>!", "false") +
         "],\"normalizer\":null,"
         "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<end>\",\"type_id\":0}},"
         "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{\"<end>\":{\"id\":\"<end>\",\"ids\":[260],"
         "\"tokens\":[\"<end>\"]}}},"
         "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
         "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
         "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{" +
         vocabulary + "},\"merges\":[\"h e\",[\"l\",\"l\"],[\"he\",\"ll\"],\"\u0120 hell\"]}}";
}

std::string tinyJson(const std::string &from, const std::string &to) {
  std::string text = tinyJson();
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

Result<std::shared_ptr<const Tokenizer>> openJson(const std::string &text) {
  TemporaryFolder folder;
  return openTokenizer(folder.write("tokenizer.json", text));
}

std::string errorOfJson(const std::string &text) {
  auto opened = openJson(text);
  return opened.ok() ? "" : opened.status().message();
}

std::string pieces(const Tokenizer &tokenizer, const std::string &text, bool additions) {
  auto ids = tokenizer.encode(text, additions);
  if (!ids.ok())
    return ids.status().message();
  std::string shown;
  for (int32_t id : *ids)
    shown += "[" + *tokenizer.bytesOf(id, false) + "]";
  return shown;
}

} // namespace npar::testing
