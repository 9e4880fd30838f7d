// Reads from a program's tables which global batch it takes.
#include "engine/runtime/BatchShape.h"

#include "engine/program/Words.h"

namespace npar::engine {

using program::InputRole;

std::string ValueRange::text() const {
  if (axis.empty() && byLoss)
    return "the binary cross-entropy" + (place.empty() ? "" : " (" + place + ")") + " takes 0 and 1; `loss ... where` may leave others out";
  if (axis.empty())
    return "the data block" + (place.empty() ? "" : " (" + place + ")") + " says that it is below " + std::to_string(classes);
  return "axis '" + axis + "'" + (place.empty() ? "" : " (" + place + ")") + " has " + std::to_string(classes) +
         (classes == 1 ? " class, 0" : " classes, 0 to " + std::to_string(classes - 1));
}

/// Limits of an integer type.
static int64_t leastOf(program::ElementType type) { return static_cast<int64_t>(program::rowOf(type).least); }
static int64_t largestOf(program::ElementType type) { return static_cast<int64_t>(program::rowOf(type).largest); }

bool InputShape::has(int64_t value) const { return value >= leastOf(type) && value <= largestOf(type) && range.has(value); }

std::string InputShape::rangeText() const {
  if (range.classes != 0 && range.classes <= largestOf(type))
    return range.text();
  return std::string(program::wordOf(type)) + " holds " + std::to_string(leastOf(type)) + " to " + std::to_string(largestOf(type));
}

uint64_t InputShape::elementsOfSample() const {
  uint64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i)
    elements *= static_cast<uint64_t>(shape[i]);
  return elements;
}

std::string InputShape::typeText() const {
  std::string text = std::string(program::wordOf(type)) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + axes[i] + " " + std::to_string(shape[i]);
  return text + "]";
}

std::string InputShape::positionText(uint64_t element) const {
  std::string text;
  for (size_t i = shape.size(); i-- > 1;) {
    auto size = static_cast<uint64_t>(shape[i]);
    text = std::to_string(element % size) + (text.empty() ? "" : ", ") + text;
    element /= size;
  }
  return text.empty() ? "" : " at position " + (shape.size() > 2 ? "[" + text + "]" : text);
}

BatchShape BatchShape::of(const program::Program &program) {
  BatchShape result;
  result.rows = program.batch();
  for (const program::LogicalInput *input : *program.inputs()) {
    InputShape &shape = result.inputs.emplace_back();
    shape.name = input->name()->str(), shape.type = input->type(), shape.role = input->role();
    for (const auto *axis : *input->axes())
      shape.axes.push_back(axis->str());
    shape.shape.assign(input->shape()->begin(), input->shape()->end());
    shape.range.classes = input->classes(), shape.range.axis = input->axis()->str(), shape.range.byLoss = true;
    if (const program::SourcePlace *at = input->source())
      shape.range.place = at->file()->str() + ":" + std::to_string(at->line()) + ":" + std::to_string(at->column());
    if (input->ignore())
      shape.ignore = *input->ignore();
  }
  if (program.data())
    result.follow(*program.data());
  return result;
}

void BatchShape::follow(const program::DataBlock &data) {
  for (const program::DataGroup *group : *data.groups())
    for (const program::DataFeed *feed : *group->feeds()) {
      InputShape &input = inputs[feed->input()];
      if (feed->below() && (input.range.classes == 0 || feed->below() < input.range.classes)) {
        input.range = {feed->below(), feed->axis()->str(), ""};
        if (const program::SourcePlace *at = feed->source())
          input.range.place = at->file()->str() + ":" + std::to_string(at->line()) + ":" + std::to_string(at->column());
      }
      if (program::isStream(group->files()->Get(0)->format()))
        input.role = feed->valid() ? InputRole::Other : feed->shift() ? InputRole::Shifted : InputRole::Stream;
    }
}

const InputShape *BatchShape::find(InputRole role) const {
  for (const InputShape &input : inputs)
    if (input.role == role)
      return &input;
  return nullptr;
}

const InputShape *BatchShape::ignoring() const {
  for (const InputShape &input : inputs)
    if (input.ignore)
      return &input;
  return nullptr;
}

int64_t BatchShape::tokensOfSample() const {
  const InputShape *stream = find(InputRole::Stream), *shifted = find(InputRole::Shifted);
  return stream || shifted ? static_cast<int64_t>((stream ? stream : shifted)->elementsOfSample()) : 0;
}

std::string BatchShape::names() const {
  std::string text;
  for (const InputShape &input : inputs)
    text += (text.empty() ? "" : ", ") + input.name;
  return text;
}

} // namespace npar::engine
