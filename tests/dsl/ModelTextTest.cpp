// The text of a model without its plans, train blocks and configurations, with other constants.
#include "dsl/format/ModelText.h"

#include <gtest/gtest.h>

using namespace npar::dsl;

namespace {

constexpr const char *source = R"(# über a model
import "Linear"

model Tiny(width = 4, hidden = 2 * width, # é the hidden axis
           free, kind = (1 + 2)) {
    axis batch, rows = width, columns = hidden
    loss plan_of(width) # no block
}
# the small one
config "small" for Tiny(width = (2), free = 1)  # as published

# how to train it
train base(b = 8) for Tiny { batch b  for "*.bias" { decay 0 } }  plan one for Tiny {
    mesh dp = 2   # two ranks
    split { batch -> dp }
}

data own for Tiny { stream "a.u16" tokens }
)";

TEST(ModelText, RemovesWhatASearchReplaces) {
  std::optional<ModelText> made = modelText(source, "Tiny", {{"hidden", "6"}, {"free", "3"}, {"kind", "\"x\""}});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->declaresModel);
  EXPECT_EQ(made->text, R"(# über a model
import "Linear"

model Tiny(width = 4, hidden = 6, # é the hidden axis
           free = 3, kind = "x") {
    axis batch, rows = width, columns = hidden
    loss plan_of(width) # no block
}
data own for Tiny { stream "a.u16" tokens }
)");
}

TEST(ModelText, KeepsAnImport) {
  std::optional<ModelText> made = modelText("plan p {\n}\n\nimport \"gpt2\"\n", "Gpt2", {{"width", "3"}});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->declaresModel);
  EXPECT_EQ(made->text, "import \"gpt2\"\n");
}

TEST(ModelText, NeedsASoundText) { EXPECT_FALSE(modelText("model Tiny(", "Tiny", {})); }

} // namespace
