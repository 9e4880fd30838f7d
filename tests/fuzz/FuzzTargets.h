// What is fuzzed: each target gives bytes to one reader, which refuses or accepts them. A crash, a sanitizer's finding or abort() is a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace npar::fuzz {

using Target = void (*)(const uint8_t *bytes, size_t size);

void fuzzConfig(const uint8_t *bytes, size_t size);      ///< a config.json: read, and understood by every family of the standard library
void fuzzForeign(const uint8_t *bytes, size_t size);     ///< a run of another program, read as one of each: understood, written as a plan
void fuzzFrames(const uint8_t *bytes, size_t size);      ///< messages of other processes of a group: frames, envelopes, announced sizes
void fuzzHandshake(const uint8_t *bytes, size_t size);   ///< bytes of a stranger in place of a process's proof
void fuzzIndex(const uint8_t *bytes, size_t size);       ///< a model.safetensors.index.json: which file has which tensor
void fuzzMachine(const uint8_t *bytes, size_t size);     ///< the text of a machine
void fuzzManifest(const uint8_t *bytes, size_t size);    ///< the manifest.json of a checkpoint: as it is, and sealed with a right hash
void fuzzModelText(const uint8_t *bytes, size_t size);   ///< a .npar file: text to elaborated program, and its tree printed and read again
void fuzzPicture(const uint8_t *bytes, size_t size);     ///< a PNG, JPEG or IDX file, plain or packed: read to its last byte, and prepared
void fuzzProgram(const uint8_t *bytes, size_t size);     ///< a .npx file: as it is, and sealed with a right hash
void fuzzSafetensors(const uint8_t *bytes, size_t size); ///< a .safetensors file: header, ranges, and written again
void fuzzSchedule(const uint8_t *bytes, size_t size);    ///< a schedule in PyTorch's action format
void fuzzTokenizer(const uint8_t *bytes, size_t size);   ///< a tokenizer.json or tokenizer.model: texts cut by it, whole and in parts
void fuzzWire(const uint8_t *bytes, size_t size);        ///< messages of other processes and flight records that are FlatBuffers

/// Aborts, which is a finding, where what must hold does not.
inline void check(bool good) {
  if (!good)
    std::abort();
}

} // namespace npar::fuzz
