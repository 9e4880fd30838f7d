// Reads a compiled program (.npx) from a file or bytes: header, hash, FlatBuffers verifier, our verifier; and writes one.
#pragma once

#include "engine/files/AtomicFile.h"
#include "engine/program/Program_generated.h"
#include "engine/program/Verify.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::program {

using engine::Result;
using engine::Status;

/// An immutable program: its bytes and the results of the checks of Verify.h, which run once, here, when a program is made or read. Callers
/// need not run them again.
class LoadedProgram {
public:
  const Program &root() const { return *GetProgram(bytes.data() + headerBytes); }
  static constexpr size_t headerBytes = 48;

  /// Seals and checks a program that was filled field by field (compiler, tests). What the checks refuse is an error.
  static Result<std::shared_ptr<const LoadedProgram>> fromTables(const ProgramT &program);
  /// Checks header, length, hash and the FlatBuffers structure, then the program. Errors name what is wrong and where.
  static Result<std::shared_ptr<const LoadedProgram>> fromBytes(std::vector<uint8_t> bytes, const std::string &name);
  static Result<std::shared_ptr<const LoadedProgram>> fromFile(const std::string &path);
  /// The same, but also returns a program that a check refuses, for reports check by check. Its `status` is then an error, and no session
  /// runs it.
  static Result<std::shared_ptr<const LoadedProgram>> examineBytes(std::vector<uint8_t> bytes, const std::string &name);
  static Result<std::shared_ptr<const LoadedProgram>> examineFile(const std::string &path);

  /// The outcome of every check that ran.
  const std::vector<CheckResult> &checks() const { return outcomes; }
  /// Success, or the first check that failed.
  Status status() const { return statusOf(outcomes); }
  const std::vector<uint8_t> &data() const { return bytes; }

private:
  explicit LoadedProgram(std::vector<uint8_t> bytes) : bytes(std::move(bytes)), outcomes(checkProgram(root())) {}
  std::vector<uint8_t> bytes;
  std::vector<CheckResult> outcomes;
};

using ProgramPointer = std::shared_ptr<const LoadedProgram>;

/// Puts the header before a finished FlatBuffers payload.
std::vector<uint8_t> sealProgram(const uint8_t *payload, size_t size);

/// Packs and seals a program that was filled field by field, without checks (for tests of refusals).
std::vector<uint8_t> packProgram(const ProgramT &program);

} // namespace npar::program
