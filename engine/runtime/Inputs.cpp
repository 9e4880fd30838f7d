// Cuts a global batch into what each rank reads in each micro-batch, and converts it to the type that kernels read.
#include "engine/runtime/Inputs.h"

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>
#include <map>
#include <type_traits>

namespace npar::engine {

using namespace program;

namespace {

/// Indices in a row of one dimension; beyond its end where the buffer holds zeros.
struct Range {
  uint64_t first, count;
  bool beyond;
};

/// What part `part` of a dimension holds, in the order of the buffer: where it lies in zigzag order, whole chunks and pieces of them.
std::vector<Range> rangesOf(const PieceDimension &dimension, uint64_t zigzag, uint64_t part) {
  uint64_t size = static_cast<uint64_t>(dimension.global()), local = static_cast<uint64_t>(dimension.local());
  uint64_t begin = std::min(part * local, size), end = std::min(begin + local, size);
  uint64_t chunks = 2 * zigzag, chunkSize = chunks ? size / chunks : size;
  std::vector<Range> ranges;
  for (uint64_t place = begin; place < end;) {
    uint64_t slot = place / chunkSize, within = place % chunkSize, count = std::min(end - place, chunkSize - within);
    uint64_t chunk = slot % 2 ? chunks - 1 - slot / 2 : slot / 2, first = chunk * chunkSize + within;
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first)
      ranges.back().count += count;
    else
      ranges.push_back({first, count, false});
    place += count;
  }
  if (end - begin < local)
    ranges.push_back({size, local - (end - begin), true});
  return ranges;
}

template <typename To, typename From> To *convert(const From *from, uint64_t count, To *to) {
  if constexpr (std::is_class_v<To>) // 16 bits, of floats
    return std::transform(from, from + count, to, [](From value) { return To(static_cast<float>(value)); });
  else
    return std::copy_n(from, count, to);
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
        runs.push_back(runsOf(*input, parts));
      const Region &region = *rankClass.regions()->Get(input->region());
      uint64_t bytes = elementsOf(*input) * sizeOf(input->type());
      for (uint64_t micro = 0; micro < region.slots(); ++micro) {
        places.push_back({input->input(), (micro * share + part) * samples, samples, entry->second, input->type(),
                          rank.arena + (region.offset() + micro * region.bytes() + input->offset()), bytes, staged});
        staged += (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double); // so that each begins where its type may
      }
    }
  }
  staging.resize(staged);
}

std::vector<Inputs::Run> Inputs::runsOf(const Input &input, const std::vector<int64_t> &parts) {
  // From the innermost dimension outwards: the runs of one index of a dimension are those of the dimensions inside of it, moved on.
  std::vector<Run> inner = {{0, 1, false}};
  uint64_t stride = 1, elements = 1; // of the dimensions so far: in the sample, in the buffer
  for (uint32_t i = input.dimensions()->size(); i-- > 1;) {
    const PieceDimension &dimension = *input.dimensions()->Get(i);
    std::vector<Run> outer;
    auto add = [&](Run run) {
      bool joins =
          !outer.empty() && outer.back().beyond == run.beyond && (run.beyond || outer.back().first + outer.back().count == run.first);
      if (joins)
        outer.back().count += run.count;
      else
        outer.push_back(run);
    };
    for (const Range &range : rangesOf(dimension, input.zigzag()->Get(i), static_cast<uint64_t>(parts[i])))
      if (range.beyond)
        add({0, range.count * elements, true});
      else
        for (uint64_t index = range.first; index < range.first + range.count; ++index)
          for (const Run &run : inner)
            add({index * stride + run.first, run.count, run.beyond});
    inner = std::move(outer);
    stride *= static_cast<uint64_t>(dimension.global()), elements *= static_cast<uint64_t>(dimension.local());
  }
  return inner;
}

Status Inputs::fill(Backend &backend, const Batch &batch) {
  if (Status status = checkBatch(shape, batch); !status.ok())
    return status;
  for (const Place &place : places) {
    stage(place, batch[place.input]);
    backend.copyIn(place.memory, &staging[place.stagedAt], place.bytes);
  }
  return waitUntilDone(backend);
}

void Inputs::stage(const Place &place, const InputValues &values) {
  uint64_t size = shape.inputs[place.input].elementsOfSample();
  uint8_t *memory = &staging[place.stagedAt];
  auto into = [&](auto *to) {
    std::visit(
        [&](const auto &list) {
          const auto *sample = list.data() + place.firstSample * size;
          for (uint64_t i = 0; i < place.samples; ++i, sample += size)
            for (const Run &run : runs[place.runs])
              to = run.beyond ? std::fill_n(to, run.count, std::decay_t<decltype(*to)>()) : convert(sample + run.first, run.count, to);
        },
        values);
  };
  switch (place.type) {
  case ElementType::I32:
    return into(reinterpret_cast<int32_t *>(memory));
  case ElementType::F32:
    return into(reinterpret_cast<float *>(memory));
  case ElementType::F64:
    return into(reinterpret_cast<double *>(memory));
  case ElementType::BF16:
    return into(reinterpret_cast<BFloat16 *>(memory));
  case ElementType::F16:
    return into(reinterpret_cast<Float16 *>(memory));
  case ElementType::U8:
    return; // no verified program keeps an input so
  }
}

} // namespace npar::engine
