// The table of programs whose runs npar reads or writes. Each is a function in the file about that program.
#include "dsl/Suggestions.h"
#include "tools/lib/foreign/ForeignProgram.h"

namespace npar::foreign {

const ForeignProgram &megatron(), &torchtitan(), &deepSpeed(), &accelerate(), &huggingFace(), &sageMaker();

const std::vector<const ForeignProgram *> &foreignPrograms() {
  static const std::vector<const ForeignProgram *> programs = {&megatron(),   &torchtitan(),  &deepSpeed(),
                                                              &accelerate(), &huggingFace(), &sageMaker()};
  return programs;
}

const ForeignProgram *findProgram(const std::string &key) {
  for (const ForeignProgram *one : foreignPrograms())
    if (key == one->key())
      return one;
  return nullptr;
}

std::vector<std::string> programKeys(bool written) {
  std::vector<std::string> keys;
  for (const ForeignProgram *one : foreignPrograms())
    if (!written || one->writes())
      keys.emplace_back(one->key());
  return keys;
}

std::string programFiles(bool written) {
  std::vector<std::string> files;
  for (const ForeignProgram *one : foreignPrograms())
    if (!written || one->writes())
      files.emplace_back(one->file());
  return dsl::joined(files);
}

} // namespace npar::foreign
