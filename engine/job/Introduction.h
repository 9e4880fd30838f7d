// Each process of a job first describes itself. The others check that all run the same npar, and learn which processes share a machine.
#pragma once

#include "engine/job/Introduction_generated.h"
#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::job {

using Introduction = wire::IntroductionT; // Introduction.fbs describes its fields

/// Describes this process; `fastest` is the order of products of bf16 that it computes fastest.
engine::Result<Introduction> introduceSelf(program::ProductOrder fastest);

std::vector<uint8_t> pack(const Introduction &introduction);
engine::Result<Introduction> unpackIntroduction(const std::vector<uint8_t> &bytes);

/// Fails with the first process that differs from process 0 in the driver, the command line or the CPU features, which must match because
/// process 0 generates the kernels of all processes.
engine::Status checkAlike(const std::vector<Introduction> &processes);

/// Unpacks the introductions that all processes have gathered, in their order.
engine::Result<std::vector<Introduction>> readIntroductions(const std::vector<std::vector<uint8_t>> &gathered);

/// The order of products of bf16 that all processes take unless they are asked for one: the fastest of each if it is the same one,
/// otherwise the portable one.
program::ProductOrder agreedOrder(const std::vector<Introduction> &processes);

/// The default number of workers of a process: the processors it may run on, each divided evenly among the processes of the host that may
/// use it, rounded down; at least 1.
int threadsOf(const std::vector<Introduction> &processes, size_t process);

/// "process 2 on 'host'"; "process 2" if it has not introduced itself, as when a process fails before that.
std::string nameOf(const std::vector<Introduction> &processes, size_t process);
/// The same for each of `count` processes.
std::vector<std::string> namesOf(const std::vector<Introduction> &processes, size_t count);

} // namespace npar::job
