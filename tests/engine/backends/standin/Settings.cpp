// Reads the stand-in's environment variables.
#include "tests/engine/backends/standin/Settings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace npar::standin {

namespace {
[[noreturn]] void refuse(const std::string &what) {
  std::fprintf(stderr, "stand-in for CUDA: %s\n", what.c_str());
  std::exit(2);
}

bool readNumber(const std::string &text, uint64_t &number) {
  char *end = nullptr;
  number = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && *end == 0 && text[0] != '-';
}

uint64_t variable(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  uint64_t number = otherwise;
  if (text && !readNumber(text, number))
    refuse(std::string(name) + " is no number: '" + text + "'");
  return number;
}
} // namespace

std::string Settings::readFaults(const std::string &text) {
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ',')) {
    size_t equals = word.find('=');
    uint64_t number = 0;
    if (equals == std::string::npos || !readNumber(word.substr(equals + 1), number))
      return word;
    std::string kind = word.substr(0, equals);
    if (kind == "lost-after")
      faults.lostAfter = number;
    else if (kind == "ecc-after")
      faults.eccAfter = number;
    else if (kind == "memory-after")
      faults.memoryAfter = number;
    else if (kind == "driver")
      driverVersion = static_cast<int>(number);
    else if (kind == "nccl")
      ncclVersion = static_cast<int>(number);
    else
      return word;
  }
  return "";
}

bool Settings::readArchitectures(const std::string &text) {
  std::istringstream words(text);
  std::string word;
  architectures.clear();
  for (uint64_t number = 0; std::getline(words, word, ',');) {
    if (!readNumber(word, number))
      return false;
    architectures.push_back(static_cast<int>(number));
  }
  return !architectures.empty();
}

Settings Settings::fromEnvironment() {
  Settings settings;
  settings.devices = static_cast<int>(variable("NPAR_STANDIN_DEVICES", 1));
  settings.memory = variable("NPAR_STANDIN_MEMORY", settings.memory);
  if (const char *text = std::getenv("NPAR_STANDIN_ARCHITECTURE"); text && !settings.readArchitectures(text))
    refuse(std::string("NPAR_STANDIN_ARCHITECTURE is no list of numbers: '") + text + "'");
  settings.peers = variable("NPAR_STANDIN_PEERS", 0) != 0;
  settings.seed = variable("NPAR_STANDIN_SEED", 1);
  settings.leaks = variable("NPAR_STANDIN_LEAKS", 0) != 0;
  settings.figures = variable("NPAR_STANDIN_FIGURES", 0) != 0;
  settings.sites = variable("NPAR_STANDIN_SITES", 0) != 0;
  if (const char *site = std::getenv("NPAR_STANDIN_LEAVE_OUT"))
    settings.leftOut = site;
  if (const char *text = std::getenv("NPAR_STANDIN_FAULT")) {
    std::string wrong = settings.readFaults(text);
    if (!wrong.empty())
      refuse("NPAR_STANDIN_FAULT has '" + wrong + "', which is none of lost-after=N, ecc-after=N, memory-after=N, driver=N, nccl=N");
  }
  return settings;
}

} // namespace npar::standin
