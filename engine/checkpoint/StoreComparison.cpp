// Words the differences of two stores.
#include "engine/checkpoint/StoreComparison.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/json/Json.h"
#include "engine/safetensors/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::engine {

using DifferenceKind = TensorDifference::Kind;

namespace {

Result<ComparedStore> openSide(const std::string &path) {
  ComparedStore side;
  if (isCheckpoint(path)) {
    TRY(std::shared_ptr<const CheckpointStore> checkpoint, openCheckpointStore(path));
    for (const ManifestTensor &tensor : checkpoint->manifest().tensors)
      side.kinds[tensor.name] = tensor.kind;
    side.store = std::move(checkpoint), side.isCheckpoint = true;
    return side;
  }
  TRY(side.store, openTensorStore(path));
  return side;
}

std::string kindIn(const ComparedStore &left, const ComparedStore &right, const std::string &name) {
  for (const ComparedStore *side : {&left, &right})
    if (auto found = side->kinds.find(name); found != side->kinds.end())
      return found->second;
  return "";
}

std::string typeAndShape(const StoreEntry &entry) { return entry.type + " " + shapeText(entry.shape); }

std::string nineDigits(double value) { return fmt::format("{:.9g}", value); }

std::string differenceLine(const TensorDifference &each) {
  std::string name = "  " + quotedName(each.name) + ": ";
  const ValueDifference &values = each.values;
  switch (each.kind) {
  case DifferenceKind::OnlyLeft:
    return name + "only in the first, " + typeAndShape(each.left);
  case DifferenceKind::OnlyRight:
    return name + "only in the second, " + typeAndShape(each.right);
  case DifferenceKind::Shape:
    return name + typeAndShape(each.left) + " in the first, " + typeAndShape(each.right) + " in the second";
  case DifferenceKind::Values:
    break;
  }
  std::string text = name + fmt::format("{} of {} elements differ", values.differing, values.elements);
  if (values.largest > 0 || values.ulps.value_or(0) > 0)
    text += fmt::format(", by at most {} ({} relative{})", nineDigits(values.largest), nineDigits(values.relative),
                        values.ulps ? fmt::format(", {} units in the last place", *values.ulps) : "");
  if (values.notNumbers)
    text += fmt::format(", {} are not finite", values.notNumbers);
  return text + fmt::format("; first at {}: {} and {}", shapeText(values.place), nineDigits(values.left), nineDigits(values.right));
}

OrderedJson finiteOrNull(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

OrderedJson differenceJson(const TensorDifference &each, const std::string &kind) {
  static const std::map<DifferenceKind, const char *> words = {{DifferenceKind::OnlyLeft, "only_first"},
                                                               {DifferenceKind::OnlyRight, "only_second"},
                                                               {DifferenceKind::Shape, "shape"},
                                                               {DifferenceKind::Values, "values"}};
  OrderedJson json = {{"name", each.name}, {"kind", kind}, {"difference", words.at(each.kind)}};
  if (each.kind != DifferenceKind::OnlyRight)
    json["first"] = {{"type", each.left.type}, {"shape", each.left.shape}};
  if (each.kind != DifferenceKind::OnlyLeft)
    json["second"] = {{"type", each.right.type}, {"shape", each.right.shape}};
  if (each.kind == DifferenceKind::Values) {
    const ValueDifference &values = each.values;
    json["elements"] = values.elements, json["differing"] = values.differing, json["not_finite"] = values.notNumbers;
    json["max_absolute"] = finiteOrNull(values.largest), json["max_relative"] = finiteOrNull(values.relative);
    json["max_ulps"] = values.ulps ? OrderedJson(*values.ulps) : OrderedJson(nullptr);
    json["place"] = values.place, json["values"] = {finiteOrNull(values.left), finiteOrNull(values.right)};
  }
  return json;
}

/// If only one side is a checkpoint, removes its tensors that are not parameters and that the other side lacks, since files of weights
/// usually have no optimizer state. Returns their number.
size_t leaveOutState(const ComparedStore &left, const ComparedStore &right, StoreDifference &difference) {
  if (left.isCheckpoint == right.isCheckpoint)
    return 0;
  const DifferenceKind lonely = left.isCheckpoint ? DifferenceKind::OnlyLeft : DifferenceKind::OnlyRight;
  const ComparedStore &checkpoint = left.isCheckpoint ? left : right;
  auto isState = [&](const TensorDifference &each) { return each.kind == lonely && checkpoint.kinds.at(each.name) != "parameter"; };
  size_t before = difference.tensors.size();
  difference.tensors.erase(std::remove_if(difference.tensors.begin(), difference.tensors.end(), isState), difference.tensors.end());
  return before - difference.tensors.size();
}

} // namespace

Result<StoreComparison> StoreComparison::open(const std::string &left, const std::string &right, const std::string &only) {
  StoreComparison comparison;
  comparison.names[0] = left, comparison.names[1] = right, comparison.only = only;
  TRY(comparison.left, openSide(left));
  TRY(comparison.right, openSide(right));
  return comparison;
}

bool StoreComparison::takes(const std::string &name) const { return only == "all" || kindIn(left, right, name) == only; }

uint64_t StoreComparison::bytes() const {
  uint64_t bytes = 0;
  for (const auto &[name, entry] : left.store->tensors())
    if (Result<uint64_t> each = bytesOfTensor(entry.type, entry.shape); each.ok() && takes(name))
      bytes += *each;
  return bytes;
}

Status StoreComparison::run(const std::function<void(uint64_t)> &progress) {
  TRY(found, compareStores(
                 *left.store, *right.store, [this](const std::string &name) { return takes(name); }, progress));
  omitted = leaveOutState(left, right, found);
  return {};
}

OrderedJson StoreComparison::json() const {
  OrderedJson tensors = OrderedJson::array();
  for (const TensorDifference &each : found.tensors)
    tensors.push_back(differenceJson(each, kindIn(left, right, each.name)));
  return {{"first", names[0]},          {"second", names[1]},  {"equal", equal()},
          {"compared", found.compared}, {"left_out", omitted}, {"other_type", found.otherType},
          {"differences", tensors}};
}

std::string StoreComparison::text() const {
  if (equal())
    return fmt::format("equal: {} tensors{}\n", found.compared,
                       found.otherType.empty() ? ", bit for bit" : fmt::format(", {} of them in different types", found.otherType.size()));
  std::string text = fmt::format("{} tensors differ, {} were compared\n", found.tensors.size(), found.compared);
  for (const TensorDifference &each : found.tensors)
    text += differenceLine(each) + "\n";
  return text;
}

} // namespace npar::engine
