// The words and the kind of an exception that nothing has caught.
#pragma once

#include "engine/status/Status.h"

#include <exception>
#include <new>
#include <system_error>

namespace npar::engine {

/// The exception that is being handled: memory or threads that the system refuses are a failed run, everything else is a bug of npar.
inline Status statusOfThrown() {
  const Status noThread =
      Status::runFailed("the system refused to start another thread: check 'ulimit -u', 'ulimit -v' and container limits");
  auto internal = [](const std::string &what) { return Status::internal("internal error: " + what); };
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return Status::runFailed("not enough memory");
  } catch (const std::system_error &error) {
    return error.code() == std::errc::resource_unavailable_try_again ? noThread : internal(error.what());
  } catch (const std::exception &error) {
    bool isOfWorkers = std::string(error.what()).rfind("pthread_create has failed", 0) == 0; // oneTBB throws a plain runtime_error
    return isOfWorkers ? noThread : internal(error.what());
  } catch (...) {
    return internal("an exception without a message");
  }
}

} // namespace npar::engine
