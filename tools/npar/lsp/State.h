// What the server knows while it runs. All of it is used under one lock.
#pragma once

#include "tools/lib/lsp/Facts.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace npar::driver {

struct OpenDocument {
  std::string uri; ///< as the editor spells it
  int64_t version = 0;
  lsp::SyntaxReport syntax;
};

struct ServerState {
  explicit ServerState(std::vector<std::string> search) : workspace(std::move(search)) {}

  lsp::Encoding encoding = lsp::Encoding::Utf16;
  bool refreshesHints = false; ///< the editor asks for hints again when it is told to
  lsp::Workspace workspace;
  lsp::Facts facts;
  std::map<std::string, OpenDocument> documents; ///< by path

  /// The address of a text, as the editor spells it.
  std::string uri(const std::string &path) const;
  /// The current text, open or not; null if it cannot be read.
  lsp::TextPointer text(const std::string &path);
};

} // namespace npar::driver
