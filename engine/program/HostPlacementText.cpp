// The words of `place`: out of a program, out of a flag, and back into a line.
#include "engine/program/HostPlacement.h"

#include <sstream>

namespace npar::program {
namespace {

std::string joinedNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

engine::Status wrong(const std::string &text, const std::string &why) {
  return engine::Status::badInput("--place '" + text + "': " + why +
                                  "; it is cluster, spread or mesh axes, the slowest first, such as 'pp, dp inside tp'");
}

} // namespace

std::string PlaceWords::text() const {
  std::string text = joinedNames(order);
  if (!inside.empty())
    text += (text.empty() ? "inside " : " inside ") + joinedNames(inside);
  return text.empty() ? "as the mesh" : text;
}

PlaceWords placeOf(const Program &program) {
  PlaceWords words;
  const PlaceClause *clause = program.place();
  if (!clause)
    return words;
  for (const flatbuffers::String *name : *clause->order())
    words.order.push_back(name->str());
  for (const flatbuffers::String *name : *clause->inside())
    words.inside.push_back(name->str());
  words.source = "place";
  if (const SourcePlace *at = clause->source())
    words.source += " at " + at->file()->str() + ":" + std::to_string(at->line()) + ":" + std::to_string(at->column());
  return words;
}

engine::Result<PlaceWords> readPlace(const std::string &text) {
  PlaceWords words;
  words.source = "--place";
  // A name, or nothing where two commas follow each other; a comma and blanks around it part names as blanks alone do.
  std::vector<std::string> *list = &words.order;
  bool open = false; // after a comma, which a name must follow
  std::string spaced;
  for (char c : text)
    spaced += c == ',' ? " , " : std::string(1, c);
  std::istringstream stream(spaced);
  for (std::string word; stream >> word;) {
    if (word == ",") {
      if (open || list->empty())
        return wrong(text, "a comma without a name before it");
      open = true;
    } else if (word == "inside") {
      if (open || list == &words.inside)
        return wrong(text, open ? "a comma without a name after it" : "'inside' twice");
      list = &words.inside;
    } else {
      list->push_back(word);
      open = false;
    }
  }
  if (open || list->empty())
    return wrong(text, open ? "a comma without a name after it" : list == &words.inside ? "no name after 'inside'" : "it is empty");
  return words;
}

} // namespace npar::program
