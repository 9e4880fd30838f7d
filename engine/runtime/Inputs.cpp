// Cuts a global batch into the rows and columns that each rank reads in each micro-batch.
#include "engine/runtime/Inputs.h"

#include "engine/program/Classes.h"
#include "engine/program/Ranks.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

Result<Inputs> Inputs::create(const Program &program, const std::vector<LocalRank> &ranks) {
  Inputs result;
  result.rows = static_cast<uint64_t>(program.batch()), result.columns = static_cast<uint64_t>(program.sequence());
  auto share = static_cast<int64_t>(ranksAlong(program, *program.data_axes()));
  if (program.batch() != program.micro_count() * share * program.micro())
    return Status::badInput("the program's batch of " + std::to_string(program.batch()) + " sequences is not " +
                            std::to_string(program.micro_count()) + " micro-batches x " + std::to_string(share) +
                            " data-parallel ranks x " + std::to_string(program.micro()) + " sequences");
  uint64_t staged = 0;
  for (const LocalRank &rank : ranks) {
    std::vector<int64_t> coordinates = coordinatesOf(program, rank.rank);
    int64_t part = memberAlong(program, coordinates, *program.data_axes());
    const RankClass &rankClass = *program.classes()->Get(classOf(program, rank.rank));
    for (const Input *input : *rankClass.inputs()) {
      std::string name = input->name()->str();
      if (name != "tokens" && name != "targets")
        return Status::badInput("the program has an input '" + name + "'; the engine knows tokens and targets");
      auto parts = static_cast<int64_t>(ranksAlong(program, *input->column_axes()));
      int64_t column = memberAlong(program, coordinates, *input->column_axes());
      int64_t columns = (program.sequence() + parts - 1) / parts;
      if (input->rows() != program.micro() || input->columns() != columns)
        return Status::badInput("input '" + name + "' of class '" + rankClass.name()->str() + "' is " + std::to_string(input->rows()) +
                                " x " + std::to_string(input->columns()) + ", not " + std::to_string(program.micro()) + " x " +
                                std::to_string(columns));
      std::vector<Run> runs = runsOf(*input, static_cast<uint64_t>(column), result.columns);
      auto known = std::find(result.runs.begin(), result.runs.end(), runs);
      auto index = static_cast<uint32_t>(known - result.runs.begin());
      if (known == result.runs.end())
        result.runs.push_back(std::move(runs));
      const Region &region = *rankClass.regions()->Get(input->region());
      auto rows = static_cast<uint64_t>(input->rows());
      for (int64_t micro = 0; micro < program.micro_count(); ++micro) {
        DeviceAddress memory = rank.arena + (region.offset() + static_cast<uint64_t>(micro) * region.bytes() + input->offset());
        auto firstRow = static_cast<uint64_t>((micro * share + part) * program.micro());
        result.places.push_back({name == "targets", firstRow, rows, index, memory, staged});
        staged += rows * static_cast<uint64_t>(columns);
      }
    }
  }
  result.staging.resize(staged);
  return result;
}

std::vector<Inputs::Run> Inputs::runsOf(const Input &input, uint64_t part, uint64_t sequence) {
  uint64_t columns = static_cast<uint64_t>(input.columns()), begin = part * columns, end = begin + columns;
  std::vector<Run> runs;
  auto add = [&](uint64_t first, uint64_t count) {
    if (!count)
      return;
    if (!runs.empty() && runs.back().first + runs.back().count == first)
      runs.back().count += count;
    else
      runs.push_back({first, count, false});
  };
  uint64_t last = std::min(end, sequence), chunks = 2 * uint64_t(input.zigzag()), size = chunks ? sequence / chunks : sequence;
  for (uint64_t place = std::min(begin, last); place < last;) {
    uint64_t slot = place / size, within = place % size, count = std::min(last - place, size - within);
    uint64_t chunk = slot % 2 ? chunks - 1 - slot / 2 : slot / 2;
    add(chunk * size + within, count);
    place += count;
  }
  uint64_t given = last - std::min(begin, last);
  if (given < columns)
    runs.push_back({sequence, columns - given, true});
  return runs;
}

Status Inputs::fill(Backend &backend, const std::vector<int32_t> &tokens, const std::vector<int32_t> &targets) {
  for (const auto *values : {&tokens, &targets})
    if (values->size() != rows * columns)
      return Status::badInput(std::string(values == &tokens ? "tokens" : "targets") + " hold " + std::to_string(values->size()) +
                              " numbers; a batch has " + std::to_string(rows) + " x " + std::to_string(columns));
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &place = places[i];
    stage(place, (place.targets ? targets : tokens).data() + place.firstRow * columns);
    uint64_t end = i + 1 < places.size() ? places[i + 1].stagedAt : staging.size();
    backend.copyIn(place.memory, &staging[place.stagedAt], (end - place.stagedAt) * sizeof(int32_t));
  }
  return waitUntilDone(backend);
}

void Inputs::stage(const Place &place, const int32_t *batch) {
  int32_t *values = &staging[place.stagedAt];
  for (uint64_t row = 0; row < place.rows; ++row, batch += columns)
    for (const Run &run : runs[place.runs]) {
      if (run.beyond)
        std::fill_n(values, run.count, 0);
      else
        std::copy_n(batch + run.first, run.count, values);
      values += run.count;
    }
}

} // namespace npar::engine
