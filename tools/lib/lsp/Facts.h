// The analyses that there are, asked by places of texts.
#pragma once

#include "tools/lib/lsp/Analysis.h"

namespace npar::lsp {

using ElaboratedPointer = std::shared_ptr<const Elaborated>;

class Facts {
public:
  void set(Analysis analysis) { analyses[analysis.path] = std::move(analysis); }
  void drop(const std::string &path) { analyses.erase(path); }
  const std::map<std::string, Analysis> &all() const { return analyses; }
  /// The choices that have read a text, those of its own analysis first.
  std::vector<ElaboratedPointer> choicesSeeing(const std::string &path) const;

private:
  std::map<std::string, Analysis> analyses; ///< by path of the text that was analysed
};

/// The number of a text in a choice's sources; nothing if it was not read.
std::optional<uint32_t> fileOf(const Elaborated &choice, const std::string &path);

/// The values that a choice knows of a symbol. `only`: of this one of its definitions.
std::vector<const dsl::NamedValue *> valuesAt(const Elaborated &choice, const Place &place, const std::optional<ByteRange> &only = {});

/// The layout of a tensor, from the operation that computes it; null if that is not known.
const compiler::PlacedValue *placedValue(const Elaborated &choice, const dsl::NamedValue &value);

/// Bytes of a parameter on a rank, and who keeps it.
struct ParameterFacts {
  uint64_t bytes = 0, optimizerBytes = 0; ///< on a rank that has most
  std::vector<std::string> optimizer;     ///< slots
  std::string owner;                      ///< ranks of the class that owns it
  std::vector<std::string> split, shares; ///< mesh axes
  bool frozen = false;
};
std::optional<ParameterFacts> parameterFacts(const Elaborated &choice, const std::string &path);

/// Lists what a line of a plan causes: collectives of the same kind and cause together, with count and bytes of a rank that sends most.
/// `line` counts from 1 in the text that the choice has read.
std::vector<std::string> collectivesOfLine(const Elaborated &choice, const std::string &path, uint32_t line);

} // namespace npar::lsp
