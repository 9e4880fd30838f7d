// Replaces the buffers of std::cout and std::cerr.
#include "tools/npar/terminal/PrintableStreams.h"

#include "engine/readable/Printable.h"

#include <iostream>
#include <string>
#include <unistd.h>

namespace npar::driver {

static std::streambuf *unescaped = nullptr; ///< the buffer of std::cout while that is escaped

/// Passes complete characters on at once, so it adds no buffering.
class PrintableStreams::Buffer : public std::streambuf {
public:
  explicit Buffer(std::ostream &stream) : stream(stream), to(stream.rdbuf(this)) {}
  ~Buffer() override {
    std::string rest;
    escaper.finish(rest);
    to->sputn(rest.data(), static_cast<std::streamsize>(rest.size()));
    stream.rdbuf(to);
  }
  std::streambuf *target() const { return to; }

protected:
  int_type overflow(int_type character) override {
    char one = traits_type::to_char_type(character);
    return traits_type::eq_int_type(character, traits_type::eof()) || xsputn(&one, 1) == 1 ? traits_type::not_eof(character)
                                                                                           : traits_type::eof();
  }
  std::streamsize xsputn(const char *text, std::streamsize size) override {
    escaped.clear();
    escaper.add({text, static_cast<size_t>(size)}, escaped);
    auto wanted = static_cast<std::streamsize>(escaped.size());
    return to->sputn(escaped.data(), wanted) == wanted ? size : 0;
  }
  int sync() override { return to->pubsync(); }

private:
  std::ostream &stream;
  std::streambuf *to;
  readable::Escaper escaper;
  std::string escaped;
};

PrintableStreams::PrintableStreams() : output(new Buffer(std::cout)), errors(new Buffer(std::cerr)) { unescaped = output->target(); }
PrintableStreams::~PrintableStreams() { unescaped = nullptr; }

std::ostream &productOutput() {
  static std::ostream raw(nullptr);
  if (!unescaped || ::isatty(STDOUT_FILENO))
    return std::cout;
  std::cout.flush();
  if (raw.rdbuf() != unescaped)
    raw.rdbuf(unescaped);
  return raw;
}

} // namespace npar::driver
