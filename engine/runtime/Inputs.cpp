// Cuts a global batch into the rows that each rank reads in each micro-batch.
#include "engine/runtime/Inputs.h"

#include "engine/program/Mesh.h"

#include <cstring>

namespace npar::engine {

using namespace program;

Result<Inputs> Inputs::create(const Program &program, const std::vector<uint8_t *> &arenas) {
  Inputs result;
  result.rows = static_cast<uint64_t>(program.batch()), result.columns = static_cast<uint64_t>(program.sequence());
  int64_t share = 1;
  for (uint32_t axis : *program.data_axes())
    share *= program.mesh()->Get(axis)->size();
  if (program.batch() != program.micro_count() * share * program.micro())
    return Status::badInput("the program's batch of " + std::to_string(program.batch()) + " sequences is not " +
                            std::to_string(program.micro_count()) + " micro-batches x " + std::to_string(share) +
                            " data-parallel ranks x " + std::to_string(program.micro()) + " sequences");
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    std::vector<int64_t> coordinates = coordinatesOf(program, static_cast<int64_t>(rank));
    int64_t part = 0;
    for (uint32_t axis : *program.data_axes())
      part = part * program.mesh()->Get(axis)->size() + coordinates[axis];
    const RankClass &rankClass = *program.classes()->Get(classOf(program, static_cast<int64_t>(rank)));
    for (const Input *input : *rankClass.inputs()) {
      std::string name = input->name()->str();
      if (name != "tokens" && name != "targets")
        return Status::badInput("the program has an input '" + name + "'; the engine knows tokens and targets");
      if (input->rows() != program.micro() || input->columns() != program.sequence())
        return Status::badInput("input '" + name + "' of class '" + rankClass.name()->str() + "' is " + std::to_string(input->rows()) +
                                " x " + std::to_string(input->columns()) + ", not " + std::to_string(program.micro()) + " x " +
                                std::to_string(program.sequence()));
      const Region &region = *rankClass.regions()->Get(input->region());
      for (int64_t micro = 0; micro < program.micro_count(); ++micro)
        result.places.push_back({name == "targets", static_cast<uint64_t>((micro * share + part) * program.micro()),
                                 static_cast<uint64_t>(input->rows() * input->columns()),
                                 arenas[rank] + region.offset() + static_cast<uint64_t>(micro) * region.bytes() + input->offset()});
    }
  }
  return result;
}

Status Inputs::fill(const std::vector<int32_t> &tokens, const std::vector<int32_t> &targets) const {
  for (const auto *values : {&tokens, &targets})
    if (values->size() != rows * columns)
      return Status::badInput(std::string(values == &tokens ? "tokens" : "targets") + " hold " + std::to_string(values->size()) +
                              " numbers; a batch has " + std::to_string(rows) + " x " + std::to_string(columns));
  for (const Place &place : places)
    std::memcpy(place.memory, (place.targets ? targets : tokens).data() + place.firstRow * columns, place.count * sizeof(int32_t));
  return {};
}

} // namespace npar::engine
