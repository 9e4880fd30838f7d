// Elaborates files and texts for the tests.
#include "Npar.h"

#include "compiler/import/KnownSchedules.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace npar::dsl::test {
namespace fs = std::filesystem;

TextFile::TextFile(const std::string &text, const std::string &name) {
  static int count = 0;
  folder = (fs::temp_directory_path() / ("npar-dsl-" + std::to_string(getpid()) + "-" + std::to_string(count++))).string();
  fs::create_directories(folder);
  file = folder + "/" + name;
  std::ofstream(file, std::ios::binary) << text;
}

TextFile::~TextFile() {
  std::error_code error;
  fs::remove_all(folder, error);
}

Result elaborateFile(const std::string &path, const Settings &settings, std::optional<std::string> plan, std::optional<std::string> train,
                     std::optional<std::string> config) {
  FrontendOptions options;
  options.file = path;
  options.schedules = compiler::knownSchedules();
  options.librarySearch = {stdlib};
  options.settings = settings;
  options.plan = std::move(plan);
  options.train = std::move(train);
  options.config = std::move(config);
  Sources sources;
  Diagnostics diagnostics(sources);
  Result result;
  result.program = elaborate(options, sources, diagnostics);
  std::ostringstream out;
  diagnostics.print(out);
  result.messages = out.str();
  result.errors = diagnostics.errorCount();
  return result;
}

Result elaborateText(const std::string &text, const Settings &settings, std::optional<std::string> plan) {
  TextFile file(text);
  return elaborateFile(file.path(), settings, std::move(plan));
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

int64_t sizeOf(const Program &program, const std::string &axis) {
  for (const Axis &a : program.model.axes)
    if (a.name == axis)
      return a.size;
  return -1;
}

int64_t countParameters(const Program &program) {
  int64_t total = 0;
  for (const Parameter &p : program.model.parameters) {
    int64_t count = 1;
    for (const std::string &axis : p.type.axes)
      count *= sizeOf(program, axis);
    total += count;
  }
  return total;
}

std::vector<const Node *> nodesOf(const Program &program, const std::string &op) {
  std::vector<const Node *> result;
  for (const Node &node : program.model.nodes)
    if (node.op == op)
      result.push_back(&node);
  return result;
}

Program program(const Result &result) {
  EXPECT_TRUE(result.program) << result.messages;
  return result.program.value_or(Program{});
}

} // namespace npar::dsl::test
