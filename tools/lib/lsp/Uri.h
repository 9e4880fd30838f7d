// Addresses of documents, as editors write them, and paths.
#pragma once

#include <string>

namespace npar::lsp {

/// The path of a document: of `file:` addresses the path on this machine, of others (`untitled:`, cells of notebooks) the address itself.
std::string pathOf(const std::string &uri);

/// A path without `.` and `..`; an address as it is.
std::string plainPath(const std::string &path);

/// The address of a path; relative paths are made absolute. A path that is an address stays one.
std::string uriOf(const std::string &path);

/// True for paths that are addresses of documents without a file.
bool isAddress(const std::string &path);

} // namespace npar::lsp
