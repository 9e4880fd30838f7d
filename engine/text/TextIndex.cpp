// Linear probing.
#include "engine/text/TextIndex.h"

#include <functional>

namespace npar::engine {

TextIndex::TextIndex(size_t count) {
  size_t size = 2;
  while (size < 2 * count)
    size *= 2;
  slots.resize(size);
}

size_t TextIndex::slotOf(std::string_view text) const {
  size_t slot = std::hash<std::string_view>()(text) & (slots.size() - 1);
  while (slots[slot].value >= 0 && slots[slot].text != text)
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

bool TextIndex::add(std::string_view text, int32_t value) {
  Slot &slot = slots[slotOf(text)];
  if (slot.value >= 0)
    return false;
  slot = {text, value};
  return true;
}

int32_t TextIndex::find(std::string_view text) const { return slots[slotOf(text)].value; }

} // namespace npar::engine
