// Tests which file holds a function: this program, or a library that it has loaded.
#include "engine/files/CodeFile.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace npar::program;

namespace {

TEST(CodeFileTest, AFunctionOfTheProgramIsInTheProgram) {
  const void *code = reinterpret_cast<const void *>(&fileOfCode);
  EXPECT_EQ(fileOfCode(code), "/proc/self/exe");
  EXPECT_EQ(prefixOfCode(code), std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path());
}

TEST(CodeFileTest, AFunctionOfALibraryIsInTheLibrary) {
  const void *code = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(code, nullptr);
  EXPECT_NE(fileOfCode(code).find("/libc.so"), std::string::npos) << fileOfCode(code);
  EXPECT_EQ(prefixOfCode(code), std::filesystem::canonical(fileOfCode(code)).parent_path().parent_path());
}

} // namespace
