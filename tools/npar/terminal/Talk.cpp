// Prints the driver's errors and remarks.
#include "tools/npar/terminal/Talk.h"

#include <cstdio>
#include <iostream>

namespace npar::driver {

void printError(const std::string &message) {
  std::fflush(stdout);
  std::fprintf(stderr, "npar: error: %s\n", message.c_str());
}

void printRemark(const std::string &message) { std::fprintf(stderr, "npar: %s\n", message.c_str()); }

ExitCode fail(const engine::Status &status) { return fail(exitCodeOf(status), status.message()); }

ExitCode fail(ExitCode code, const std::string &message) {
  printError(message);
  return code;
}

bool standardOutputArrived() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
}

} // namespace npar::driver
