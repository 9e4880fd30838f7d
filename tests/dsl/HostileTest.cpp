// Texts made to hurt: each ends in a located message, quickly (ctest's time limit), and none crashes.
#include "Npar.h"

#include <gtest/gtest.h>

using namespace npar::dsl::test;

namespace {

std::string many(const std::string &text, size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

void refused(const std::string &text, const std::string &message) {
  Result r = elaborateText(text);
  EXPECT_FALSE(r.program);
  EXPECT_NE(r.messages.find(message), std::string::npos) << r.messages.substr(0, 2000);
}

const std::string train = "train b for M { batch 1 optimizer Sgd(lr = 1) }\n";

std::string model(const std::string &body) { return "model M {\naxis batch, seq = 4\ninput t: f32[batch, seq]\n" + body + "\n}\n" + train; }

TEST(Hostile, LargeFile) { refused(std::string(20'000'000, 'x'), "test.npar: error: "); }
TEST(Hostile, JustTooLarge) { refused(std::string((1 << 20) + 1, ' '), "it has 1048577 bytes, at most 1048576 (1 MiB) are read"); }

TEST(Hostile, Nesting) {
  for (const char *open : {"(", "[", "f(", "x["})
    for (size_t depth : {300u, 100'000u})
      refused(model("x = " + many(open, depth)), ":4:" + std::to_string(5 + 256 * std::string(open).size() - 1) +
                                                     ": error: parentheses, brackets and braces nest deeper than 256");
  refused(many("model M {", 300), "nest deeper than 256");
}

TEST(Hostile, NestingAtTheLimit) {
  refused(model("x = " + many("(", 255) + "1" + many(")", 255)), "model 'M' has no loss");
  refused(model("x = " + many("[", 255) + "1" + many("]", 255)), ": error: ");
  refused(model("x = " + many("sqrt(", 255) + "1" + many(")", 255)), "model 'M' has no loss");
  refused(model(many("repeat r[1] {", 255) + many("}", 255)), "model 'M' has no loss");
  refused(model(many("repeat r[2] {", 255) + many("}", 255)), "the model repeats more than 100000 blocks");
}

TEST(Hostile, LongChains) {
  refused(model("x = 1" + many(" + 1", 200'000)), "model 'M' has no loss");
  refused(model("x = t" + many(" + t", 200'000)), "model 'M' has no loss");
  refused(model("x = " + many("-", 900'000) + "1"), "model 'M' has no loss");
  refused(model("x = " + many("not ", 200'000) + "true"), "model 'M' has no loss");
  refused(model("x = t" + many(".a", 400'000)), "a tensor has no members");
  refused(model("x = t" + many("()", 400'000)), "cannot be called");
  refused(model("x = [" + many("seq, ", 150'000) + "seq]"), "a list of 150001 axes, at most 16");
}

TEST(Hostile, ManyErrors) {
  std::string names;
  for (int i = 0; i < 20'000; ++i)
    names += "a" + std::to_string(i) + " = 1\n";
  refused(model(names + many("y = xxxxxxxxxxxxxxxxxxxx\n", 20'000)), "unknown name 'xxxx");
  refused(many("layer L() { forward(x) = x }\n", 30'000), "layer 'L' is declared twice");
}

TEST(Hostile, ManyOfEverything) {
  std::string axes, rules, mesh, formals, named;
  for (int i = 0; i < 20'000; ++i) {
    std::string n = std::to_string(i);
    axes += (i ? ", a" : "a") + n + " = 1";
    mesh += (i ? ", m" : "m") + n + " = 1";
    rules += "seq -> m" + n + "\n";
    formals += (i ? ", p" : "p") + n + " = 1";
    named += (i ? ", p" : "p") + n + " = 2";
  }
  refused(model("axis " + axes + "\nparam w: [" + many("a1, ", 20'000) + "a2] = ones\nloss t * w"), "a tensor has 20001 axes, at most 16");
  refused(model("loss sum(t, over = [" + many("seq, ", 20'000) + "seq])"), "a list of 20001 axes, at most 16");
  refused("layer L(" + formals + ") { forward(x) = x }\n" + model("l = L(" + named + ")\nloss l(t)"), "20000 arguments, at most 256");
  refused(model("loss t") + "plan p for M { mesh " + mesh + "\nmicro 1 }", "the mesh has more than 16 axes");
  refused(model("loss t") + "plan p for M { mesh m0 = 1\nmicro 1 split {" + rules + "} }", "more than 1000 rules");
}

TEST(Hostile, Garbage) {
  refused(many(") ] } = , -> 1f1b ", 50'000), "1:1: error: expected a declaration");
  refused(std::string("\x7f"
                      "ELF\x02\x01\x01\0\0\0",
                      10),
          "this is binary data, not text");
  refused(std::string("model M\0 {}", 11), "this is binary data, not text: byte 0x00 at offset 7");
  refused("model M\xff {}", "this is binary data, not text: byte 0xff at offset 7");
  refused("model M\xc0\x80 {}", "this is binary data, not text");
  refused("model \xf0\x9f\x98\x80 {}", "1:7: error: unexpected character");
}

// A small text that asks for more layers, calls or operations than anything useful has.
TEST(Hostile, ExponentialLayers) {
  std::string made, called;
  for (int i = 0; i < 40; ++i) {
    std::string name = "L" + std::to_string(i), next = "L" + std::to_string(i + 1);
    made += "layer " + name + "() { a = " + next + "() b = " + next + "() forward(x) = a(b(x)) }\n";
    called += "layer " + name + "() { a = " + next + "() forward(x) = a(a(x)) }\n";
  }
  std::string end = "layer L40() { forward(x) = x + x }\n" + model("l = L0()\nloss l(t)");
  refused(made + end, "the model has more than 200000 layers");
  refused(called + end, "the model has more than 1000000 operations");
}

TEST(Hostile, DeepLayers) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "layer L" + std::to_string(i) + "() { a = L" + std::to_string(i + 1) + "() forward(x) = a(x) }\n";
  refused(text + model("l = L0()\nloss l(t)"), "layers nest deeper than 64");
}

TEST(Hostile, Paths) {
  EXPECT_NE(elaborateFile("/no/such/file.npar").messages.find("cannot read '/no/such/file.npar': no such file"), std::string::npos);
  EXPECT_NE(elaborateFile("/").messages.find("not a regular file"), std::string::npos);
  EXPECT_NE(elaborateFile("").messages.find("cannot read ''"), std::string::npos);
  refused("import \"" + many("../", 2000) + "x\"\n", "cannot find import");
}

TEST(Hostile, Settings) {
  for (const char *value : {"((((", "\"", "\x01", "1 2", ")", "a.b.c", "[[]]", "f(f(f(1)))", "-", "1e999", "9e", "\xff"}) {
    Result r = elaborateFile(stdlib + "/models/gpt2.npar", {{"width", value}});
    EXPECT_FALSE(r.program) << value;
    EXPECT_NE(r.messages.find("--set:"), std::string::npos) << value << ": " << r.messages;
  }
  EXPECT_FALSE(elaborateFile(stdlib + "/models/gpt2.npar", {{"", "1"}}).program);
  Result far = elaborateFile(stdlib + "/models/gpt2.npar", {{"zzzzzzzz", "1"}});
  EXPECT_NE(far.messages.find("unknown setting 'zzzzzzzz'"), std::string::npos) << far.messages;
  EXPECT_NE(far.messages.find("or others\n"), std::string::npos) << far.messages;
  EXPECT_FALSE(elaborateFile(stdlib + "/models/gpt2.npar", {{"width", many("(", 1000)}}).program);
}

} // namespace
