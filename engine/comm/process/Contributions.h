// Packs the contributions of consecutive processes to a gather into messages; neighbours with equal contributions share one copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace npar::engine {

/// Nearly all processes contribute the same bytes between training steps, mostly none, so the size does not grow with their number.
class Contributions {
public:
  /// Header that precedes its bytes.
  struct Run {
    uint64_t size = 0;    ///< bytes of each process's contribution
    uint32_t times = 1;   ///< number of consecutive processes with this contribution
    uint32_t dataTag = 0; ///< not 0: no bytes follow here; the process (only one) sends them to each other process with this tag
  };
  /// Appends the bytes of the next process.
  void add(const std::vector<uint8_t> &bytes) { add({bytes.size(), 1, 0}, bytes.data()); }
  /// Appends a contribution of `size` bytes that the next process sends by itself.
  void addSentApart(uint64_t size, uint32_t dataTag) { add({size, 1, dataTag}, nullptr); }
  /// Appends the packed contributions of the next `processes` processes. False if `packed` does not hold that many; then this object is
  /// unusable.
  bool append(const std::vector<uint8_t> &packed, uint32_t processes);
  std::vector<uint8_t> take();

  /// Calls `give` with each run and its bytes, in order. False if `packed` is not the contributions of `processes` processes.
  static bool read(const std::vector<uint8_t> &packed, uint32_t processes, const std::function<void(const Run &, const uint8_t *)> &give);

private:
  void add(const Run &run, const uint8_t *bytes);

  std::vector<uint8_t> packed;
  size_t last = 0; ///< start of the last run
};

} // namespace npar::engine
