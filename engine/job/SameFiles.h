// Compares the files that the processes of a job read, each from its own file system.
#pragma once

#include "engine/files/Fingerprint.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::job {

/// The files that one process reads, with their fingerprints.
struct ReadFile {
  std::string path;
  files::Fingerprint fingerprint;
};

std::vector<uint8_t> pack(const std::vector<ReadFile> &files);
/// An error if the bytes are no list of files.
engine::Result<std::vector<ReadFile>> unpackFiles(const std::vector<uint8_t> &bytes);

/// One message for each file that differs from process 0's, naming the file, the process and both values. After eight messages the rest
/// are only counted. `names`: one per process, such as "process 2 on 'b'".
std::vector<std::string> differences(const std::vector<std::vector<ReadFile>> &processes, const std::vector<std::string> &names);

} // namespace npar::job
