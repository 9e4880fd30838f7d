// Prints layouts with readable names of axes.
#include "compiler/passes/export/LayoutText.h"

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/base/Axes.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {
namespace {

/// The name of an axis for people. `seq.slot.row` has the rows of the choices over seq and slot. Placing puts `expert.rows.` before
/// it and words such as `.local` after it.
std::string readable(StringRef axis) {
  auto [entries, spread] = axis.split(".rows.");
  if (!spread.empty())
    return ("rows of " + entries).str();
  size_t end = axis.rfind(".row");
  if (end == StringRef::npos || end == 0 || (end + 4 < axis.size() && axis[end + 4] != '.'))
    return axis.str();
  std::string rows = axis.take_front(end).str();
  std::replace(rows.begin(), rows.end(), '.', '*');
  return "rows of " + rows;
}

} // namespace

std::string layoutText(Type type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (dist::LayoutAttr layout = dist::layoutOf(type))
    out << layout;
  size_t begin = text.find('<'), end = text.rfind('>');
  if (begin == std::string::npos || end == std::string::npos)
    return text;
  text = text.substr(begin + 1, end - begin - 1);
  size_t from = 0; // axes are printed in this order
  for (StringAttr axis : nn::axesOf(type)) {
    std::string name = readable(axis.getValue());
    size_t at = text.find(axis.getValue().str(), from);
    if (at == std::string::npos)
      break;
    text.replace(at, axis.getValue().size(), name);
    from = at + name.size();
  }
  return text;
}

} // namespace npar::compiler
