// Sends frames on a non-blocking socket: magic, size of the message, token, message.
#include "engine/control/Connection.h"

#include "engine/control/Message.h"

#include "engine/network/JobSecret.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace npar::engine {

namespace {

constexpr uint32_t magic = 0x4350524e; // "NRPC"
constexpr size_t headerBytes = 8 + std::tuple_size_v<ControlToken>;

/// Compares in constant time, so that a token cannot be guessed byte by byte.
bool equal(const uint8_t *bytes, const ControlToken &token) {
  uint8_t different = 0;
  for (size_t i = 0; i < token.size(); ++i)
    different |= bytes[i] ^ token[i];
  return different == 0;
}

} // namespace

ControlToken makeToken() {
  ControlToken token;
  fillWithRandom(token.data(), token.size());
  return token;
}

Connection::Connection(files::Descriptor socket, const ControlToken &token) : socket(std::move(socket)), token(token) {}

void Connection::send(const std::vector<uint8_t> &message, bool matters) {
  if (!open() || (!matters && output.size() > mostQueued))
    return;
  uint32_t header[2] = {magic, static_cast<uint32_t>(message.size())};
  auto *begin = reinterpret_cast<const uint8_t *>(header);
  output.insert(output.end(), begin, begin + sizeof(header));
  output.insert(output.end(), token.begin(), token.end());
  output.insert(output.end(), message.begin(), message.end());
  flush();
}

void Connection::flush() {
  size_t sent = 0;
  while (open() && sent < output.size()) {
    ssize_t count = ::send(socket.get(), output.data() + sent, output.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break; // full for now; what else is wrong, reading says
    sent += static_cast<size_t>(count);
  }
  output.erase(output.begin(), output.begin() + static_cast<ptrdiff_t>(sent));
}

std::string Connection::receive(const std::function<bool(const uint8_t *, size_t)> &handle) {
  std::string why;
  uint8_t buffer[16 << 10];
  while (open() && why.empty()) {
    ssize_t count = ::recv(socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (count < 0)
      why = std::strerror(errno);
    else if (count == 0)
      why = "its connection closed";
    else
      input.insert(input.end(), buffer, buffer + count);
    size_t at = 0;
    while (why.empty() && input.size() - at >= headerBytes) {
      uint32_t header[2];
      std::memcpy(header, &input[at], sizeof(header));
      if (header[0] != magic || header[1] > greatestMessage || !equal(&input[at + sizeof(header)], token)) {
        why = "it sent a message that does not belong to this job";
        break;
      }
      if (input.size() - at < headerBytes + header[1])
        break;
      if (!handle(input.data() + at + headerBytes, header[1]))
        why = "it sent a damaged message";
      at += headerBytes + header[1];
    }
    input.erase(input.begin(), input.begin() + static_cast<ptrdiff_t>(at));
  }
  if (!why.empty())
    close();
  return why;
}

void Connection::close() {
  socket = files::Descriptor();
  input.clear(), output.clear();
}

} // namespace npar::engine
