// Syntax trees of data blocks.
#pragma once

#include "dsl/parse/ExpressionBuilder.h"

namespace npar::dsl {

class DataBuilder : public ExpressionBuilder {
public:
  using ExpressionBuilder::ExpressionBuilder;

  ast::Data data(Grammar::DataDeclarationContext *context);

private:
  ast::DataSource source(Grammar::DataSourceContext *context);
  ast::DataFile dataFile(Grammar::DataFileContext *context);
  ast::DataFeed feed(Grammar::DataFeedContext *context);
};

} // namespace npar::dsl
