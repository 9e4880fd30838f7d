// A request to the compiler that outlives its caller's memory.
#pragma once

#include "engine/status/Status.h"
#include "npar/npar.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace npar::api {

/// A copy of a request with the texts that its `import` has given, so that the same model can be compiled for another use.
class KeptRequest {
public:
  explicit KeptRequest(const npar_request &request);
  KeptRequest(const KeptRequest &) = delete;
  KeptRequest &operator=(const KeptRequest &) = delete;

  /// The request itself: its `import` asks the host and keeps what it says. `this` must outlive the compilation.
  npar_request recording();
  /// Usage if the host's `import` said that it has a text and gave none.
  const engine::Status &imported() const { return wrongImport; }
  /// The same model for another use; imports come from what was kept. Nothing of it changes this object. `stop` may be null.
  npar_request replaying(npar_kind kind, npar_observer observer, npar_stop *stop) const;

private:
  npar_request common() const;

  npar_request given; ///< of the host: only its functions and `stop` are used, during the compilation
  npar_kind kind;
  std::string text, name, file, folder, plan, train, config, machine;
  bool hasText;
  std::vector<std::pair<std::string, std::string>> settingTexts;
  std::vector<std::string> targetTexts;
  std::vector<npar_setting> settings; ///< of `settingTexts`
  std::vector<npar_str> targets;      ///< of `targetTexts`
  std::map<std::string, std::string> imports;
  engine::Status wrongImport; ///< the first
};

} // namespace npar::api
