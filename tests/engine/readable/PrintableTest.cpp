// No text moves the cursor or turns a line around, however it is cut, and JSON stays what it says.
#include "engine/readable/Printable.h"

#include <gtest/gtest.h>

namespace npar::readable {
namespace {

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("plain, caf\u00e9 \u65e5\u672c \U0001f600\n\tb"), "plain, caf\u00e9 \u65e5\u672c \U0001f600\n\tb");
  EXPECT_EQ(printable("\x1b[2J\a\b\x7f\x01"), "\\u001b[2J\\u0007\\u0008\\u007f\\u0001");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("a\rb\r\nc\r"), "a\\u000db\r\nc\\x0d");
  EXPECT_EQ(printable("\u009b31m \u0085"), "\\u009b31m \\u0085");
  EXPECT_EQ(printable("\u202etxt.exe\u202c \u2066\u2069 \u2068"), "\\u202etxt.exe\\u202c \\u2066\\u2069 \\u2068");
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable("\xe2"
                      "a\xc0\xff"),
            "\\xe2a\\xc0\\xff");
}

TEST(Printable, ANameHasOneLine) {
  EXPECT_EQ(printableName("ev\nnpar: fine\r\n\tx\x1b caf\u00e9"), "ev\\u000anpar: fine\\u000d\\u000a\\u0009x\\u001b caf\u00e9");
}

TEST(Printable, APartAtATimeIsTheSame) {
  const std::string text = "x\u202ey\r\nz\x1b\u00e9\U0001f600\x9b\r";
  std::string whole = printable(text), parts;
  Escaper escaper;
  for (char one : text)
    escaper.add({&one, 1}, parts);
  escaper.finish(parts);
  EXPECT_EQ(parts, whole);
}

} // namespace
} // namespace npar::readable
