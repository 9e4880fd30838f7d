// The file that holds this code: a program, or the library that another program has loaded.
#pragma once

#include <filesystem>
#include <string>

namespace npar::files {

/// A path under which the file that holds `code`, the address of a function, can be read. For the running program it is /proc/self/exe,
/// which still reads the right bytes after a new version was installed.
std::string fileOfCode(const void *code);

/// The folder in which the program's or library's folder is, such as /usr/local for /usr/local/bin/npar and /usr/local/lib/libnpar.so;
/// empty if it is unknown.
std::filesystem::path prefixOfCode(const void *code);

} // namespace npar::files
