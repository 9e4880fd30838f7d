// From where calls come: a test leaves those of one place out, as if they were not in the code.
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
  /// Whether this call, which returns to that address, is to do nothing.
  bool leavesOut(const char *call, const void *returnAddress);
  /// By site: how many calls came from there.
  const std::map<std::string, uint64_t> &all() const { return calls; }

private:
  const std::string leftOut;
  const bool counts;
  std::mutex mutex;
  std::map<std::string, uint64_t> calls;
};

} // namespace npar::standin
