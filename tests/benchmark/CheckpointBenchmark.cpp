// Measures the cost of checkpoints of a compiled program. Prints one JSON object: bytes; seconds of a save (including the processors' time,
// and the stall of the snapshot), of a load and of plain copies of the same bytes, in turn, the medians of several rounds; and steps per
// second without and with saves ten save-times apart. With 0 rounds it loads the folder's checkpoint, and prints the peak memory of the
// load and the bytes of the arenas. Usage: checkpoint_benchmark PROGRAM.npx FOLDER ROUNDS
#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/checkpoint/Resume.h"
#include "engine/data/DataSource.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/Folders.h"
#include "engine/runtime/MemoryNeed.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

using namespace npar;
using namespace npar::engine;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Processor time of all threads of this process, user and kernel.
double processorSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Copies the files of a folder to another one as `cp` and `sync` would; to nowhere where `to` is empty.
double copySeconds(const std::string &from, const std::string &to) {
  std::vector<uint8_t> block(size_t{1} << 20);
  double begun = now();
  if (!to.empty())
    check(files::makeFolder(to));
  const std::vector<std::string> names = *files::namesIn(from);
  for (const std::string &name : names) {
    int source = ::open((from + "/" + name).c_str(), O_RDONLY);
    int target = to.empty() ? -1 : ::open((to + "/" + name).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0666);
    while (ssize_t got = ::read(source, block.data(), block.size()))
      if (got < 0 || (target >= 0 && ::write(target, block.data(), static_cast<size_t>(got)) != got))
        check(Status::runFailed("cannot copy '" + name + "'"));
    if (target >= 0 && (::fsync(target) != 0 || ::close(target) != 0))
      check(Status::runFailed("cannot sync a copy of '" + name + "'"));
    ::close(source);
  }
  double seconds = now() - begun;
  if (!to.empty())
    std::filesystem::remove_all(to);
  return seconds;
}

/// Prints the peak memory of the process, from before its session to after the load.
int loadOnly(const std::shared_ptr<const program::LoadedProgram> &program, const std::string &folder) {
  double before = peakBytes();
  auto session = Session::create(program, {});
  check(session.status());
  auto store = openCheckpointStore(folder);
  check(store.status());
  check(resumeFrom(**session, program->root(), **store).status());
  std::printf("{\"peak\":%.0f,\"arenas\":%llu}\n", peakBytes() - before,
              static_cast<unsigned long long>(memoryNeeded(program->root(), Crew{}).arenas));
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4)
    return 2;
  std::string folder = arguments[2];
  int rounds = std::atoi(arguments[3]);
  auto program = program::LoadedProgram::fromFile(arguments[1]);
  check(program.status());
  if (rounds == 0)
    return loadOnly(*program, folder);
  auto session = Session::create(*program, {});
  check(session.status());
  CheckpointOptions options;
  options.folder = folder, options.keep = 1;
  auto writer = CheckpointWriter::open(**session, *program, options);
  check(writer.status());
  auto data = DataSource::random(1, BatchShape::of((*program)->root()));

  TrainingState state;
  std::vector<double> saves, stalls, busy, copies, loads, reads, plain, saving;
  for (int round = 0; round < rounds; ++round) {
    ++state.step;
    double begun = now(), before = processorSeconds();
    check((*writer)->save(state));
    stalls.push_back(now() - begun);
    check((*writer)->finish());
    saves.push_back(now() - begun);
    busy.push_back(processorSeconds() - before);
    copies.push_back(copySeconds((*writer)->newest(), folder + "/copy"));
    auto store = openCheckpointStore((*writer)->newest());
    check(store.status());
    begun = now();
    check(resumeFrom(**session, (*program)->root(), **store).status());
    loads.push_back(now() - begun);
    reads.push_back(copySeconds((*writer)->newest(), ""));
  }
  // Steps that pass while one save begins at once and ten save-times pass, and the same time without one.
  Batch batch = data->batch(0);
  int64_t step = 0;
  check((*session)->step(batch, step++).status());
  for (int round = 0; round < rounds; ++round)
    for (bool with : {round % 2 == 0, round % 2 != 0}) {
      double begun = now();
      int64_t first = step;
      if (with) {
        ++state.step;
        check((*writer)->save(state));
      }
      while (now() - begun < 10 * median(saves)) {
        check((*session)->step(batch, step++).status());
        check((*writer)->poll());
      }
      (with ? saving : plain).push_back(static_cast<double>(step - first) / (now() - begun));
      check((*writer)->finish());
    }
  std::printf("{\"bytes\":%llu,\"save\":%g,\"busy\":%g,\"stall\":%g,\"copy\":%g,\"load\":%g,\"read\":%g,\"steps_per_second\":%g,"
              "\"steps_per_second_saving\":%g}\n",
              static_cast<unsigned long long>(program::storedBytes((*program)->root())), median(saves), median(busy), median(stalls),
              median(copies), median(loads), median(reads), median(plain), median(saving));
  return 0;
}
