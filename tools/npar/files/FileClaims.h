// The files that one command reads and writes: an output that is an input, or another output, is refused before anything is written.
#pragma once

#include "dsl/Diagnostics.h"
#include "dsl/Program.h"
#include "engine/program/Program_generated.h"
#include "tools/npar/terminal/ExitCode.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

/// Two claims are on one file when device and inode are the same (links, other spellings), or the path where there is no file yet. Devices
/// and pipes may be claimed by several: nothing in them can be lost. Standard output and standard error are outputs where they go to a
/// file.
class FileClaims {
public:
  FileClaims();
  /// An output, by the name that messages give it, such as "--log". An empty path is none. `endings`: of names of its format, where names
  /// of other ones are to be refused.
  void write(const std::string &what, const std::string &path, std::vector<std::string> endings = {});
  /// A folder in which npar itself names what it writes: `step-N`, `best.json` and its lock are no names of other outputs, nor is the
  /// folder's own.
  void writeCheckpoints(const std::string &what, const std::string &folder);
  /// Claims a file as an input; of a folder all files in it.
  void read(const std::string &what, const std::string &path);
  /// The texts that a model was read from (its own, imported ones, schedules), and the files that its data block names, whether or not the
  /// command reads them.
  void read(const dsl::Sources &texts, const std::optional<dsl::Data> &data);
  /// The files that the data block of a compiled program names.
  void read(const program::Program &compiled);
  /// Usage, and says which two, when an output is claimed otherwise too.
  ExitCode check() const;

private:
  struct Claim {
    std::string what, path;
    std::vector<std::string> endings;
  };
  std::vector<Claim> outputs, inputs, folders;
};

} // namespace npar::driver
