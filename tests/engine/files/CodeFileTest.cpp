// Tests which file holds a function: this program, or a library that it has loaded.
#include "engine/files/CodeFile.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace npar;

namespace {

TEST(CodeFileTest, AFunctionOfTheProgramIsInTheProgram) {
  const void *code = reinterpret_cast<const void *>(&files::fileOfCode);
  EXPECT_EQ(files::fileOfCode(code), "/proc/self/exe");
  EXPECT_EQ(files::prefixOfCode(code), std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path());
}

TEST(CodeFileTest, AFunctionOfALibraryIsInTheLibrary) {
  const void *code = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(code, nullptr);
  EXPECT_NE(files::fileOfCode(code).find("/libc.so"), std::string::npos) << files::fileOfCode(code);
  EXPECT_EQ(files::prefixOfCode(code), std::filesystem::canonical(files::fileOfCode(code)).parent_path().parent_path());
}

} // namespace
