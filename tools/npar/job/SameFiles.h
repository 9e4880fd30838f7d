// Compares the files that the processes of a job read, each from its own file system.
#pragma once

#include "engine/files/Fingerprint.h"
#include "tools/npar/terminal/ExitCode.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

class Job;

/// The files that one process reads, with their fingerprints.
struct ReadFile {
  std::string path;
  program::Fingerprint fingerprint;
};

std::vector<uint8_t> pack(const std::vector<ReadFile> &files);
std::vector<ReadFile> unpackFiles(const std::vector<uint8_t> &bytes);

/// One message for each file that differs from that of process 0, of many the first few: which file, which process, and both values.
/// `names`: of the processes, such as "process 2 on 'b'".
std::vector<std::string> differences(const std::vector<std::vector<ReadFile>> &processes, const std::vector<std::string> &names);

/// All processes call it with the files that they are about to read, and the path of the weights (a file or a folder; empty: none). BadInput,
/// with those messages, where files differ. A process that is alone reads nothing.
ExitCode checkSameFiles(Job &job, std::vector<std::string> paths, const std::string &weights, uint64_t seed);

} // namespace npar::driver
