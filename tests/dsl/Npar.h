// Fixtures of the front end's tests: texts in temporary files, elaborated with the standard library.
#pragma once

#include "dsl/Frontend.h"

#include <string>

namespace npar::dsl::test {

/// A file of its own in the temporary folder, removed at the end.
class TextFile {
public:
  explicit TextFile(const std::string &text, const std::string &name = "test.npar");
  ~TextFile();
  TextFile(const TextFile &) = delete;
  const std::string &path() const { return file; }

private:
  std::string folder, file;
};

struct Result {
  std::optional<Program> program;
  std::string messages; ///< all diagnostics as printed
  size_t errors = 0;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

Result elaborateFile(const std::string &path, const Settings &settings = {}, std::optional<std::string> plan = {},
                     std::optional<std::string> train = {}, std::optional<std::string> config = {});
Result elaborateText(const std::string &text, const Settings &settings = {}, std::optional<std::string> plan = {});

inline const std::string stdlib = NPAR_STDLIB, gpt2 = stdlib + "/models/gpt2.npar";

std::string readFile(const std::string &path);
int64_t sizeOf(const Program &program, const std::string &axis);
/// Fails the test if elaboration gave no program.
Program program(const Result &result);
int64_t countParameters(const Program &program);
/// The nodes with that mnemonic, in order.
std::vector<const Node *> nodesOf(const Program &program, const std::string &op);

} // namespace npar::dsl::test
