// Runs the front end and the compiler on a text. This is the slow half of the server's work, in a thread of its own.
#pragma once

#include "compiler/PlacedValues.h"
#include "dsl/Frontend.h"
#include "engine/program/Loader.h"
#include "engine/show/View.h"
#include "tools/lib/annotate/Annotate.h"
#include "tools/lib/lsp/Workspace.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::lsp {

/// One way to take a text: a model with a train block and a plan.
struct Choice {
  std::string model, plan;          ///< plan: a name, or "none"
  std::optional<std::string> train; ///< nothing: the model has none, and is elaborated for an evaluation
  std::optional<std::string> data;  ///< if the text has several data blocks
};

/// The choices that together use every declaration of a text; none for texts with nothing to elaborate, such as layers.
std::vector<Choice> choicesOf(Workspace &workspace, const std::string &path);

/// A choice, elaborated and perhaps compiled.
struct Elaborated {
  Choice choice;
  std::shared_ptr<dsl::Sources> sources; ///< what all locations point into
  std::vector<dsl::Diagnostic> diagnostics;
  std::optional<dsl::Program> program; ///< nothing after errors
  std::vector<dsl::NamedValue> values;
  std::vector<compiler::PlacedValue> placed; ///< empty until it is compiled
  program::ProgramPointer compiled;          ///< null until then, and after errors
  std::optional<show::View> view;            ///< of `compiled`
  std::optional<annotate::AnnotatedPlan> effects;
};

struct Analysis {
  std::string path;
  std::vector<std::shared_ptr<const Elaborated>> choices;
  std::vector<std::string> texts; ///< paths of all texts that it read
};

/// The input of an analysis: a snapshot, so that the editor's texts may change.
struct AnalysisRequest {
  std::string path;
  std::map<std::string, TextPointer> texts; ///< open ones
  std::vector<std::string> search;
  std::vector<Choice> choices;
  bool onlyMachine = false; ///< the text has nothing but machines
};

/// Analyses in three steps, each of which calls `publish` with what is known so far: elaborated, compiled, the effects of each line of a
/// plan. `stops` is asked on the way; after it has returned true nothing is published. Throws nothing.
void analyse(const AnalysisRequest &request, const std::function<bool()> &stops, const std::function<void(Analysis)> &publish);

} // namespace npar::lsp
