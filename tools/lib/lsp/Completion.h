// Lists the names in scope at a place, and the words that the block around it allows.
#pragma once

#include "tools/lib/lsp/Workspace.h"

#include <optional>

namespace npar::lsp {

enum class CompletionKind { Keyword, Axis, MeshAxis, Layer, Operation, Function, Value, Constant, Model, Optimizer, Schedule, Text, Type };

struct CompletionItem {
  std::string label;
  CompletionKind kind = CompletionKind::Keyword;
  std::string detail; ///< signature, or where it comes from
  std::string documentation;
  std::string import = {}; ///< the text to import for it; empty if none
};

struct Completions {
  ByteRange word; ///< the bytes that a choice replaces
  std::vector<CompletionItem> items;
};

/// `schedules`: names that may follow `by`.
Completions completionsAt(Workspace &workspace, const std::string &path, size_t offset, const std::vector<std::string> &schedules);

} // namespace npar::lsp
