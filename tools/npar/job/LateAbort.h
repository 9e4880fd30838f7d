// Delays the end of a process that a library aborts because another process is gone, until the verdict is known.
#pragma once

namespace npar::driver {

/// Makes a thread that aborts (SIGABRT) wait `seconds` before this ends the process. In that time the control channel's thread can reach
/// its verdict, upon which `HardExit` ends the process with the report's code. A message-passing library may abort in the middle of a
/// message to a process that was killed (UCX, whose copy out of that process's memory fails). The survivor would be the next process that
/// is gone without a message, and the others could no longer tell which of the two was the cause. Lasts for the rest of the process's life.
void abortLate(double seconds);

} // namespace npar::driver
