// A library that gives the process up because another process is gone: it ends when all have said who that is, not before.
#pragma once

#include <functional>
#include <thread>

namespace npar::engine {

/// From now on a thread that aborts (SIGABRT) waits so long before the process ends of it, and the control channel's thread has that time
/// for its verdict, upon which `HardExit` ends the process with the report's code. A message-passing library may abort in the middle of a
/// message to a process that was killed (UCX, whose copy out of that process's memory fails); the survivor would be the next one that is
/// gone without a word, and the others could no longer tell which of the two was the cause. For the rest of the process's life.
void abortLate(double seconds);

/// A thread that is not to wait where a SIGABRT comes from outside of the process: another one will.
std::thread threadWithoutAborts(std::function<void()> body);

} // namespace npar::engine
