// The columns of a file of texts that feed inputs: `tokens = encode("review", tokenizer = "bert")`, `label = class("kind")`.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Evaluate.h"

#include <functional>

namespace npar::dsl {

/// The format of a file of texts: the word after `as`, or the name's ending. Reports an unknown one and throws Stop.
DataFormat textFormat(const ast::DataFile &file, Reporter &reporter);

/// Reads feeds of one `text` clause. Each call reports errors to the evaluator's reporter and throws Stop after one.
class TextFeedReader {
public:
  /// `found`: a path of the text, from the folder of the text.
  TextFeedReader(const ast::DataSource &group, Evaluator &evaluator, Scope &scope, std::function<std::string(const ast::Name &)> found)
      : group(group), evaluator(evaluator), reporter(evaluator.reporter), scope(scope), found(std::move(found)) {}
  /// `node`: the input that is fed; null if nothing needs it.
  TextFeed run(const ast::DataFeed &from, const Node *node);

private:
  void tokens(const std::vector<const ast::Argument *> &given, TextFeed &feed);
  void described(const ast::Expression &of, const std::string &word, TextFeed &feed) const;
  void checkOnlyClass(const ast::DataFeed &from) const;
  void column(const ast::Expression &from, TextFeed &feed);
  void columnsOf(const ast::Expression &from, TextFeed &feed);
  void names(const ast::Expression &from, TextFeed &feed);
  void checkInput(const ast::DataFeed &from, const Node &node, const TextFeed &feed) const;

  const ast::DataSource &group;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
  std::function<std::string(const ast::Name &)> found;
  std::optional<bool> numbered; ///< set by the first column
};

} // namespace npar::dsl
