// Tests files of texts as samples: rows, columns, labels, tokens of pairs, and what is refused.
#include "engine/data/DataSource.h"
#include "engine/data/OncePass.h"
#include "engine/data/SampleCount.h"
#include "engine/data/TextSamples.h"
#include "tests/engine/data/StreamShape.h"

#include <filesystem>

namespace npar::testing {
namespace {

using namespace engine;

/// Rows of the columns, each with its fields in brackets; or the error.
std::string rowsOf(const std::string &path, DataFormat format, const TextColumns &columns) {
  std::vector<std::string> seen;
  auto join = [](const TextFields &fields) {
    std::string text;
    for (const auto &field : fields)
      text += field ? "[" + *field + "]" : "[none]";
    return text;
  };
  auto table = TextTable::open(path, format, columns, [&](const TextFields &fields) -> Result<bool> {
    seen.push_back(join(fields));
    return true;
  });
  if (!table.ok())
    return table.status().message();
  std::string all;
  for (int64_t row = 0; row < table->rows(); ++row) {
    EXPECT_EQ(join(*table->read(row)), seen[static_cast<size_t>(row)]); // one by one as in the pass
    all += seen[static_cast<size_t>(row)] + "@" + std::to_string(table->line(row)) + " ";
  }
  return all;
}

class TextData : public DataFolder {
protected:
  std::string csv(const std::string &bytes, const TextColumns &columns = {{"a", "b"}}) {
    return rowsOf(file("x.csv", bytes), DataFormat::Csv, columns);
  }
  void expectRefused(const std::string &message, const std::string &part) { EXPECT_NE(message.find(part), std::string::npos) << message; }

