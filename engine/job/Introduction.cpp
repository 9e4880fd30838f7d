// Collects a process's description from the operating system, and compares the descriptions of all processes.
#include "engine/job/Introduction.h"

#include "engine/files/AtomicFile.h"
#include "engine/files/CodeFile.h"
#include "engine/program/Words.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <set>
#include <sstream>
#include <unistd.h>
#include <xxhash.h>

namespace npar::job {

using engine::Result;
using engine::Status;

namespace {

std::string hostName() {
  if (const char *given = std::getenv("NPAR_HOST"); given && *given)
    return given;
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 && *name ? name : "unknown";
}

/// CPU flags that decide which arithmetic instructions exist (vector, matrix, FMA, bit manipulation), under the Linux kernel's names.
std::string processorFeatures() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> features;
  for (std::string line; features.empty() && std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        for (const char *kind : {"sse4", "avx", "fma", "f16c", "amx", "bmi"})
          if (word.rfind(kind, 0) == 0)
            features.insert(word);
    }
  return fmt::format("{}", fmt::join(features, " "));
}

std::vector<uint8_t> processorsAllowed() {
  std::vector<uint8_t> allowed(static_cast<size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))), 0);
  cpu_set_t set;
  CPU_ZERO(&set);
  bool known = ::sched_getaffinity(0, sizeof(set), &set) == 0;
  for (size_t i = 0; i < allowed.size(); ++i)
    allowed[i] = !known || (i < CPU_SETSIZE && CPU_ISSET(i, &set));
  return allowed;
}

/// The words of `all` that `some` lacks, separated by commas.
std::string missingIn(const std::string &some, const std::string &all) {
  std::istringstream words(all);
  std::istringstream found(some);
  std::set<std::string> here{std::istream_iterator<std::string>(found), {}};
  std::vector<std::string> missing;
  for (std::string word; words >> word;)
    if (!here.count(word))
      missing.push_back(word);
  return fmt::format("{}", fmt::join(missing, ", "));
}

} // namespace

Result<Introduction> introduceSelf(program::ProductOrder fastest) {
  Introduction own;
  own.host = hostName();
  Result<std::vector<uint8_t>> self = files::readFile(files::fileOfCode(reinterpret_cast<const void *>(&introduceSelf)));
  if (!self.ok())
    return self.status();
  XXH128_hash_t hash = XXH3_128bits(self->data(), self->size());
  own.executable = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');)
    own.arguments.push_back(word);
  if (!own.arguments.empty())
    own.arguments.erase(own.arguments.begin());
  own.features = processorFeatures();
  own.products = program::wordOf(fastest);
  own.processors = processorsAllowed();
  return own;
}

std::vector<uint8_t> pack(const Introduction &introduction) { return tables::pack(introduction); }

Result<Introduction> unpackIntroduction(const std::vector<uint8_t> &bytes) {
  Introduction introduction;
  if (!tables::unpack(bytes, introduction))
    return Status::badInput("the processes of this job run different versions of npar: install the same version on every host");
  return introduction;
}

std::string nameOf(const std::vector<Introduction> &processes, size_t process) {
  return process < processes.size() ? fmt::format("process {} on '{}'", process, processes[process].host)
                                    : fmt::format("process {}", process);
}

std::vector<std::string> namesOf(const std::vector<Introduction> &processes, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(nameOf(processes, i));
  return names;
}

Status checkAlike(const std::vector<Introduction> &processes) {
  const Introduction &first = processes.front();
  for (size_t i = 1; i < processes.size(); ++i) {
    const Introduction &other = processes[i];
    auto refuse = [&](const std::string &what) { return Status::badInput(nameOf(processes, i) + what); };
    if (other.executable != first.executable)
      return refuse(
          fmt::format(" runs another version of npar than process 0 on '{}': install the same version on every host", first.host));
    if (other.arguments != first.arguments)
      return refuse(fmt::format(" was started as 'npar {}', process 0 as 'npar {}': give all processes of a job the same command line",
                                fmt::join(other.arguments, " "), fmt::join(first.arguments, " ")));
    if (std::string lacks = missingIn(other.features, first.features); !lacks.empty())
      return refuse(fmt::format(" has a CPU without {}, but process 0 on '{}' generates kernels for it: run on machines of one kind, "
                                "or start a separate job per kind",
                                lacks, first.host));
    if (std::string more = missingIn(first.features, other.features); !more.empty())
      return refuse(fmt::format(" has a CPU with {}, which the CPU of process 0 on '{}' lacks, and would compute other bits: run on "
                                "machines of one kind, or start a separate job per kind",
                                more, first.host));
  }
  return {};
}

Result<std::vector<Introduction>> readIntroductions(const std::vector<std::vector<uint8_t>> &gathered) {
  std::vector<Introduction> all;
  for (const std::vector<uint8_t> &each : gathered) {
    TRY(Introduction introduction, unpackIntroduction(each));
    all.push_back(std::move(introduction));
  }
  return all;
}

program::ProductOrder agreedOrder(const std::vector<Introduction> &processes) {
  bool same =
      std::all_of(processes.begin(), processes.end(), [&](const Introduction &each) { return each.products == processes[0].products; });
  return same ? program::valueOf<program::ProductOrder>(processes[0].products).value_or(program::ProductOrder::Portable)
              : program::ProductOrder::Portable;
}

int threadsOf(const std::vector<Introduction> &processes, size_t process) {
  const Introduction &own = processes[process];
  double share = 0;
  for (size_t processor = 0; processor < own.processors.size(); ++processor) {
    if (!own.processors[processor])
      continue;
    auto users = std::count_if(processes.begin(), processes.end(), [&](const Introduction &each) {
      return each.host == own.host && processor < each.processors.size() && each.processors[processor];
    });
    share += 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(1, users));
  }
  return std::max(1, static_cast<int>(share + 1e-9));
}

} // namespace npar::job
