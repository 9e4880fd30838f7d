// The files that one command reads and writes. Refuses an output that is also an input or another output, before anything is written.
#pragma once

#include "dsl/Diagnostics.h"
#include "dsl/Program.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::models {

/// Two claims conflict if their files have the same device and inode (links, other spellings), or the same path if the file does not exist
/// yet. Devices and pipes can be claimed several times, because no data in them can be lost. Standard output and standard error are outputs
/// if they are redirected to a file.
class FileClaims {
public:
  FileClaims();
  /// Claims an output under a name for messages, such as "--log". Ignores an empty path. `endings`: file name endings of its format, if
  /// names with the endings of other formats must be refused.
  void write(const std::string &what, const std::string &path, std::vector<std::string> endings = {});
  /// Claims a folder of checkpoints, and in it the names that npar writes (`step-N`, `best.json`, its lock): other outputs cannot use them.
  void writeCheckpoints(const std::string &what, const std::string &folder);
  /// Claims a file as an input, or all files in a folder.
  void read(const std::string &what, const std::string &path);
  /// Claims the texts that a model was read from (its own, imported ones, schedules) and the files that its data block names, even if the
  /// command does not read them.
  void read(const dsl::Sources &texts, const std::optional<dsl::Data> &data);
  /// Claims every file of a checkpoint.
  void read(const engine::CheckpointStore &checkpoint);
  /// Claims the files that the data block of a compiled program names.
  void read(const program::Program &compiled);
  /// Usage, with both claims, if an output conflicts with another claim.
  engine::Status check() const;

private:
  struct Claim {
    std::string what, path;
    std::vector<std::string> endings;
  };
  std::vector<Claim> outputs, inputs, folders;
};

} // namespace npar::models
