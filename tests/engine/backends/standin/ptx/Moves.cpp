// Registers are copied as they are, whatever is in them.
#include "tests/engine/backends/standin/ptx/Moves.h"

#include "tests/engine/backends/standin/ptx/Lanewise.h"

namespace npar::standin::ptx {

namespace {
template <typename Word> Word same(Word a) { return a; }
template <typename Word, typename Half> Half low(Word a) { return static_cast<Half>(a); }
template <typename Word, typename Half> Half high(Word a) { return static_cast<Half>(a >> (sizeof(Half) * 8)); }
template <typename Word, typename Half> Word join(Half a, Half b) {
  return static_cast<Word>(static_cast<Word>(static_cast<Word>(b) << (sizeof(Half) * 8)) | a);
}

// No half can be in the slot of the whole, because their sizes differ.
template <typename Word, typename Half> void split(const Instruction &instruction, Warp &warp, uint32_t active) {
  Instruction second = instruction;
  second.target[0] = instruction.target[1];
  lanewise<low<Word, Half>>().run(instruction, warp, active);
  lanewise<high<Word, Half>>().run(second, warp, active);
}

void copyPredicate(const Instruction &instruction, Warp &warp, uint32_t active) {
  uint32_t &to = warp.predicate(instruction.target[0]);
  to = (to & ~active) | (warp.predicate(instruction.source[0]) & active);
}
} // namespace

Handler copyOf(char letter) {
  return letter == 'p'   ? copyPredicate
         : letter == 'h' ? lanewise<same<uint16_t>>().run
         : letter == 'w' ? lanewise<same<uint32_t>>().run
                         : lanewise<same<uint64_t>>().run;
}

Handler splitOf(char letter) { return letter == 'd' ? split<uint64_t, uint32_t> : split<uint32_t, uint16_t>; }
Handler joinOf(char letter) { return letter == 'd' ? lanewise<join<uint64_t, uint32_t>>().run : lanewise<join<uint32_t, uint16_t>>().run; }

} // namespace npar::standin::ptx
