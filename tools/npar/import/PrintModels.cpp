// One line for each configuration.
#include "tools/npar/import/PrintModels.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "tools/lib/foreign/ModelList.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <iostream>

namespace npar::driver {

namespace {

constexpr int narrowBytes = 2; ///< of a parameter in bf16 or fp16

/// "8,030,261,248"
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

OrderedJson jsonOf(const foreign::ModelList &list) {
  OrderedJson json;
  json["models"] = json["families"] = OrderedJson::array();
  for (const foreign::ListedConfiguration &each : list.configurations) {
    OrderedJson entry;
    entry["model"] = each.model;
    entry["configuration"] = each.name.empty() ? OrderedJson() : OrderedJson(each.name);
    entry["family"] = each.family.empty() ? OrderedJson() : OrderedJson(each.family);
    entry["class"] = each.architecture.empty() ? OrderedJson() : OrderedJson(each.architecture);
    entry["parameters"] = each.parameters.all, entry["active_parameters"] = each.parameters.active;
    json["models"].push_back(std::move(entry));
  }
  for (const dsl::Catalogue::Family &family : list.families)
    json["families"].push_back({{"family", family.name}, {"model", family.model}, {"classes", family.classes}});
  return json;
}

void printTable(const foreign::ModelList &list, bool withClasses) {
  size_t model = 5, name = 8, family = 6;
  for (const foreign::ListedConfiguration &each : list.configurations)
    model = std::max(model, each.model.size()), name = std::max(name, each.name.size()), family = std::max(family, each.family.size());
  auto row = [&](const std::string &first, const std::string &second, const std::string &third, const std::string &parameters,
                 const std::string &bytes, const std::string &more) {
    std::cout << readable::TableRow()
                     .left(first, model + 2)
                     .left(second, name + 2)
                     .left(third, family + 2)
                     .right(parameters, 17)
                     .right(bytes, 12)
                     .text(more)
                     .str();
  };
  row("model", "--config", "family", "parameters", "16 bits", "");
  for (const foreign::ListedConfiguration &each : list.configurations) {
    const dsl::ParameterCounts &count = each.parameters;
    row(each.model, each.name.empty() ? "-" : each.name, each.family.empty() ? "-" : each.family, grouped(count.all),
        readable::humanBytes(static_cast<double>(narrowBytes * count.all)),
        count.active == count.all ? "" : "  a position meets " + grouped(count.active));
  }
  for (const dsl::Catalogue::Family &each : withClasses ? list.families : std::vector<dsl::Catalogue::Family>()) {
    std::cout << "\nclasses of family \"" << each.name << "\":";
    for (const std::string &one : each.classes)
      std::cout << ' ' << one;
    std::cout << '\n';
  }
}

} // namespace

ExitCode printModels(const std::string &only, bool json) {
  Outcome<foreign::ModelList> list = [&] {
    Waiting waiting("counting parameters");
    return reported(foreign::listModels(only, terminal()));
  }();
  if (!list.ok())
    return list.code();
  if (json)
    printJson(jsonOf(*list));
  else
    printTable(*list, /*withClasses=*/!only.empty());
  return ExitCode::Good;
}

} // namespace npar::driver
