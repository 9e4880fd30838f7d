// Reads the names out of the syntax tree; nothing is elaborated.
#include "dsl/Catalogue.h"

#include "dsl/constants/Reporter.h"
#include "dsl/elaborate/Library.h"

namespace npar::dsl {

namespace {

Catalogue namesIn(const ast::File &text) {
  Catalogue names;
  for (const ast::Block &model : text.models)
    names.models.push_back(model.name.text);
  for (const ast::Config &config : text.configs)
    names.configurations.push_back({config.name.text, config.model.text});
  for (const ast::Family &family : text.families) {
    Catalogue::Family &found = names.families.emplace_back(Catalogue::Family{family.name.text, family.model.text, {}});
    for (const ast::FamilyRule &rule : family.rules)
      for (const ast::Name &key : rule.word.text == "class" ? rule.keys : std::vector<ast::Name>())
        found.classes.push_back(key.text);
  }
  return names;
}

} // namespace

Catalogue catalogueOf(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics) {
  try {
    Library library(options, sources, diagnostics);
    SourceFile *root = library.load();
    return root && !diagnostics.hasErrors() ? namesIn(*root->tree) : Catalogue();
  } catch (const Stop &) { // what is wrong with the text has been reported
  } catch (const Abort &) {
  }
  return {};
}

} // namespace npar::dsl
