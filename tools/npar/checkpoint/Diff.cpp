// Compares two stores of tensors: checkpoints, safetensors files or folders of such files.
#include "engine/checkpoint/TensorDiff.h"

#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/terminal/Talk.h"

#include "engine/checkpoint/CheckpointStore.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace npar::driver {

using engine::StoreDifference;
using engine::StoreEntry;
using engine::TensorDifference;
using engine::TensorStore;
using Json = nlohmann::ordered_json;
using Kind = TensorDifference::Kind;

namespace {

/// One side: its tensors and, of a checkpoint, their kinds.
struct Side {
  std::shared_ptr<const TensorStore> store;
  std::map<std::string, std::string> kinds; ///< of a checkpoint
  bool isCheckpoint = false;
};

engine::Result<Side> openSide(const std::string &path) {
  Side side;
  if (engine::isCheckpoint(path)) {
    engine::Result<std::shared_ptr<const engine::CheckpointStore>> checkpoint = engine::openCheckpointStore(path);
    if (!checkpoint.ok())
      return checkpoint.status();
    for (const engine::ManifestTensor &tensor : (*checkpoint)->manifest().tensors)
      side.kinds[tensor.name] = tensor.kind;
    side.store = *checkpoint, side.isCheckpoint = true;
    return side;
  }
  engine::Result<std::shared_ptr<const TensorStore>> store = engine::openTensorStore(path);
  if (!store.ok())
    return store.status();
  side.store = *store;
  return side;
}

std::string kindOf(const Side &left, const Side &right, const std::string &name) {
  for (const Side *side : {&left, &right})
    if (auto found = side->kinds.find(name); found != side->kinds.end())
      return found->second;
  return "";
}

std::string typeAndShape(const StoreEntry &entry) { return entry.type + " " + engine::shapeText(entry.shape); }

std::string number(double value) { return fmt::format("{:.9g}", value); }

std::string lineOf(const TensorDifference &each) {
  std::string name = "  " + engine::quotedName(each.name) + ": ";
  const engine::ValueDifference &values = each.values;
  switch (each.kind) {
  case Kind::OnlyLeft:
    return name + "only in the first, " + typeAndShape(each.left);
  case Kind::OnlyRight:
    return name + "only in the second, " + typeAndShape(each.right);
  case Kind::Shape:
    return name + typeAndShape(each.left) + " in the first, " + typeAndShape(each.right) + " in the second";
  case Kind::Values:
    break;
  }
  std::string text = name + fmt::format("{} of {} elements differ", values.differing, values.elements);
  if (values.largest > 0 || values.ulps.value_or(0) > 0)
    text += fmt::format(", by at most {} ({} relative{})", number(values.largest), number(values.relative),
                        values.ulps ? fmt::format(", {} units in the last place", *values.ulps) : "");
  if (values.notNumbers)
    text += fmt::format(", {} are not finite", values.notNumbers);
  return text + fmt::format("; first at {}: {} and {}", engine::shapeText(values.place), number(values.left), number(values.right));
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json jsonOf(const TensorDifference &each, const std::string &kind) {
  static const std::map<Kind, const char *> words = {
      {Kind::OnlyLeft, "only_first"}, {Kind::OnlyRight, "only_second"}, {Kind::Shape, "shape"}, {Kind::Values, "values"}};
  Json json = {{"name", each.name}, {"kind", kind}, {"difference", words.at(each.kind)}};
  if (each.kind != Kind::OnlyRight)
    json["first"] = {{"type", each.left.type}, {"shape", each.left.shape}};
  if (each.kind != Kind::OnlyLeft)
    json["second"] = {{"type", each.right.type}, {"shape", each.right.shape}};
  if (each.kind == Kind::Values) {
    const engine::ValueDifference &values = each.values;
    json["elements"] = values.elements, json["differing"] = values.differing, json["not_finite"] = values.notNumbers;
    json["max_absolute"] = finite(values.largest), json["max_relative"] = finite(values.relative);
    json["max_ulps"] = values.ulps ? Json(*values.ulps) : Json(nullptr);
    json["place"] = values.place, json["values"] = {finite(values.left), finite(values.right)};
  }
  return json;
}

/// If only one side is a checkpoint, removes its tensors that are not parameters and that the other side lacks, since files of weights
/// usually have no optimizer state. Returns their number.
size_t leaveOutState(const Side &left, const Side &right, StoreDifference &difference) {
  if (left.isCheckpoint == right.isCheckpoint)
    return 0;
  const Kind lonely = left.isCheckpoint ? Kind::OnlyLeft : Kind::OnlyRight;
  const Side &checkpoint = left.isCheckpoint ? left : right;
  auto isState = [&](const TensorDifference &each) { return each.kind == lonely && checkpoint.kinds.at(each.name) != "parameter"; };
  size_t before = difference.tensors.size();
  difference.tensors.erase(std::remove_if(difference.tensors.begin(), difference.tensors.end(), isState), difference.tensors.end());
  return before - difference.tensors.size();
}

} // namespace

ExitCode diffCheckpoints(const DiffFlags &flags) {
  engine::Result<Side> left = openSide(flags.left);
  if (!left.ok())
    return fail(left.status());
  engine::Result<Side> right = openSide(flags.right);
  if (!right.ok())
    return fail(right.status());
  auto taken = [&](const std::string &name) { return flags.only == "all" || kindOf(*left, *right, name) == flags.only; };
  uint64_t bytes = 0;
  for (const auto &[name, entry] : left->store->tensors())
    if (engine::Result<uint64_t> each = engine::bytesOfTensor(entry.type, entry.shape); each.ok() && taken(name))
      bytes += *each;
  engine::Result<StoreDifference> compared = [&] {
    ByteProgress progress("comparing '" + flags.left + "' and '" + flags.right + "'", bytes);
    return engine::compareStores(*left->store, *right->store, taken, progress.adder());
  }();
  if (!compared.ok())
    return fail(compared.status());
  size_t leftOut = leaveOutState(*left, *right, *compared);
  if (flags.json) {
    Json tensors = Json::array();
    for (const TensorDifference &each : compared->tensors)
      tensors.push_back(jsonOf(each, kindOf(*left, *right, each.name)));
    std::cout << Json({{"first", flags.left},
                       {"second", flags.right},
                       {"equal", compared->tensors.empty()},
                       {"compared", compared->compared},
                       {"left_out", leftOut},
                       {"other_type", compared->otherType},
                       {"differences", tensors}})
                     .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << (compared->tensors.empty()
                      ? fmt::format("equal: {} tensors{}\n", compared->compared,
                                    compared->otherType.empty()
                                        ? ", bit for bit"
                                        : fmt::format(", {} of them in different types", compared->otherType.size()))
                      : fmt::format("{} tensors differ, {} were compared\n", compared->tensors.size(), compared->compared));
    for (const TensorDifference &each : compared->tensors)
      std::cout << lineOf(each) << "\n";
  }
  if (leftOut)
    printRemark(fmt::format("{} tensors of state are in the checkpoint alone: left out", leftOut));
  return compared->tensors.empty() ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