  /// Tokens of length `length`, their mask and types, a class below 3 and a float.
  BatchShape shape(int64_t length, int64_t rows = 1) {
    using program::ElementType;
    return {rows,
            {{"tokens", ElementType::I32, {"batch", "seq"}, {rows, length}, {30, "vocab", ""}}, // and [MASK], which BERT's class adds
             {"mask", ElementType::F32, {"batch", "seq"}, {rows, length}, {}},
             {"segment", ElementType::I32, {"batch", "seq"}, {rows, length}, {}},
             {"label", ElementType::I32, {"batch"}, {rows}, {3, "labels", ""}},
             {"worth", ElementType::F32, {"batch"}, {rows}, {}}}};
  }
  /// A WordPiece vocabulary: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, then a to h and ##a to ##h.
  std::string tokenizer() {
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
    for (const char *prefix : {"", "##"})
      for (char c = 'a'; c <= 'h'; ++c)
        words += prefix + std::string(1, c) + "\n";
    std::filesystem::create_directories(folder + "/words");
    file("words/vocab.txt", words);
    return folder + "/words";
  }
  DataPlan plan(const std::string &bytes, const std::string &name = "x.csv", DataFormat format = DataFormat::Csv, bool ofPairs = false) {
    DataPlan made;
    made.order = Order::Sequential;
    made.groups = {{{{file(name, bytes), format}}, {{0}, {1}, {2}, {3}, {4}}}};
    auto &feeds = made.groups[0].feeds;
    feeds[0].text = TextFeed{TextFeedKind::Tokens, ofPairs ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a"}};
    feeds[0].text->tokenizer = tokenizer();
    feeds[1].text = TextFeed{TextFeedKind::Valid}, feeds[2].text = TextFeed{TextFeedKind::Segment};
    feeds[3].text = TextFeed{TextFeedKind::Class, {"kind"}}, feeds[4].text = TextFeed{TextFeedKind::Number, {"worth"}};
    return made;
  }
  std::string refused(const DataPlan &plan, const BatchShape &shape) {
    auto opened = openSamples(plan, 0, shape);
    return opened.ok() ? "" : opened.status().message();
  }
  /// The only row of a file as "ids / mask / types".
  std::string tokens(const std::string &first, const std::string &second, int64_t length) {
    auto opened = openSamples(plan("a,b,kind,worth\n" + first + "," + second + ",x,1\n", "x.csv", DataFormat::Csv, !second.empty()), 0,
                              shape(length));
    if (!opened.ok())
      return opened.status().message();
    Batch batch = batchOf(shape(length), 1);
    if (Status status = (*opened)->write(0, 0, batch, 0); !status.ok())
      return status.message();
    std::string text;
    for (size_t input : {0, 1, 2})
      std::visit(
          [&](const auto &values) {
            text += input ? "/" : "";
            for (auto value : values)
              text += " " + std::to_string(static_cast<int>(value));
          },
          batch[input]);
    return text;
  }
};

TEST_F(TextData, ReadsFieldsOfCsv) {
  EXPECT_EQ(csv("a,b\n1,2\n3,4\n"), "[1][2]@2 [3][4]@3 ");
  EXPECT_EQ(csv("\xef\xbb\xbf"
                "b,a\r\n2,1\r\n\r\n4,3"),
            "[1][2]@2 [3][4]@4 "); // a mark, CRLF, an empty line, no last line break
  EXPECT_EQ(csv("a,b\n\"x,\ny \"\"z\"\"\r\nw\",2\n3,\"\"\n"), "[x,\ny \"z\"\r\nw][2]@2 [3][]@5 "); // quotes
  EXPECT_EQ(csv("a,b\nx \"y\",2\n"), "[x \"y\"][2]@2 ");                                           // a quote within a field is text
  EXPECT_EQ(csv("1,2\n3,4\n", {{"2", "1"}, true}), "[2][1]@1 [4][3]@2 ");
  EXPECT_EQ(csv("a,b\n" + std::string(3 << 20, 'x') + ",2\n\"" + std::string(1 << 20, 'y') + "\",4\n").size(),
            (4u << 20) + 16); // over several reads
}

TEST_F(TextData, RefusesCsvByLine) {
  expectRefused(csv("a,b\n1,2\n3\n"), "x.csv:3: this row has 1 field, the first has 2");
  expectRefused(csv("a,b\n\"1\n\",2,3\n"), "x.csv:2: this row has 3 fields");
  expectRefused(csv("a,b\n1,\"2\n3,4\n"), "x.csv:2: a quote is opened here and never closed");
  expectRefused(csv("a,b\n1,\"2\" \n"), "x.csv:2: there is text after a closing quote");
  expectRefused(csv("a,c\n1,2\n"), "x.csv:1: there is no column 'b'\nnpar: help: the columns are 'a', 'c'");
  expectRefused(csv("a,b,b\n1,2,3\n"), "x.csv:1: two columns are named 'b'");
  expectRefused(csv("1,2\n", {{"3"}, true}), "x.csv:1: there is no column 3: the row has 2 fields");
  expectRefused(csv("a,b\n1,\xc4\xe3\n"), "x.csv:2: this is not UTF-8: 0xc4 at byte 2 of the row");
  expectRefused(csv(std::string("\xff\xfe"
                                "a\0,\0",
                                6)),
                "x.csv:1: the file is UTF-16");
  expectRefused(csv("a,b\n1,\"" + std::string(TextTable::longestRow, 'x')),
                "x.csv:2: the row that begins here has more than 4194304 bytes: line 2 opens a quote");
  expectRefused(csv(""), "is empty");
}

// Files that no one writes by hand: they are read or refused by line, and quickly.
TEST_F(TextData, HostileFiles) {
  const std::string commas(1000000, ',');
  expectRefused(csv(commas + "\n" + commas + "\n"), "x.csv:1: ");
  EXPECT_EQ(csv("1,2" + commas + "\n", {{"2", "1"}, true}), "[2][1]@1 ");
  expectRefused(csv("1,2" + commas + "\n1,2\n", {{"2", "1"}, true}), "x.csv:2: this row has 2 fields, the first has 1000002");
  EXPECT_EQ(csv(std::string("a,b\n1,\0\n", 8)), std::string("[1][\0]@2 ", 9));
  expectRefused(csv("a,b\n" + std::string(TextTable::longestRow + 1, 'x')),
                "x.csv:2: the row that begins here has more than 4194304 bytes");
  expectRefused(csv("a,b\n1,\xed\xa0\x80\n"), "x.csv:2: this is not UTF-8: 0xed at byte 2");
  expectRefused(rowsOf(file("x.jsonl", "{\"a\": " + std::string(100000, '[') + "\n"), DataFormat::JsonLines, {{"a"}}), "x.jsonl:1: ");
  expectRefused(rowsOf(file("x.jsonl", std::string("{\"a\": \"\0\"}\n", 11)), DataFormat::JsonLines, {{"a"}}), "x.jsonl:1: ");
}

TEST_F(TextData, ReadsOtherFormats) {
  EXPECT_EQ(rowsOf(file("x.tsv", "a\tb\n\"1\"\t2,3\n"), DataFormat::Tsv, {{"b", "a"}}), "[2,3][\"1\"]@2 ");
  EXPECT_EQ(rowsOf(file("x.txt", "one\n\ntwo, three\r\n"), DataFormat::Lines, {{"1"}, true}), "[one]@1 []@2 [two, three]@3 ");
  EXPECT_EQ(rowsOf(file("x.jsonl", "{\"a\": \"\\u4f60\\n\", \"b\": 1.5, \"c\": [[1]]}\n\n{\"b\": true}\n{\"a\": null, \"b\": -2}\n"),
                   DataFormat::JsonLines, {{"a", "b"}}),
            "[\xe4\xbd\xa0\n][1.5]@1 [none][true]@3 [none][-2]@4 ");
  expectRefused(rowsOf(file("x.jsonl", "{\"a\": 1}\n[1]\n"), DataFormat::JsonLines, {{"a"}}), "x.jsonl:2: this is no JSON object");
  expectRefused(rowsOf(file("x.jsonl", "{\"a\": {\"b\": 1}}\n"), DataFormat::JsonLines, {{"a"}}),
                "the value of 'a' is a list or an object");
  expectRefused(rowsOf(file("x.jsonl", "{\"a\": 1}\n"), DataFormat::JsonLines, {{"b"}}),
                "no object has a member 'b'\nnpar: help: the members of the first are 'a'");
  expectRefused(rowsOf(file("x.txt", "one\n"), DataFormat::Lines, {{"a", "b"}}), "has one text in each line, and two columns are needed");
}

TEST_F(TextData, CutsAndFillsUpTokens) {
  EXPECT_EQ(tokens("ab c", "", 6), " 2 4 13 6 3 0/ 1 1 1 1 1 0/ 0 0 0 0 0 0");
  EXPECT_EQ(tokens("a b c d e", "", 5), " 2 4 5 6 3/ 1 1 1 1 1/ 0 0 0 0 0");
  EXPECT_EQ(tokens("a", "b c", 8), " 2 4 3 5 6 3 0 0/ 1 1 1 1 1 1 0 0/ 0 0 0 1 1 1 0 0");
  EXPECT_EQ(tokens("a b c d e", "f g h a b c", 8), " 2 4 5 3 9 10 11 3/ 1 1 1 1 1 1 1 1/ 0 0 0 0 1 1 1 1"); // transformers 5.24, as below
  EXPECT_EQ(tokens("a b c d e f g", "a b c d e", 8), " 2 4 5 6 3 4 5 3/ 1 1 1 1 1 1 1 1/ 0 0 0 0 0 1 1 1");
  EXPECT_EQ(tokens("a", "a b c d e f g h", 8), " 2 4 3 4 5 6 7 3/ 1 1 1 1 1 1 1 1/ 0 0 0 1 1 1 1 1");
  EXPECT_EQ(tokens("a b c d e f g h", "a", 9), " 2 4 5 6 7 8 3 4 3/ 1 1 1 1 1 1 1 1 1/ 0 0 0 0 0 0 0 1 1");
  expectRefused(tokens("a", "b", 2), "puts 3 tokens around a text, but 'tokens' has 2");
}

TEST_F(TextData, NumbersClasses) {
  DataPlan made = plan("a,b,kind,worth\na,,x,1\na,,no,2\na,,x,-3e-1\n");
  auto opened = openSamples(made, 0, shape(4));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->classes(), (std::vector<std::string>{"no", "x"}));
  EXPECT_EQ((*opened)->name(2), "line 4");
  EXPECT_EQ((*opened)->texts(1), std::vector<std::string>{"a"});
  Batch batch = batchOf(shape(4), 1);
  ASSERT_TRUE((*opened)->write(2, 0, batch, 0).ok());
  EXPECT_EQ(std::get<std::vector<int32_t>>(batch[3])[0], 1);
  EXPECT_FLOAT_EQ(std::get<std::vector<float>>(batch[4])[0], -0.3F);
  ASSERT_EQ((*opened)->remarks().size(), 1u);
  expectRefused((*opened)->remarks()[0], "has 2 different labels, but axis 'labels'");
  made = plan("kind,a,worth\n10,a,1\n9,a,1\n-1,a,1\n"); // whole numbers by value
  EXPECT_EQ((*openSamples(made, 0, shape(4)))->classes(), (std::vector<std::string>{"-1", "9", "10"}));
  made.find(TextFeedKind::Class)->names = {"9", "10"};
  expectRefused(refused(made, shape(4)),
                "x.csv:4: the label '-1' of column 'kind' is none of the 2 classes\nnpar: help: they are '9', '10'");
  expectRefused(refused(plan("kind,a,worth\n1,a,1\n2,a,1\n3,a,1\n4,a,1\n"), shape(4)),
                "has 4 different labels for input 'label', but axis 'labels'");
}

TEST_F(TextData, ClassesOfSeveralFilesAreTheSame) {
  DataPlan made = plan("kind,a,worth\nz,a,1\n");
  made.groups[0].files.push_back({file("y.jsonl", "{\"kind\": \"b\", \"a\": \"b\", \"worth\": 2}\n"), DataFormat::JsonLines});
  for (size_t number : {0, 1})
    EXPECT_EQ((*openSamples(made, number, shape(4)))->classes(), (std::vector<std::string>{"b", "z"}));
  EXPECT_EQ(countSamples(made, shape(4)), 2);
}

// JSON has one type of numbers: 1 and 1.0 are one class.
TEST_F(TextData, WholeNumbersOfJsonAreOneClass) {
  const std::string row = R"({"kind": 1, "a": "a", "worth": 2}
{"kind": 1.0, "a": "a", "worth": 2}
{"kind": 1e0, "a": "a", "worth": 2}
{"kind": 1.5, "a": "a", "worth": 2}
{"kind": "1", "a": "a", "worth": 2}
)";
  DataPlan made = plan(row, "x.jsonl", DataFormat::JsonLines);
  EXPECT_EQ((*openSamples(made, 0, shape(4)))->classes(), (std::vector<std::string>{"1", "1.5"}));
}

TEST_F(TextData, EmptyTextsAreErrorsOrLeftOut) {
  const std::string bytes = "kind,a,worth\nx,a,1\nx, ,2\ny,b,3\n";
  DataPlan made = plan(bytes);
  expectRefused(refused(made, shape(4)), "x.csv:3: the text of column 'a' is empty\nnpar: help: remove the row, or leave out such rows");
  made.find(TextFeedKind::Tokens)->skipsEmpty = true;
  auto opened = openSamples(made, 0, shape(4));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->samples(), 2);
  EXPECT_EQ((*opened)->name(1), "line 4");
  expectRefused((*opened)->remarks()[1], "1 row of");
}

