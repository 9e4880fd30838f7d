// Takes fingerprints of the files and compares them.
#include "tools/npar/job/CheckSameFiles.h"

#include "engine/checkpoint/TensorStore.h"
#include "engine/job/SameFiles.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>

namespace npar::driver {

/// Adds the files that weights are read from; each file stays once.
static ExitCode addWeights(const std::vector<std::string> &weights, std::vector<std::string> &paths) {
  for (const std::string &path : weights) {
    engine::Result<std::shared_ptr<const engine::TensorStore>> store = engine::openTensorStore(path);
    if (!store.ok())
      return fail(store.status());
    for (const std::string &file : (*store)->paths())
      paths.push_back(file);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return ExitCode::Good;
}

ExitCode checkSameFiles(Job &job, std::vector<std::string> paths, const std::vector<std::string> &weights, uint64_t seed) {
  if (job.isAlone())
    return ExitCode::Good;
  job.phase("comparing data and weights with the other processes");
  Waiting waiting("comparing data and weights with the other processes");
  std::vector<job::ReadFile> own;
  ExitCode code = addWeights(weights, paths);
  for (size_t i = 0; i < paths.size() && code == ExitCode::Good; ++i) {
    const std::string &path = paths[i];
    engine::Result<files::Fingerprint> fingerprint = files::fingerprintOf(path, job.fingerprints(), seed);
    if (fingerprint.ok())
      own.push_back({path, std::move(*fingerprint)});
    else
      code = fail(fingerprint.status());
  }
  if (code = job.agree(code); code != ExitCode::Good) // waits as long as the slowest disk needs
    return code;
  engine::Result<std::vector<std::vector<uint8_t>>> all = job.gather(pack(own));
  if (!all.ok())
    return fail(all.status());
  std::vector<std::vector<job::ReadFile>> files;
  std::vector<std::string> names;
  for (const std::vector<uint8_t> &each : *all) {
    engine::Result<std::vector<job::ReadFile>> read = job::unpackFiles(each);
    if (!read.ok())
      return fail(read.status());
    files.push_back(std::move(*read));
    names.push_back(job.nameOf(names.size()));
  }
  for (const std::string &text : job::differences(files, names))
    code = fail(ExitCode::BadInput, text);
  return job.agree(code);
}

} // namespace npar::driver
