// The secret that the processes of a job share: read from the environment or a file, kept as a key that only makes and checks proofs.
#pragma once

#include "engine/status/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace npar::engine {

/// HMAC-SHA256 over a message, with the key of a job.
using Proof = std::array<uint8_t, 32>;

/// The hash of a secret. It cannot be read, copied or printed, and is zeroed on destruction.
class JobKey {
public:
  JobKey(const void *secret, size_t size);
  ~JobKey();
  JobKey(const JobKey &) = delete;
  JobKey &operator=(const JobKey &) = delete;
  Proof prove(const std::string &message) const;
  /// Compares in constant time.
  bool accepts(const Proof &proof, const std::string &message) const;

private:
  std::array<uint8_t, 32> key;
};

using JobKeyPointer = std::shared_ptr<const JobKey>;

/// Fewest and most bytes of a secret.
constexpr size_t shortestSecret = 16, longestSecret = 4096;
/// A secret with fewer different bytes was typed, or is a run of blanks or zeros: random digits practically never have so few.
constexpr size_t fewestDifferentBytes = 8;

constexpr char secretAdvice[] = "set the same NPAR_JOB_SECRET (or NPAR_JOB_SECRET_FILE) on every host";
/// A command for a shell that makes a secret.
constexpr char secretLine[] = "export NPAR_JOB_SECRET=$(openssl rand -hex 32)";

/// The key of $NPAR_JOB_SECRET, or of the file that $NPAR_JOB_SECRET_FILE names, without the end of its last line; null where neither is
/// set. BadInput: both are set, the secret is too short or too long or has too few different bytes, or the file is no regular file, belongs
/// to another user than this one or root, or has a mode other than 0600 and 0400. No message holds any part of the secret.
Result<JobKeyPointer> findJobKey(const std::function<const char *(const char *name)> &environment);

/// Random bytes of the operating system.
void fillWithRandom(void *bytes, size_t size);

} // namespace npar::engine
