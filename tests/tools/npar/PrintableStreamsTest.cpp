// While PrintableStreams lives, no text that npar prints moves the cursor, and JSON is still read as it was.
#include "tools/npar/terminal/PrintableStreams.h"
#include "engine/json/Json.h"

#include <gtest/gtest.h>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace npar::driver {
namespace {

TEST(PrintableStreams, EscapesWhileItLives) {
  std::ostringstream taken;
  std::streambuf *before = std::cout.rdbuf(taken.rdbuf());
  {
    PrintableStreams streams;
    std::string name = "a\x7f\u202e\u0085\x1b";
    std::cout << Json{name}.dump() << std::flush;
    EXPECT_EQ(Json::parse(taken.str())[0], name) << "JSON reads it as it was: " << taken.str();
    EXPECT_EQ(taken.str().find_first_of("\x7f\xc2\xe2\x1b"), std::string::npos);
    taken.str("");
    productOutput() << "\x1b" << std::flush;
    EXPECT_EQ(taken.str(), ::isatty(STDOUT_FILENO) ? "\\u001b" : "\x1b");
    taken.str("");
  }
  std::cout << "\x1b";
  std::cout.rdbuf(before);
  EXPECT_EQ(taken.str(), "\x1b");
}

} // namespace
} // namespace npar::driver
