// What a program takes as a global batch, read from its tables.
#include "engine/data/BatchShape.h"

namespace npar::engine {

std::string ValueRange::text() const {
  return "axis '" + axis + "'" + (place.empty() ? "" : " (" + place + ")") + " has " + std::to_string(classes) +
         (classes == 1 ? " class, 0" : " classes, 0 to " + std::to_string(classes - 1));
}

BatchShape BatchShape::of(const program::Program &program) {
  BatchShape shape;
  shape.sequence = program.sequence(), shape.rows = program.batch();
  if (program.ignore())
    shape.ignore = *program.ignore();
  for (const program::LogicalInput *input : *program.inputs()) {
    ValueRange &range = input->name()->str() == "targets" ? shape.targets : shape.tokens;
    range.classes = input->classes(), range.axis = input->axis()->str();
    if (const program::SourcePlace *at = input->source())
      range.place = at->file()->str() + ":" + std::to_string(at->line()) + ":" + std::to_string(at->column());
  }
  return shape;
}

} // namespace npar::engine
