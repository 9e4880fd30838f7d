// The sites of calls: a test leaves out the calls of one site, as if they were not in the code.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace npar::standin {

class Sites {
public:
  /// `leftOut`: a site, "cuEventRecord@1f3a0"; may be empty. `counts`: whether calls are counted.
  Sites(std::string leftOut, bool counts) : leftOut(std::move(leftOut)), counts(counts) {}
  /// Returns true if this call, which returns to that address, must do nothing.
  bool leavesOut(const char *call, const void *returnAddress);
  /// The number of calls by site.
  const std::map<std::string, uint64_t> &all() const { return calls; }

private:
  const std::string leftOut;
  const bool counts;
  std::mutex mutex;
  std::map<std::string, uint64_t> calls;
};

} // namespace npar::standin
