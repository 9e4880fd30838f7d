// One target as libFuzzer's.
#include "tests/fuzz/FuzzTargets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  npar::fuzz::NPAR_FUZZ_TARGET(bytes, size);
  return 0;
}
