// The thread that elaborates and compiles while the user types; only the latest state of a text is worked on.
#pragma once

#include "tools/lib/lsp/Analysis.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace npar::driver {

class Worker {
public:
  /// `publish` is called by the worker's thread, `idle` when nothing is left to do; neither while a lock of the worker is held.
  Worker(std::function<void(lsp::Analysis)> publish, std::function<void()> idle);
  ~Worker();
  Worker(const Worker &) = delete;

  /// Replaces a request for the same path; an analysis of it that is under way is given up.
  void ask(lsp::AnalysisRequest request);
  void drop(const std::string &path);
  bool isIdle();
  void waitUntilIdle();

private:
  void run();

  std::function<void(lsp::Analysis)> publish;
  std::function<void()> idle;
  std::mutex mutex;
  std::condition_variable changed, rested;
  std::map<std::string, lsp::AnalysisRequest> waiting; ///< by path
  std::map<std::string, uint64_t> generations;         ///< by path: of the latest request
  std::string last;                                    ///< path of the latest request, which goes first
  bool busy = false, ends = false;
  std::thread thread;
};

} // namespace npar::driver
