// Finds out whether all processes of a job make the same call. They compare their calls before any data move: two different ones would
// otherwise exchange bytes that mean something else on the other side.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::job {

/// A call that all processes of a job make together, as one of them makes it.
struct Call {
  /// A verb phrase for messages: "reads 'head.weight'". It has all arguments that must be equal, except the one in `hash`.
  std::string doing;
  engine::Status refusal = {}; ///< this process cannot make the call; its reason
  std::string hash = {};       ///< of an argument that must have the same value in all processes; empty: there is none
  std::string given = {};      ///< that argument for messages: "the batch"
  std::string rule = {};       ///< what to do if it differs: "every process must pass the whole global batch"
};

/// The contribution of a process that begins the call.
std::vector<uint8_t> packBeginning(const Call &call);
/// The contribution of a process to an exchange inside the call.
std::vector<uint8_t> packInside(const Call &call, std::vector<uint8_t> content);

/// Compares the contributions of all processes, by process, with the one of process `own`, which begins `call`. Its own refusal comes
/// first. Usage: another process makes another call, or is inside one. Another process's refusal has its code. BadInput: the hashes differ.
/// `names`: one per process, such as "process 2 on 'b'".
engine::Status agreeOnCall(const std::vector<std::vector<uint8_t>> &gathered, const Call &call, size_t own,
                           const std::vector<std::string> &names);

/// The contents of an exchange inside the call, by process. Usage: another process has left the call.
engine::Result<std::vector<std::vector<uint8_t>>> contentsInside(const std::vector<std::vector<uint8_t>> &gathered, size_t own,
                                                                 const std::vector<std::string> &names);

} // namespace npar::job
