// Merges the errors of a job's processes into one text that has each error once.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::job {

/// The exit code and the errors of one process.
struct Verdict {
  engine::Code code = engine::Code::Ok;
  std::vector<std::string> errors;
};

std::vector<uint8_t> pack(const Verdict &verdict);
/// Internal, with a text, for bytes that are no verdict.
Verdict unpackVerdict(const std::vector<uint8_t> &bytes);

/// The exit code of the first process that has another one than Good, and every text once, in the order of the processes. Whose it is is
/// said where it is not of all. `names`: of the processes, such as "process 2 on 'b'".
Verdict agreeOn(const std::vector<Verdict> &verdicts, const std::vector<std::string> &names);

} // namespace npar::job