TEST_F(TextData, RefusesNumbersAndTokenizersThatDoNotFit) {
  expectRefused(refused(plan("kind,a,worth\nx,a,1e99\n"), shape(4)),
                "x.csv:2: column 'worth' has '1e99', but input 'worth' takes finite numbers");
  DataPlan made = plan("kind,a,worth\n3,a,1\n");
  made.groups[0].feeds[3].text->kind = TextFeedKind::Number;
  expectRefused(refused(made, shape(4)), "x.csv:2: column 'kind' has 3, but axis 'labels'");
  made = plan("kind,a,worth\nx,a,1\n");
  made.groups[0].feeds[3].text->kind = TextFeedKind::Number;
  expectRefused(refused(made, shape(4)), "column 'kind' has 'x', but input 'label' takes whole numbers");
  made = plan("kind,a,worth\nx,a,1\n");
  BatchShape small = shape(4);
  small.inputs[0].range.classes = 12;
  expectRefused(refused(made, small), "has 21 tokens, but axis 'vocab'");
  made.find(TextFeedKind::Tokens)->tokenizer = "bytes";
  expectRefused(refused(made, shape(4)), "has 256 tokens");
  BatchShape large = shape(4);
  large.inputs[0].range.classes = 256;
  expectRefused(refused(made, large), "has no token for padding");
  made.find(TextFeedKind::Tokens)->padding = 0;
  EXPECT_EQ(refused(made, large), "");
  made.find(TextFeedKind::Tokens)->columns = {"a", "kind"};
  expectRefused(refused(made, large), "states no form for pairs of texts");
  made.find(TextFeedKind::Tokens)->tokenizer = "";
  expectRefused(refused(made, large), "no tokenizer is known");
}

