// Looks at the words of a name first, then at where its links lead.
#include "engine/files/InsideFolder.h"

#include "engine/files/Destination.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace npar::files {

namespace fs = std::filesystem;

using engine::Result;
using engine::Status;

std::string quotedName(const std::string &name) {
  constexpr size_t longest = 200; // a hostile one may have millions
  std::string text = "'";
  for (unsigned char c : std::string_view(name).substr(0, longest)) {
    char escaped[5];
    std::snprintf(escaped, sizeof(escaped), "\\x%02x", c);
    text += c < 0x20 || c == 0x7f ? std::string(escaped) : std::string(1, static_cast<char>(c));
  }
  return text + (name.size() > longest ? "'... of " + std::to_string(name.size()) + " bytes" : "'");
}

std::string joined(const std::string &folder, const std::string &name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

Result<std::string> pathInside(const std::string &folder, const std::string &name) {
  auto failure = [&](const std::string &why) { return Status::badInput("file name " + quotedName(name) + " " + why); };
  if (name.empty())
    return failure("is empty");
  if (name.size() > 4096)
    return Status::badInput("a file name of " + std::to_string(name.size()) + " bytes is too long");
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return failure("has bytes that are not printable");
  if (name.front() == '/')
    return failure("is absolute, but must lead into its own folder");
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return failure("must be the path of a file below its own folder, without '.' and '..'");
    begin = end + 1;
  }
  std::error_code unknown;
  fs::path root = fs::canonical(folder, unknown);
  if (unknown)
    return Status::badInput("cannot read folder '" + folder + "': " + unknown.message());
  fs::path real = destinationOf(joined(root.string(), name)).path; // follows links to nothing too
  if (std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first != root.end())
    return failure("is a link to '" + real.string() + "', outside of folder '" + folder + "'; put a copy of the file there");
  return joined(folder, name);
}

} // namespace npar::files
