// Well-formed UTF-8, byte by byte, and where a text may be shown.
#include "engine/text/Utf8.h"
#include "engine/text/ByteCharacters.h"
#include "engine/text/Quoted.h"
#include "engine/text/Tokenizer.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

TEST(Utf8Test, everyCharacterReadsBackAndNoPrefixIsWhole) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000)
      continue;
    std::string text = utf8Of(c);
    Utf8Extent extent = utf8Extent(text);
    ASSERT_EQ(extent.end, text.size()) << std::hex << static_cast<unsigned>(c);
    size_t at = 0;
    ASSERT_EQ(characterAt(text, at), c);
    ASSERT_EQ(at, text.size());
    for (size_t part = 1; part < text.size(); ++part) {
      extent = utf8Extent(std::string_view(text).substr(0, part));
      ASSERT_TRUE(extent.end == 0 && !extent.damaged) << std::hex << static_cast<unsigned>(c) << " cut after " << part;
    }
  }
}

TEST(Utf8Test, damageIsFoundWhereItStands) {
  const std::string cases[] = {"\x80",
                               "\xbf",
                               "\xc0\x80",
                               "\xc1\xbf",
                               "\xe0\x9f\xbf",
                               "\xed\xa0\x80",
                               "\xf0\x8f\xbf\xbf",
                               "\xf4\x90\x80\x80",
                               "\xf5\x80\x80\x80",
                               "\xff",
                               "\xfe",
                               "\xe2\x82x",
                               "\xf0\x9f\x98x",
                               "\xc3("};
  for (const std::string &bad : cases)
    for (const std::string &before : {std::string(), std::string("12345678"), std::string("1234567\u20ac")}) {
      Utf8Extent extent = utf8Extent(before + bad + "after it");
      EXPECT_TRUE(extent.damaged) << bad;
      EXPECT_EQ(extent.end, before.size()) << bad;
    }
}

TEST(Utf8Test, whatIsShownEndsInWholeCharacters) {
  EXPECT_EQ(wholeCharacters(""), 0U);
  EXPECT_EQ(wholeCharacters("a\xe2\x82\xac"), 4U);
  EXPECT_EQ(wholeCharacters("a\xe2\x82"), 1U);
  EXPECT_EQ(wholeCharacters("\xff\xe2"), 1U);             // 0xff is no beginning of anything: it need not wait
  EXPECT_EQ(wholeCharacters("\xe2\x82\xe2\x82\xac"), 5U); // nor what another character interrupted
  EXPECT_EQ(wholeCharacters("\xf0\x9f\x98"), 0U);
}

TEST(Utf8Test, messagesObeyNoControlCharacter) {
  EXPECT_EQ(inQuotes("a'b"), "'a'b'");
  EXPECT_EQ(inQuotes("\x1b[31m\n\xff\u009b\u20ac"), "'\\x1b[31m\\x0a\\xff\\xc2\\x9b\u20ac'");
  EXPECT_EQ(inQuotes(std::string(1000, 'x')), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(inQuotes(std::string(79, 'x') + "\u20ac"), "'" + std::string(79, 'x') + "...'");
}

TEST(Utf8Test, everyByteHasACharacterOfItsOwn) {
  EXPECT_EQ(characterOfByte(' '), "\u0120");
  EXPECT_EQ(characterOfByte('\n'), "\u010a");
  EXPECT_EQ(characterOfByte(0xad), "\u0143");
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(bytesOfCharacters(characterOfByte(static_cast<uint8_t>(byte))), std::string(1, static_cast<char>(byte)));
  EXPECT_EQ(bytesOfCharacters("a b"), std::nullopt);
  EXPECT_EQ(bytesOfCharacters("\u0144"), std::nullopt);
  EXPECT_EQ(bytesOfCharacters("\u20ac"), std::nullopt);
}

} // namespace
} // namespace npar::testing
