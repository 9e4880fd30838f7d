// Prints layouts with readable names of axes.
#include "compiler/passes/export/LayoutText.h"

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/base/Axes.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {
namespace {

/// The name of an axis for people. `seq.slot.row` has the rows of the choices over seq and slot. Spread over the ranks that share
/// `expert` they are `expert.rows.seq.slot.row`, and those of one rank end in `.local`.
std::string readable(StringAttr axis) {
  StringRef name = axis.getValue();
  name.consume_back(".local");
  if (StringAttr entries = nn::entriesOfRows(StringAttr::get(axis.getContext(), name)))
    return ("rows of " + entries.getValue()).str();
  auto [choices, part] = name.rsplit(".row");
  const bool isOfRows = choices.size() < name.size() && !choices.empty() && (part.empty() || part[0] == '.');
  if (!isOfRows)
    return axis.str();
  std::string rows = choices.str();
  std::replace(rows.begin(), rows.end(), '.', '*');
  return "rows of " + rows;
}

} // namespace

std::string layoutText(Type type) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  if (!layout)
    return "";
  SmallVector<StringAttr> names;
  for (StringAttr axis : layout.getNames())
    names.push_back(StringAttr::get(axis.getContext(), readable(axis)));
  std::string text;
  llvm::raw_string_ostream out(text);
  out << dist::LayoutAttr::get(layout.getContext(), names, layout.getSizes(), layout.getSplits(), layout.getPartialAxes(),
                               layout.getReduction(), layout.getFlatAxes());
  llvm::erase(text, '"'); // around names with spaces
  size_t begin = text.find('<'), end = text.rfind('>');
  return text.substr(begin + 1, end - begin - 1);
}

} // namespace npar::compiler
