// Runs a reader of names on the text of a model.
#pragma once

#include "engine/status/Observer.h"
#include "tools/lib/models/ModelOptions.h"

#include <sstream>
#include <string>

namespace npar::foreign {

/// Runs `read(options, sources, diagnostics)` on a model's text. `observer` gets warnings; errors are followed by the line `because`.
template <typename Read>
auto withText(const std::string &text, engine::Observer &observer, const std::string &because, Read read)
    -> engine::Result<decltype(read(dsl::FrontendOptions(), std::declval<dsl::Sources &>(), std::declval<dsl::Diagnostics &>()))> {
  models::ModelOptions model;
  model.model = text;
  TRY(dsl::FrontendOptions options, model.frontend());
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  auto result = read(options, sources, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  if (diagnostics.hasErrors())
    return engine::Status::located(engine::Code::BadInput, report.str() + because);
  if (!diagnostics.all().empty())
    observer.warn(report.str());
  return result;
}

} // namespace npar::foreign
