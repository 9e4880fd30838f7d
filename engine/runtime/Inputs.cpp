// Cuts a global batch into what each rank reads in each micro-batch, and converts it to the type that kernels read.
#include "engine/runtime/Inputs.h"

#include "engine/numbers/Convert.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <map>
#include <set>

namespace npar::engine {

using namespace program;

namespace {

template <typename To, typename From> To *convertTo(To *to, const From *from, uint64_t count) {
  convert<To, From>(to, from, count);
  return to + count;
}

} // namespace

Inputs::Inputs(const Program &program, const std::vector<LocalRank> &ranks) : shape(BatchShape::of(program)) {
  auto share = static_cast<uint64_t>(ranksAlong(program, *program.data_axes()));
  std::map<std::pair<const Input *, std::vector<int64_t>>, uint32_t> known; // ranks with the same parts share their runs
  uint64_t staged = 0;
  for (const LocalRank &rank : ranks) {
    std::vector<int64_t> coordinates = coordinatesOf(program, rank.rank);
    const RankClass &rankClass = *program.classes()->Get(classOf(program, rank.rank));
    for (const Input *input : *rankClass.inputs()) {
      std::vector<int64_t> parts;
      for (const PieceDimension *dimension : *input->dimensions())
        parts.push_back(memberAlong(program, coordinates, *input, *dimension));
      auto part = static_cast<uint64_t>(parts[0]), samples = static_cast<uint64_t>(input->dimensions()->Get(0)->local());
      parts[0] = 0;
      auto [entry, isNew] = known.try_emplace({input, parts}, static_cast<uint32_t>(runs.size()));
      if (isNew)
        runs.push_back(runsOfSample(*input->dimensions(), *input->zigzag(), parts));
      const Region &region = *rankClass.regions()->Get(input->region());
      uint64_t bytes = elementsOf(*input) * sizeOf(input->type());
      for (uint64_t micro = 0; micro < region.slots(); ++micro) {
        places.push_back({input->input(), (micro * share + part) * samples, samples, entry->second, input->type(),
                          rank.at(region.offset() + micro * region.bytes() + input->offset()), bytes, staged});
        staged += (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double); // so that each begins where its type may
      }
    }
  }
  staging.resize(staged);
  std::set<int64_t> read;
  for (const Place &place : places)
    for (uint64_t i = 0; i < place.samples; ++i)
      read.insert(static_cast<int64_t>(place.firstSample + i));
  samplesRead.assign(read.begin(), read.end());
}

Status Inputs::fill(Backend &backend, const Batch &batch) {
  bool some = holdsSome(shape, batch, samplesRead.size());
  if (Status status = checkBatch(shape, batch, some ? &samplesRead : nullptr); !status.ok())
    return status;
  for (const Place &place : places) {
    auto first = static_cast<int64_t>(place.firstSample);
    if (some) // samples that follow each other in the batch do so among those that are read
      first = std::lower_bound(samplesRead.begin(), samplesRead.end(), first) - samplesRead.begin();
    stage(place, static_cast<uint64_t>(first), batch[place.input]);
    backend.copyIn(place.memory, &staging[place.stagedAt], place.bytes);
  }
  return waitUntilDone(backend);
}

void Inputs::stage(const Place &place, uint64_t firstSample, const InputValues &values) {
  uint64_t size = shape.inputs[place.input].elementsOfSample();
  uint8_t *memory = &staging[place.stagedAt];
  auto into = [&](auto *to) {
    std::visit(
        [&](const auto &list) {
          const auto *sample = list.data() + firstSample * size;
          for (uint64_t i = 0; i < place.samples; ++i, sample += size)
            for (const SampleRun &run : runs[place.runs])
              to = run.beyond ? std::fill_n(to, run.count, std::decay_t<decltype(*to)>()) : convertTo(to, sample + run.first, run.count);
        },
        values);
  };
  withType(place.type, [&](auto element) { into(reinterpret_cast<decltype(element) *>(memory)); });
}

} // namespace npar::engine
