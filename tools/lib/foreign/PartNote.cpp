// Other programs read the note too, so it is plain JSON with a sentence on its use.
#include "tools/lib/foreign/PartNote.h"

#include "engine/json/Json.h"

#include <filesystem>

namespace npar::foreign {

std::string PartNote::text() const {
  OrderedJson json;
  json["model"] = model;
  json["family"] = family;
  json["base"] = base.empty() ? OrderedJson() : OrderedJson(base);
  std::string before;
  for (const std::string &part : parts)
    json["base_parts"].push_back(part), before += "--weights-part " + part + " ";
  json["only"] = only;
  json["tensors"] = tensors;
  json["tensors_of_the_model"] = of;
  json["use"] = "These tensors replace those of the base: npar eval BASE " + before + "--weights-part FOLDER, npar export BASE " + before +
                "--weights-part FOLDER -o WHOLE, or in PyTorch model.load_state_dict(tensors, strict=False)";
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

bool isPart(const std::string &folder) {
  std::error_code unknown;
  const std::filesystem::path path = folder;
  return std::filesystem::exists(path / PartNote::fileName, unknown) && !std::filesystem::exists(path / "config.json", unknown);
}

} // namespace npar::foreign
