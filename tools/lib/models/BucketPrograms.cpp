// Compiles a plan again with other sizes of buckets.
#include "tools/lib/models/BucketPrograms.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::models {

using engine::Result;

namespace {

/// The largest unit that the bytes are a whole number of, and that number.
std::pair<int64_t, const char *> inUnits(int64_t bytes) {
  static constexpr std::pair<int64_t, const char *> units[] = {{1 << 30, "GiB"},  {1'000'000'000, "GB"}, {1 << 20, "MiB"},
                                                               {1'000'000, "MB"}, {1 << 10, "KiB"},      {1000, "kB"}};
  for (auto [size, name] : units)
    if (bytes % size == 0)
      return {bytes / size, name};
  return {bytes, "B"};
}

/// Bytes of the gradients that the rank with most of them adds up.
int64_t gradientBytes(const program::Program &program) {
  uint64_t most = 0;
  for (const program::RankClass *rankClass : *program.classes()) {
    uint64_t bytes = 0;
    for (const program::Piece *piece : *rankClass->pieces())
      if (program.variables()->Get(piece->variable())->kind() == program::VariableKind::Accumulator)
        bytes += piece->bytes();
    most = std::max(most, bytes);
  }
  return static_cast<int64_t>(most);
}

std::vector<int64_t> sizesFor(int64_t gradients) {
  std::vector<int64_t> sizes = {0};
  for (int64_t part : {64, 16, 4, 1}) {
    int64_t size = 1024;
    while (size < gradients / part)
      size *= 2;
    if (size != sizes.back())
      sizes.push_back(size);
  }
  return sizes;
}

} // namespace

std::string bucketText(int64_t bytes) {
  return bytes == 0 ? "no bucket" : fmt::format("bucket {} {}", inUnits(bytes).first, inUnits(bytes).second);
}

std::string bucketSetting(int64_t bytes) {
  return bytes == 0 ? "bucket=none" : fmt::format("bucket={}{}", inUnits(bytes).first, inUnits(bytes).second);
}

Result<std::vector<BucketProgram>> compileBuckets(const ModelOptions &options, const ProgramPointer &own, engine::Observer &observer) {
  TRY(ElaboratedModel text, elaborateModel(options, observer, {}, /*withWarnings=*/false));
  std::vector<BucketProgram> made = {{text.program.plan.bucket, own}};
  for (int64_t bytes : sizesFor(gradientBytes(own->root()))) {
    if (bytes == made.front().bytes)
      continue;
    text.program.plan.bucket = bytes;
    Result<ProgramPointer> program =
        text.compilation->compile(text.program, /*withoutKernels=*/false, options.targets, /*withWarnings=*/false);
    if (!program.ok() && observer.wantsToStop())
      return program.status();
    if (!program.ok()) {
      std::string why = program.status().message();
      observer.remark(fmt::format("'{}' is not tried: {}", bucketText(bytes), why.substr(0, why.find('\n'))));
    } else if (std::none_of(made.begin(), made.end(),
                            [&](const BucketProgram &other) { return other.program->data() == (*program)->data(); })) {
      made.push_back({bytes, std::move(*program)});
    }
  }
  return made;
}

} // namespace npar::models
