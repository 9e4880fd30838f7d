// npar and bash find the same words of the training commands, in scripts by hand and at random. NPAR_LONG makes more of them;
// NPAR_SHELL_SCRIPTS and NPAR_SHELL_SEED set how many, and the first seed.
#include "tests/tools/lib/foreign/FollowedScript.h"
#include "tests/tools/lib/foreign/HandWrittenScripts.h"
#include "tests/tools/lib/foreign/ScriptGenerator.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace npar::foreign::shell::test {
namespace {

namespace fs = std::filesystem;
using Commands = std::vector<std::vector<std::string>>;
/// Replaces the commands of a script that takes bash more than 2 seconds of processor time.
const Commands endless = {{"endless"}};

/// The folder of a test, removed with it.
struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "npar-shell-XXXXXX").string();
    if (char *made = mkdtemp(pattern.data()))
      path = made;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

/// Runs all scripts in one bash whose launchers print their words instead of running anything. Words end in a zero byte, commands in \1,
/// scripts in \2.
std::vector<Commands> wordsOfBash(const std::vector<std::string> &scripts) {
  Folder folder;
  fs::create_directory(folder.path / "work");
  for (size_t i = 0; i < scripts.size(); ++i)
    std::ofstream(folder.path / (std::to_string(i) + ".sh"), std::ios::binary) << scripts[i];
  std::ofstream(folder.path / "all.sh") << R"(
    words() { for w in "$@"; do if [ "${seen:-}" ]; then printf '%s\0' "$w" >&3; fi; case "$w" in *.py) seen=1;; esac; done; printf '\1\0' >&3; }
    torchrun() { local seen=; words "$@"; }
    srun() { local seen=; words "$@"; }
    for ((script = 0; script < $1; ++script)); do
      (ulimit -S -t 2; set -f; cd "$2/work"; set --; . "../$script.sh") > /dev/null 2>&1 < /dev/null
      [ $? != 152 ] || printf '\3\0' >&3 # ended by SIGXCPU
      printf '\2\0' >&3
    done)";
  std::string command = "env -i PATH=/usr/bin:/bin timeout 300 bash --norc " + (folder.path / "all.sh").string() + " " +
                        std::to_string(scripts.size()) + " " + folder.path.string() + " 3> " + (folder.path / "out").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(folder.path / "out", std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  std::vector<Commands> all(1);
  std::vector<std::string> words;
  for (std::string word; std::getline(out, word, '\0');) {
    if (word == "\2")
      all.emplace_back();
    else if (word == "\3")
      all.back() = endless, words.clear();
    else if (word == "\1")
      all.back().push_back(std::exchange(words, {}));
    else
      words.push_back(word);
  }
  all.pop_back();
  return all;
}

std::string shown(const Commands &commands) {
  std::string text;
  for (const std::vector<std::string> &words : commands) {
    for (const std::string &word : words)
      text += "[" + word + "] ";
    text += "\n";
  }
  return text;
}

/// True for a script that npar may refuse because it takes too many steps: its words are longer than anyone's.
bool isLong(const Commands &commands) { return shown(commands).size() > 10000; }

void compare(const std::vector<std::string> &scripts) {
  std::vector<Commands> right = wordsOfBash(scripts);
  ASSERT_EQ(right.size(), scripts.size());
  for (size_t i = 0; i < scripts.size(); ++i) {
    FollowedScript followed = follow(scripts[i]);
    if (right[i] == endless) {
      EXPECT_FALSE(followed.failure.empty() && followed.reasons.empty()) << "this script takes bash more than 2 seconds:\n" << scripts[i];
      continue;
    }
    if (isLong(right[i]) && followed.failure.find("it takes too many steps") != std::string::npos)
      continue;
    EXPECT_EQ(followed.failure, "") << scripts[i];
    EXPECT_EQ(followed.reasons, std::vector<std::string>()) << scripts[i];
    ASSERT_EQ(shown(followed.commands), shown(right[i])) << "script " << i << ":\n" << scripts[i];
  }
}

TEST(BashComparison, HandWrittenScriptsHaveTheSameWords) {
  compare(std::vector<std::string>(std::begin(handWrittenScripts), std::end(handWrittenScripts)));
}

TEST(BashComparison, RandomScriptsHaveTheSameWords) {
  const char *count = std::getenv("NPAR_SHELL_SCRIPTS"), *seed = std::getenv("NPAR_SHELL_SEED");
  std::vector<std::string> scripts;
  uint64_t first = seed ? std::strtoull(seed, nullptr, 10) : 1;
  uint64_t scriptCount = count ? std::strtoull(count, nullptr, 10) : std::getenv("NPAR_LONG") ? 5000 : 200;
  for (uint64_t i = 0; i < scriptCount; ++i)
    scripts.push_back(ScriptGenerator(first + i).script());
  compare(scripts);
}

} // namespace
} // namespace npar::foreign::shell::test
