// The language server: requests of an editor to answers, over LLVM's transport.
#pragma once

#include <cstdio>

namespace npar::driver {

/// The end of a server's life.
enum class ServerEnd {
  Good,    ///< after `shutdown`
  Early,   ///< without `shutdown`
  NoEditor ///< before the first message of the protocol
};

/// Serves until the editor says `exit` or closes the input. `out`: descriptor of the stream for answers. `delimited`: messages end with a
/// line `// -----` instead of beginning with their length.
ServerEnd serve(std::FILE *in, int out, bool delimited);

} // namespace npar::driver
