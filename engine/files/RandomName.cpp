// Asks the kernel, which is never out of random numbers once it has started.
#include "engine/files/RandomName.h"

#include <cstdint>
#include <random>
#include <sys/random.h>

namespace npar::files {

std::string randomName() {
  uint8_t bytes[16];
  if (::getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    std::random_device device; // a kernel without that call has the device
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(device());
  }
  std::string name;
  for (uint8_t byte : bytes)
    for (int digit : {byte >> 4, byte & 15})
      name += "0123456789abcdef"[digit];
  return name;
}

} // namespace npar::files
