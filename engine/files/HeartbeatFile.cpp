// Exclusive creation takes a free lock; a rename takes a stale one, and the name tells who came last.
#include "engine/files/HeartbeatFile.h"

#include "engine/files/BlockedSignals.h"
#include "engine/files/RandomName.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Result;
using engine::Status;

namespace {

constexpr const char *title = "npar lock 1";
constexpr size_t largest = 1024;  ///< bytes of a record
constexpr int counterDigits = 20; ///< digits of the counter at its end

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The time when a process began, in ticks since boot, and whether it is a zombie. Empty: unknown.
struct ProcessStart {
  std::string ticks;
  bool ended = false;
};

ProcessStart startOf(const std::string &process) {
  std::string line = firstLine("/proc/" + process + "/stat");
  size_t name = line.rfind(')'); // which may hold anything
  std::istringstream fields(name == std::string::npos ? "" : line.substr(name + 1));
  ProcessStart start;
  for (int number = 3; number <= 22 && fields >> start.ticks; ++number)
    start.ended |= number == 3 && (start.ticks == "Z" || start.ticks == "X");
  return fields ? start : ProcessStart();
}

/// "BOOT NAMESPACE": processes with the same two can look at each other.
std::string machineText() {
  char space[64] = {};
  std::string boot = firstLine("/proc/sys/kernel/random/boot_id");
  return boot.empty() || ::readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0 ? "" : boot + " " + space;
}

std::string identityOfSelf() {
  std::string machine = machineText(), process = std::to_string(::getpid());
  char host[256] = {};
  (void)::gethostname(host, sizeof(host) - 1);
  return (machine.empty() ? "unknown unknown" : machine) + " " + process + " " + startOf(process).ticks + " " + (*host ? host : "unknown");
}

/// The content of a lock file.
struct Record {
  std::string text; ///< all of it: any other text is a sign of life
  std::string machine, process, start, host;
};

Record parse(const std::string &text) {
  Record record;
  record.text = text;
  std::istringstream lines(text);
  std::string line, boot, space;
  if (std::getline(lines, line) && line == title && lines >> boot >> space >> record.process >> record.start >> record.host)
    record.machine = boot + " " + space;
  return record;
}

/// Nothing if the file is missing; an error if the name belongs to something else than a lock.
Result<std::optional<Record>> read(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && errno == ENOENT)
    return std::optional<Record>();
  struct stat info;
  char bytes[largest];
  ssize_t got = -1;
  if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode))
    got = ::pread(file, bytes, sizeof(bytes), 0);
  int why = errno;
  if (file >= 0)
    ::close(file);
  if (got < 0)
    return Status::badInput("'" + path + "' is no lock of npar's" + (file < 0 ? std::string(": ") + std::strerror(why) : "") +
                            "; remove it");
  return std::optional<Record>(parse({bytes, static_cast<size_t>(got)}));
}

enum class Life { Alive, Gone, Unknown };

Life lifeOf(const Record &record) {
  if (record.machine.empty() || record.machine != machineText() || record.process.empty() || record.process.size() > 9 ||
      record.process.find_first_not_of("0123456789") != std::string::npos)
    return Life::Unknown;
  if (::kill(static_cast<pid_t>(std::atol(record.process.c_str())), 0) != 0 && errno == ESRCH)
    return Life::Gone;
  ProcessStart start = startOf(record.process);
  if (start.ticks.empty()) // of another user, where /proc is hidden
    return Life::Unknown;
  return start.ticks == record.start && !start.ended ? Life::Alive : Life::Gone;
}

std::string holderText(const Record &record) {
  bool plain = std::all_of(record.host.begin(), record.host.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  return record.machine.empty() || !plain ? "" : " (process " + record.process.substr(0, 20) + " on '" + record.host.substr(0, 64) + "')";
}

double secondsNow() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
void sleepFor(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Whether the lock is still as it was seen, after as long as its holder may take to move it. Nothing: it has gone meanwhile.
Result<std::optional<bool>> standsStill(const std::string &path, const Record &seen, const HeartbeatTimes &times) {
  for (double begun = times.now(); times.now() - begun < times.stale; times.sleep(times.stale / 60)) {
    Result<std::optional<Record>> again = read(path);
    if (!again.ok())
      return again.status();
    if (!*again)
      return std::optional<bool>();
    if ((*again)->text != seen.text)
      return std::optional<bool>(false);
  }
  return std::optional<bool>(true);
}

} // namespace

/// Allocates nothing, because a thread of its own calls it.
bool HeartbeatFile::write() {
  char number[24];
  std::snprintf(number, sizeof(number), "%0*llu\n", counterDigits, static_cast<unsigned long long>(counter));
  std::copy(number, number + counterDigits + 1, text.end() - (counterDigits + 1));
  // A file system over a network passes on what is synced; the lock is as good where that fails.
  bool written = ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  return written && (::fdatasync(file), true);
}

/// Returns 0 or errno.
int HeartbeatFile::create(const std::string &name) {
  file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0)
    return errno;
  if (write())
    return 0;
  int error = errno;
  ::close(std::exchange(file, -1));
  ::unlink(name.c_str());
  return error;
}

