// Prints the driver's errors and remarks, or keeps what another process of the job is to say.
#include "tools/npar/terminal/Talk.h"

#include "engine/readable/Printable.h"
#include "tools/npar/terminal/PrintableStreams.h"

#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace npar::driver {

using readable::printable;

namespace {

struct Voice {
  std::mutex mutex;
  bool speaks = true, keeps = false;
  int output = -1; ///< standard output, where this process has no say in it
  std::vector<std::string> kept;
};

Voice &voice() {
  static Voice one;
  return one;
}

void print(const std::string &message) {
  std::fflush(stdout);
  std::fprintf(stderr, "npar: error: %s\n", printable(message).c_str());
}

} // namespace

void printError(const std::string &message) {
  std::lock_guard<std::mutex> lock(voice().mutex);
  if (voice().keeps)
    voice().kept.push_back(message);
  else if (voice().speaks)
    print(message);
}

void printRemark(const std::string &message) {
  if (speaks())
    std::fprintf(stderr, "npar: %s\n", printable(message).c_str());
}

ExitCode fail(const engine::Status &status) {
  if (status.isPrinted())
    return exitCodeOf(status);
  if (!status.isLocated())
    return fail(exitCodeOf(status), status.message());
  if (speaks()) // all processes of a job read the same text
    std::cerr << status.message();
  return exitCodeOf(status);
}

ExitCode fail(ExitCode code, const std::string &message) {
  printError(message);
  return code;
}

void keepErrors(bool speaks) {
  std::lock_guard<std::mutex> lock(voice().mutex);
  voice().keeps = true, voice().speaks = speaks;
  if (speaks)
    return;
  if (int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    std::fflush(stdout);
    voice().output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
}

void takeOver() {
  std::lock_guard<std::mutex> lock(voice().mutex);
  voice().speaks = true;
  if (int output = std::exchange(voice().output, -1); output >= 0) {
    std::cout.flush();
    ::dup2(output, STDOUT_FILENO);
    ::close(output);
  }
}

std::vector<std::string> takeErrors() {
  std::lock_guard<std::mutex> lock(voice().mutex);
  return std::exchange(voice().kept, {});
}

void sayError(const std::string &message) {
  if (speaks())
    print(message);
}

void sayErrors() {
  std::lock_guard<std::mutex> lock(voice().mutex);
  voice().keeps = false;
  for (const std::string &message : std::exchange(voice().kept, {}))
    if (voice().speaks)
      print(message);
}

bool speaks() {
  std::lock_guard<std::mutex> lock(voice().mutex);
  return voice().speaks;
}

bool standardOutputArrived() {
  std::cout.flush();
  productOutput().flush();
  return std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good() && productOutput().good();
}

} // namespace npar::driver