TEST_F(TextData, PartsAndPassesCountExactly) {
  std::string bytes = "kind,a,worth\n";
  for (int i = 0; i < 99; ++i)
    bytes += std::string(i % 2 ? "x" : "y") + ",a b c," + std::to_string(i) + "\n";
  DataPlan made = plan(bytes);
  auto pass = OncePass::open(made, shape(4, 32), 1);
  ASSERT_TRUE(pass.ok()) << pass.status().message();
  EXPECT_EQ((*pass)->samples(), 99);
  EXPECT_EQ((*pass)->steps(), 4);
  EXPECT_EQ((*pass)->batch(3).samples, 3);
  EXPECT_EQ((*pass)->nameOf(98), "line 100");
  made.split = {{0.9, 0.1}, 42, 1};
  EXPECT_EQ(countSamples(made, shape(4)), 10);
  made.split.part = 0;
  EXPECT_EQ(countSamples(made, shape(4)), 89);
  made.order = Order::Shuffled;
  auto source = DataSource::open(made, 3, shape(4, 32));
  ASSERT_TRUE(source.ok());
  const Batch one = (*source)->batch(5);
  (*source)->useWorkers(4); // the same samples for any number of threads
  EXPECT_EQ((*source)->batch(5), one);
}

} // namespace
} // namespace npar::testing
