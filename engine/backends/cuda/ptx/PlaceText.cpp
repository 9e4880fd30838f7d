// Writes the division of a line's number into positions, and the test whether a window's entry exists.
#include "engine/backends/cuda/ptx/PlaceText.h"

namespace npar::engine::cuda {

PlaceTable::PlaceTable(PtxKernel &kernel, int lines, int parameter, int positions, int windows)
    : kernel(&kernel), lines(lines), parameter(parameter), positions(positions), windows(windows),
      memory(kernel.shared(lines * lineBytes())) {}

Operand PlaceTable::lineAddress(const Operand &line) const {
  return kernel->get(Kind::Bits32, "mad.lo.s32", line, std::to_string(lineBytes()), memory);
}

void PlaceTable::fill(const Operand &thread, int firstThread, const Operand &first) {
  Operand line = kernel->get(Kind::Bits32, "sub.s32", thread, std::to_string(firstThread));
  auto word = [&](size_t bytes, int position) {
    return kernel->parameter(parameter + static_cast<int>(bytes / sizeof(int64_t)) + position);
  };
  kernel->when(kernel->get(Kind::Predicate, "setp.lt.u32", line, std::to_string(lines)), [&] { // a thread before `firstThread` is large
    PlaceTable::Place place;
    place.offset = kernel->get(Kind::Bits64, "mov.b64", "0");
    for (int i = 0; i < windows; ++i)
      place.entries[size_t(i)] = kernel->get(Kind::Bits64, "mov.b64", "0");
    Operand rest = kernel->get(Kind::Bits32, "add.s32", first, line);
    for (int position = positions; position-- > 0;) {
      Operand index = rest;
      if (position > 0) {
        Operand size = kernel->narrow(word(offsetof(PlaceParameters, sizes), position));
        rest = kernel->get(Kind::Bits32, "div.u32", index, size);
        index = kernel->get(Kind::Bits32, "sub.s32", index, kernel->get(Kind::Bits32, "mul.lo.s32", rest, size));
      }
      Operand wide = kernel->widen(index);
      place.offset = kernel->plus(place.offset, kernel->times(wide, word(offsetof(PlaceParameters, strides), position)));
      for (int i = 0; i < windows; ++i) {
        Operand step = word(offsetof(PlaceParameters, steps) + size_t(i) * sizeof(PlaceParameters::steps[0]), position);
        place.entries[size_t(i)] = kernel->plus(place.entries[size_t(i)], kernel->times(wide, step));
      }
    }
    Operand to = lineAddress(line);
    kernel->run("st.shared.b64", at(to), place.offset);
    for (int i = 0; i < windows; ++i)
      kernel->run("st.shared.b64", at(to, (1 + i) * wordBytes), place.entries[size_t(i)]);
  });
}

PlaceTable::Place PlaceTable::place(const Operand &line) const {
  Operand from = lineAddress(line);
  Place place{kernel->get(Kind::Bits64, "ld.shared.b64", at(from)), {}};
  for (int i = 0; i < windows; ++i)
    place.entries[size_t(i)] = kernel->get(Kind::Bits64, "ld.shared.b64", at(from, (1 + i) * wordBytes));
  return place;
}

WalkedPlaces::WalkedPlaces(PtxKernel &kernel, int parameter, int count) : kernel(&kernel) {
  constexpr int words = sizeof(WindowParameters) / sizeof(int64_t);
  for (int i = 0; i < count; ++i)
    windows.push_back({kernel.parameter(parameter + i * words), kernel.parameter(parameter + i * words + 1),
                       kernel.parameter(parameter + i * words + 2)});
}

Operand WalkedPlaces::offset(const PlaceTable::Place &line, const PlaceTable::Place &depth, Operand &exists) const {
  Operand offset = kernel->plus(line.offset, depth.offset);
  for (size_t i = 0; i < windows.size(); ++i) {
    Operand entry = kernel->get(Kind::Bits64, "sub.s64", kernel->plus(line.entries[i], depth.entries[i]), windows[i].before);
    // A negative entry is a large one without its sign.
    exists = kernel->get(Kind::Predicate, "and.pred", exists, kernel->get(Kind::Predicate, "setp.lt.u64", entry, windows[i].size));
    offset = kernel->plus(offset, kernel->times(entry, windows[i].stride));
  }
  return offset;
}

} // namespace npar::engine::cuda
