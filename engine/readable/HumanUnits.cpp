// Chooses the unit that leaves one to four digits before the point.
#include "engine/readable/HumanUnits.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::readable {

std::string humanBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit)
    bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

std::string humanTime(double seconds) {
  double size = std::abs(seconds);
  if (size == 0)
    return "0";
  if (size >= 1)
    return fmt::format("{:.4g} s", seconds);
  return size >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

} // namespace npar::readable
