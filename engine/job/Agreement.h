// Merges the errors of a job's processes into one text that has each error once.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::job {

/// The exit code and the errors of one process.
struct Verdict {
  engine::Code code = engine::Code::Ok;
  std::vector<std::string> errors;
};

std::vector<uint8_t> pack(const Verdict &verdict);
/// Returns code Internal with an error message if the bytes are not a verdict.
Verdict unpackVerdict(const std::vector<uint8_t> &bytes);

/// The first exit code that is not Ok, in process order, and each distinct error once. An error that only some processes report gets a line
/// that names them, unless process 0 is the only one with errors. `names`: one per process, such as "process 2 on 'b'".
Verdict agreeOn(const std::vector<Verdict> &verdicts, const std::vector<std::string> &names);

/// The same for the packed verdicts that all processes have gathered, in their order.
Verdict agreeOnPacked(const std::vector<std::vector<uint8_t>> &gathered, const std::vector<std::string> &names);

} // namespace npar::job