/// Opens by name, since that makes a file system over a network ask its server.
bool HeartbeatFile::isNamed() const {
  struct stat own, named;
  int there = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool same =
      there >= 0 && ::fstat(there, &named) == 0 && ::fstat(file, &own) == 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  if (there >= 0)
    ::close(there);
  return same;
}

Result<std::unique_ptr<HeartbeatFile>> HeartbeatFile::take(const std::string &path, const std::string &refusal, HeartbeatTimes times,
                                                           const std::string &unwritable) {
  times.now = times.now ? times.now : secondsNow;
  times.sleep = times.sleep ? times.sleep : sleepFor;
  std::unique_ptr<HeartbeatFile> lock(new HeartbeatFile(path, times));
  lock->token = randomName();
  lock->text = std::string(title) + "\n" + (times.holder ? times.holder() : identityOfSelf()) + "\n" + lock->token + "\n" +
               std::string(counterDigits + 1, '0');
  auto failure = [&](int why) {
    return Status::badInput((unwritable.empty() ? "cannot lock '" + path + "'" : unwritable) + ": " + std::strerror(why));
  };
  auto refuse = [&](const Record &holder) { return Status::badInput(refusal + holderText(holder)); };
  while (true) {
    int error = lock->create(path);
    if (error == 0)
      break;
    if (error != EEXIST && error != ELOOP)
      return failure(error);
    Result<std::optional<Record>> seen = read(path);
    if (!seen.ok())
      return seen.status();
    if (!*seen) // its holder has just given it back
      continue;
    Life life = lifeOf(**seen);
    if (life == Life::Alive)
      return refuse(**seen);
    if (life == Life::Unknown) {
      Result<std::optional<bool>> still = standsStill(path, **seen, times);
      if (!still.ok())
        return still.status();
      if (!*still)
        continue;
      if (!**still)
        return refuse(**seen);
    }
    std::string taking = path + "." + lock->token;
    if (int error = lock->create(taking))
      return failure(error);
    Result<std::optional<Record>> again = read(path);
    bool same = again.ok() && *again && (*again)->text == (*seen)->text;
    if (!same || ::rename(taking.c_str(), path.c_str()) != 0) {
      int why = errno;
      ::unlink(taking.c_str());
      ::close(std::exchange(lock->file, -1));
      if (same)
        return failure(why);
      continue;
    }
    times.sleep(times.settle);
    if (lock->isNamed())
      break;
    ::close(std::exchange(lock->file, -1));
    return Status::badInput(refusal);
  }
  if (times.beat > 0) {
    sigset_t all; // signals are for the threads that the program has itself
    ::sigfillset(&all);
    BlockedSignals blocked(all);
    lock->thread = std::thread([held = lock.get()] { held->beatAlways(); });
  }
  return lock;
}

void HeartbeatFile::beat() {
  std::lock_guard<std::mutex> guard(mutex);
  ++counter;
  (void)write();
}

void HeartbeatFile::beatAlways() {
  std::unique_lock<std::mutex> guard(mutex);
  while (!wake.wait_for(guard, std::chrono::duration<double>(times.beat), [this] { return ending; })) {
    ++counter;
    (void)write();
  }
}

Status HeartbeatFile::check() const {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g", times.stale);
  return isNamed() ? Status()
                   : Status::runFailed("another run took over '" + path + "', because this run did not update its counter for " + seconds +
                                       " s, or the file was removed: nothing more is written there");
}

HeartbeatFile::~HeartbeatFile() {
  if (thread.joinable()) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      ending = true;
    }
    wake.notify_all();
    thread.join();
  }
  if (file < 0)
    return;
  if (isNamed())
    ::unlink(path.c_str());
  ::close(file);
}

} // namespace npar::files
