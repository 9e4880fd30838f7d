// Reads a compiled program (.npx) from a file or bytes: header, hash, FlatBuffers verifier, our verifier; and writes one.
#pragma once

#include "engine/files/AtomicFile.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::program {

using engine::Result;
using engine::Status;

/// A verified program and the bytes that hold it. Immutable.
class LoadedProgram {
public:
  const Program &root() const { return *GetProgram(bytes.data() + headerBytes); }
  static constexpr size_t headerBytes = 48;

  /// Checks header, length, hash and the FlatBuffers structure, then `verifyProgram` of Verify.h. Errors name what is wrong and where.
  static Result<std::shared_ptr<const LoadedProgram>> fromBytes(std::vector<uint8_t> bytes, const std::string &name);
  static Result<std::shared_ptr<const LoadedProgram>> fromFile(const std::string &path);
  /// The same without `verifyProgram`: for `checkProgram`, which reports check by check. Do not run what comes from here.
  static Result<std::shared_ptr<const LoadedProgram>> fromBytesUnchecked(std::vector<uint8_t> bytes, const std::string &name);
  static Result<std::shared_ptr<const LoadedProgram>> fromFileUnchecked(const std::string &path);
  const std::vector<uint8_t> &data() const { return bytes; }

private:
  std::vector<uint8_t> bytes;
};

/// Puts the header before a finished FlatBuffers payload.
std::vector<uint8_t> sealProgram(const uint8_t *payload, size_t size);

/// Packs and seals a program that was filled field by field (emitter, tests).
std::vector<uint8_t> packProgram(const ProgramT &program);

} // namespace npar::program
