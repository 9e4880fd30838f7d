// The only table of names and colours for phases, communication and kinds of memory, shared by terminal, SVG, page and trace.
//
// Colours by Okabe and Ito (2008, "Color Universal Design"), told apart by colour-blind people; neighbours differ in lightness or hatching
// too, so that a picture survives a black-and-white print.
#pragma once

#include "engine/program/Enums_generated.h"

#include <array>
#include <string>
#include <vector>

namespace npar::show {

enum class Hatch { None, Rising, Falling, Dots };

struct Look {
  const char *name; ///< of the schema: "Forward"; of a lane: "collective"
  const char *word; ///< for people: "forward"
  char letter;      ///< "F" in the terminal's timeline
  bool perMicro;    ///< runs once per micro-batch
  bool isWork;      ///< counts when the bubble is counted, and is drawn wide enough to be read
  const char *fill, *ink;
  Hatch hatch;
};

const Look &lookOf(program::Phase phase);
/// All phases in the order of legends, which is the schema's.
const std::vector<Look> &phaseLooks();

/// The look of collectives and of messages between stages.
const Look &collectiveLook();
const Look &transferLook();

/// The use of a byte of the arena.
enum class MemoryKind { Parameters, Optimizer, Gradients, Inputs, Boxes, Stash, Scratch };
constexpr size_t memoryKinds = static_cast<size_t>(MemoryKind::Scratch) + 1;
struct MemoryLook {
  const char *name; ///< "stash"
  const char *fill;
  const char *about; ///< for a tooltip
};
const MemoryLook &lookOf(MemoryKind kind);

} // namespace npar::show
