// Columns that neighbouring lines share, where the author has made one.
#include "dsl/format/Lines.h"

#include <algorithm>
#include <map>

namespace npar::dsl {
namespace {

/// Lines of one indentation that follow each other.
using Block = std::vector<Line *>;

/// The blocks of lines that begin statements, whose continuations and comments do not end a block, and those of continuations. Empty lines
/// end a block.
std::vector<Block> blocksOf(std::vector<Line> &lines) {
  std::vector<Block> blocks;
  Block items, continuations;
  auto end = [&](Block &block) {
    if (!block.empty())
      blocks.push_back(std::move(block));
    block.clear();
  };
  auto add = [&](Block &block, Line &line) {
    if (!block.empty() && block.front()->indent != line.indent)
      end(block);
    block.push_back(&line);
  };
  for (Line &line : lines) {
    if (line.isBlank() || line.beginsItem)
      end(continuations);
    if (line.isBlank())
      end(items);
    else if (!line.text.empty() && !line.anchor) // lines within brackets have no columns
      add(line.beginsItem ? items : continuations, line);
  }
  end(items);
  end(continuations);
  return blocks;
}

/// Aligns the marks with number `index` of lines that have the same mark there, in the same column.
void alignMarks(const Block &block, size_t index) {
  std::map<std::pair<std::string, size_t>, Block> columns; // by mark and column in the source
  for (Line *line : block)
    if (line->marks.size() > index)
      columns[{line->marks[index].word, line->marks[index].column}].push_back(line);
  auto widthBefore = [&](const Line *line) { return widthOf(line->text.substr(0, line->marks[index].place)); };
  for (auto &[column, lines] : columns) {
    if (lines.size() == 1 || std::none_of(lines.begin(), lines.end(), [&](const Line *line) { return line->marks[index].isPadded; }))
      continue;
    size_t width = 0;
    for (const Line *line : lines)
      width = std::max(width, widthBefore(line));
    for (Line *line : lines) {
      size_t more = width - widthBefore(line);
      line->text.insert(line->marks[index].place, more, ' ');
      line->padding += more;
      for (size_t i = index; i < line->marks.size(); ++i)
        line->marks[i].place += more;
    }
  }
}

/// Moves continued lines with the brackets of lines that alignment has made longer.
void moveContinuations(std::vector<Line> &lines) {
  std::vector<size_t> moved(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    if (const std::optional<Anchor> &anchor = lines[i].anchor) {
      moved[i] = moved[anchor->line] + (anchor->atBracket ? lines[anchor->line].padding : 0);
      lines[i].indent += moved[i];
    }
}

/// Gives comments of neighbouring lines in one column a column behind the code of all of them.
void alignComments(std::vector<Line> &lines) {
  auto has = [](const Line &line) { return !line.text.empty() && !line.comment.empty(); };
  for (size_t begin = 0, end; begin < lines.size(); begin = end) {
    end = begin + 1;
    if (!has(lines[begin]))
      continue;
    size_t column = std::max(lines[begin].commentColumn, widthOf(lines[begin].text) + 1);
    for (; end < lines.size() && has(lines[end]) && lines[end].indent == lines[begin].indent &&
           lines[end].commentColumn == lines[begin].commentColumn;
         ++end)
      column = std::max(column, widthOf(lines[end].text) + 1);
    for (size_t i = begin; i < end; ++i)
      lines[i].commentColumn = column;
  }
}

} // namespace

void align(std::vector<Line> &lines) {
  for (const Block &block : blocksOf(lines)) {
    size_t most = 0;
    for (const Line *line : block)
      most = std::max(most, line->marks.size());
    for (size_t index = 0; index < most; ++index)
      alignMarks(block, index);
  }
  moveContinuations(lines);
  alignComments(lines);
}

} // namespace npar::dsl
