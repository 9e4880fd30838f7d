// Packs notes, and hashes batches sample by sample, so that processes that read different samples can compute the hash of the whole batch.
#include "engine/training/StepNote.h"

#include "engine/files/StreamHash.h"
#include "engine/tables/Tables.h"

#include <map>
#include <xxhash.h>

namespace npar::training {

std::vector<uint8_t> pack(const StepNote &note) {
  flatbuffers::FlatBufferBuilder builder(256);
  auto *stop = note.stop.empty() ? nullptr : note.stop.c_str();
  return tables::finish(builder, wire::CreateStepNoteDirect(builder, stop, note.rows.empty() ? nullptr : &note.rows));
}

StepNote unpackNote(const std::vector<uint8_t> &bytes) {
  wire::StepNoteT note;
  tables::unpack(bytes, note);
  return {std::move(note.stop), std::move(note.rows)};
}

std::vector<RowHash> hashRows(const engine::BatchShape &shape, const engine::Batch &batch, const std::vector<int64_t> &rows) {
  std::vector<RowHash> hashes;
  files::StreamHash hash;
  for (size_t i = 0; i < rows.size(); ++i) {
    hash.reset();
    for (size_t input = 0; input < batch.size(); ++input)
      std::visit(
          [&](const auto &values) {
            uint64_t size = shape.inputs[input].elementsOfSample();
            hash.add(values.data() + i * size, size * sizeof(values[0]));
          },
          batch[input]);
    files::StreamHash::Digest digest = hash.digest();
    hashes.emplace_back(rows[i], digest.low, digest.high);
  }
  return hashes;
}

std::string hashOfBatch(const std::vector<StepNote> &notes) {
  std::map<int64_t, RowHash> rows; // ordered; several processes may have read the same sample
  for (const StepNote &note : notes)
    for (const RowHash &row : note.rows)
      rows.emplace(row.row(), row);
  files::StreamHash hash;
  for (const auto &[number, row] : rows)
    hash.add(&row, sizeof(row));
  return rows.empty() ? "" : hash.text();
}

} // namespace npar::training
