// Packs notes, and hashes batches sample by sample, so that processes that read different samples can compute the hash of the whole batch.
#include "engine/training/StepNote.h"

#include "engine/checkpoint/PieceHash.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <xxhash.h>

namespace npar::training {

std::vector<uint8_t> pack(const StepNote &note) {
  size_t begin = 1 + note.stop.size(), size = note.rows.size() * sizeof(RowHash);
  std::vector<uint8_t> bytes(begin + size);
  bytes[0] = static_cast<uint8_t>(note.stop.size());
  std::copy(note.stop.begin(), note.stop.end(), bytes.begin() + 1);
  if (size > 0)
    std::memcpy(bytes.data() + begin, note.rows.data(), size);
  return bytes;
}

StepNote unpackNote(const std::vector<uint8_t> &bytes) {
  StepNote note;
  if (bytes.empty())
    return note;
  size_t begin = std::min<size_t>(bytes.size(), size_t{1} + bytes[0]);
  note.stop.assign(bytes.begin() + 1, bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  note.rows.resize((bytes.size() - begin) / sizeof(RowHash));
  if (!note.rows.empty())
    std::memcpy(note.rows.data(), bytes.data() + begin, note.rows.size() * sizeof(RowHash));
  return note;
}

std::vector<RowHash> hashRows(const engine::BatchShape &shape, const engine::Batch &batch, const std::vector<int64_t> &rows) {
  std::vector<RowHash> hashes;
  XXH3_state_t *state = XXH3_createState();
  for (size_t i = 0; i < rows.size() && state; ++i) {
    XXH3_128bits_reset(state);
    for (size_t input = 0; input < batch.size(); ++input)
      std::visit(
          [&](const auto &values) {
            uint64_t size = shape.inputs[input].elementsOfSample();
            XXH3_128bits_update(state, values.data() + i * size, size * sizeof(values[0]));
          },
          batch[input]);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    hashes.push_back({rows[i], hash.low64, hash.high64});
  }
  XXH3_freeState(state);
  return hashes;
}

std::string hashOfBatch(const std::vector<StepNote> &notes) {
  std::map<int64_t, RowHash> rows; // ordered; several processes may have read the same sample
  for (const StepNote &note : notes)
    for (const RowHash &row : note.rows)
      rows.emplace(row.row, row);
  engine::PieceHash hash;
  for (const auto &[number, row] : rows)
    hash.add(&row, sizeof(row));
  return rows.empty() ? "" : hash.text();
}

} // namespace npar::training
