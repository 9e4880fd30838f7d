// Reads the secret of a job; the cryptography is libsodium's.
#include "engine/network/JobSecret.h"

#include "engine/files/Descriptor.h"

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sodium.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::engine {

namespace {

constexpr char variable[] = "NPAR_JOB_SECRET", fileVariable[] = "NPAR_JOB_SECRET_FILE";
constexpr char domain[] = "npar job secret 1"; // so that no other program's hash of the same secret is this key

void prepareSodium() {
  static const int ready = ::sodium_init();
  if (ready < 0)
    throw std::runtime_error("the system gives no random bytes"); // nothing that follows would be secret
}

/// A buffer for a secret, zeroed on destruction.
struct Buffer {
  ~Buffer() { ::sodium_memzero(bytes, sizeof(bytes)); }
  char bytes[longestSecret + 3]; // with the end of a line, and one byte that tells a longer file
  size_t size = 0;
};

Result<JobKeyPointer> keyOf(const char *bytes, size_t size, const std::string &where) {
  std::bitset<256> seen;
  for (size_t i = 0; i < size; ++i)
    seen.set(static_cast<unsigned char>(bytes[i]));
  bool isShortOrLong = size < shortestSecret || size > longestSecret, isPlain = seen.count() < fewestDifferentBytes;
  if (isShortOrLong || isPlain)
    return Status::badInput(where + " holds a secret of " + (size > longestSecret ? "more than " : "") +
                            std::to_string(std::min(size, longestSecret)) + " bytes" +
                            (isShortOrLong ? "" : ", of which " + std::to_string(seen.count()) + " differ") + ", a job needs " +
                            std::to_string(shortestSecret) + " to " + std::to_string(longestSecret) + " random ones: " + secretLine);
  return JobKeyPointer(std::make_shared<JobKey>(bytes, size));
}

Status checkFile(int file, const std::string &where) {
  struct stat about;
  if (::fstat(file, &about) != 0)
    return Status::badInput(where + " cannot be checked: " + std::strerror(errno));
  if (!S_ISREG(about.st_mode))
    return Status::badInput(where + " is not a regular file");
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return Status::badInput(where + " belongs to user " + std::to_string(about.st_uid) + ", this process to user " +
                            std::to_string(::geteuid()) + ": the secret must be a file of your own or of root");
  if (unsigned mode = about.st_mode & 07777u; mode != 0600 && mode != 0400) {
    char text[8];
    std::snprintf(text, sizeof(text), "%04o", mode);
    return Status::badInput(where + " has mode " + text + ", but other users must not be able to read a secret: run chmod 600 on it");
  }
  return {};
}

Result<JobKeyPointer> keyOfFile(const char *path) {
  std::string where = std::string(fileVariable) + " '" + path + "'";
  files::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)); // a pipe without a writer must not block
  if (!file)
    return Status::badInput(where + " cannot be opened: " + std::strerror(errno));
  if (Status status = checkFile(file.get(), where); !status.ok())
    return status;
  Buffer buffer;
  while (buffer.size < sizeof(buffer.bytes)) {
    ssize_t count = ::read(file.get(), buffer.bytes + buffer.size, sizeof(buffer.bytes) - buffer.size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Status::badInput(where + " cannot be read: " + std::strerror(errno));
    if (count == 0)
      break;
    buffer.size += static_cast<size_t>(count);
  }
  for (char end : {'\n', '\r'})
    if (buffer.size > 0 && buffer.bytes[buffer.size - 1] == end)
      --buffer.size;
  return keyOf(buffer.bytes, buffer.size, where);
}

} // namespace

JobKey::JobKey(const void *secret, size_t size) {
  prepareSodium();
  crypto_hash_sha256_state state;
  ::crypto_hash_sha256_init(&state);
  ::crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char *>(domain), sizeof(domain));
  ::crypto_hash_sha256_update(&state, static_cast<const unsigned char *>(secret), size);
  ::crypto_hash_sha256_final(&state, key.data());
  ::sodium_memzero(&state, sizeof(state));
  static_assert(sizeof(key) == crypto_hash_sha256_BYTES && sizeof(key) == crypto_auth_hmacsha256_KEYBYTES);
}

JobKey::~JobKey() { ::sodium_memzero(key.data(), key.size()); }

Proof JobKey::prove(const std::string &message) const {
  Proof proof;
  static_assert(sizeof(proof) == crypto_auth_hmacsha256_BYTES);
  ::crypto_auth_hmacsha256(proof.data(), reinterpret_cast<const unsigned char *>(message.data()), message.size(), key.data());
  return proof;
}

bool JobKey::accepts(const Proof &proof, const std::string &message) const {
  return ::crypto_auth_hmacsha256_verify(proof.data(), reinterpret_cast<const unsigned char *>(message.data()), message.size(),
                                         key.data()) == 0;
}

Result<JobKeyPointer> findJobKey(const std::function<const char *(const char *name)> &environment) {
  const char *secret = environment(variable), *path = environment(fileVariable);
  if (secret && path)
    return Status::badInput(std::string(variable) + " and " + fileVariable + " are both set: unset one of them");
  if (path)
    return keyOfFile(path);
  return secret ? keyOf(secret, std::strlen(secret), variable) : JobKeyPointer();
}

void fillWithRandom(void *bytes, size_t size) {
  prepareSodium();
  ::randombytes_buf(bytes, size);
}

} // namespace npar::engine
