// The language server: requests of an editor to answers, over LLVM's transport.
#pragma once

#include <cstdio>

namespace npar::driver {

/// Serves until the editor says `exit` or closes the input. `out`: descriptor of the stream for answers. `delimited`: messages end with a
/// line
/// `// -----` instead of beginning with their length. Returns the exit code of the protocol: 0 after `shutdown`, otherwise 1.
int serve(std::FILE *in, int out, bool delimited);

} // namespace npar::driver
