// Lists the names of the standard library's texts.
#include "tools/api/compiler/Functions.h"

#include "dsl/EmbeddedLibrary.h"
#include "engine/json/Document.h"

#include <map>
#include <set>

namespace npar::api {

using engine::Status;

Status library(const Answer &answer) {
  std::map<std::string, std::set<std::string>> names; // by folder
  for (const auto &[path, text] : dsl::embeddedTexts())
    if (size_t slash = path.find('/'), end = path.rfind(".npar"); slash != std::string::npos && end != std::string::npos)
      names[path.substr(0, slash)].insert(path.substr(slash + 1, end - slash - 1));
  OrderedJson report = OrderedJson::object();
  for (const auto &[folder, its] : names)
    report[folder] = its;
  giveReport(answer, report);
  return {};
}

} // namespace npar::api
