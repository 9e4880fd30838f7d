// What processes with numbers in a row give to a gather, packed for messages: neighbours that give the same take room once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace npar::engine {

/// Between training steps nearly all processes have the same to say, mostly nothing: then the size does not grow with their number.
class Contributions {
public:
  /// Precedes its bytes.
  struct Run {
    uint64_t size = 0;    ///< of what each of them gives
    uint32_t times = 1;   ///< so many processes, one after the other, give the same
    uint32_t dataTag = 0; ///< not 0: no bytes follow here, the process (then one) sends them to each other one with this tag
  };
  /// The next process gives these bytes.
  void add(const std::vector<uint8_t> &bytes) { add({bytes.size(), 1, 0}, bytes.data()); }
  /// The next process sends so many bytes by itself.
  void addSentApart(uint64_t size, uint32_t dataTag) { add({size, 1, dataTag}, nullptr); }
  /// The next `processes` ones give what is packed here. False, and then nothing is of use: it is not of so many.
  bool append(const std::vector<uint8_t> &packed, uint32_t processes);
  std::vector<uint8_t> take();

  /// Calls `give` with each run and its bytes, in order. False: it is not packed contributions of so many processes.
  static bool read(const std::vector<uint8_t> &packed, uint32_t processes, const std::function<void(const Run &, const uint8_t *)> &give);

private:
  void add(const Run &run, const uint8_t *bytes);

  std::vector<uint8_t> packed;
  size_t last = 0; ///< where the last run begins
};

} // namespace npar::engine
