// Documents begin with the number of their schema and keep everything else.
#include "engine/json/Document.h"

#include <gtest/gtest.h>

namespace npar::json {

TEST(Document, BeginsWithItsSchema) {
  OrderedJson object = {{"z", 1}, {"a", {{"deep", OrderedJson::array({1, 2})}}}};
  EXPECT_EQ(documentText(object, Form::OneLine), R"({"schema":1,"z":1,"a":{"deep":[1,2]}})");
  EXPECT_EQ(documentText(OrderedJson::object()), "{\n  \"schema\": 1\n}");
}

TEST(Document, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(documentText({{"name", "a\xff"}}, Form::OneLine), "{\"schema\":1,\"name\":\"a\xef\xbf\xbd\"}");
}

} // namespace npar::json
