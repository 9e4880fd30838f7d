// Makes everything that npar prints safe for a terminal.
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>

namespace npar::driver {

/// While it lives std::cout and std::cerr print escaped text. What npar itself draws with control characters goes to stderr by other ways.
class PrintableStreams {
public:
  PrintableStreams();
  ~PrintableStreams();
  PrintableStreams(const PrintableStreams &) = delete;
  PrintableStreams &operator=(const PrintableStreams &) = delete;

private:
  class Buffer;
  std::unique_ptr<Buffer> output, errors;
};

/// The stream for text that is a command's product (decoded or generated text): escaped on a terminal, byte for byte elsewhere.
std::ostream &productOutput();

} // namespace npar::driver
