// Starts threads that must continue while another thread of the process handles SIGABRT.
#pragma once

#include <functional>
#include <thread>

namespace npar::engine {

/// Starts a thread that never handles a SIGABRT from outside of the process: another thread will.
std::thread threadWithoutAborts(std::function<void()> body);

} // namespace npar::engine
