// Writes bytes and seconds with the unit that fits their size.
#pragma once

#include <string>

namespace npar::readable {

/// "312 B", "1.50 KiB", "80.0 GiB": powers of 1024, three digits.
std::string humanBytes(double bytes);

/// "12.5 us", "3.21 ms", "4.052 s"; "0" for zero.
std::string humanTime(double seconds);

} // namespace npar::readable
