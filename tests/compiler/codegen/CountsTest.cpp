// Counted and located choices against their definitions: by the loops of codegen/loops/Counts.cpp where the choices are contiguous, by the
// ops' own formulas, which GPUs compute, where they are not.
#include "tests/compiler/codegen/KernelChecks.h"

namespace npar::codegen {
namespace {

constexpr int64_t groups = 3;

struct Case {
  int64_t choices, entries;
  bool contiguous;

  std::string type(const std::string &axis, int64_t size) const {
    const std::string own = axis + "=" + std::to_string(size), group = "batch=" + std::to_string(groups);
    return tensorText(contiguous ? group + " " + own : own + " " + group, "i32");
  }
  int64_t at(int64_t group, int64_t index, int64_t size) const { return contiguous ? group * size + index : index * groups + group; }

  /// Choices of which some are no entries.
  std::vector<int32_t> draw() const {
    std::mt19937 generator(7);
    std::uniform_int_distribution<int32_t> any(-1, static_cast<int32_t>(entries));
    std::vector<int32_t> values(groups * choices);
    for (int32_t &value : values)
      value = any(generator);
    values[0] = INT32_MAX, values.back() = INT32_MIN;
    return values;
  }
  bool isEntry(int32_t choice) const { return choice >= 0 && choice < entries; }

  void check(const std::string &op, const std::string &operand, const std::string &result, const std::vector<int32_t> &expected) const {
    CompiledFunction f(function("%x: " + operand, result, op + "\nreturn %y : " + result));
    ASSERT_TRUE(f.ok()) << op;
    EXPECT_EQ(f.kernels, 1);
    for (int64_t parts : {1, 3})
      EXPECT_EQ(f.run({draw()}, {0, 0, 1}, parts)[0].as<int32_t>(), expected) << op << " in " << parts << " parts";
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool contiguous : {true, false})
    for (int64_t choices : {1, 7, 64, 257})
      for (int64_t entries : {1, 4, 60})
        all.push_back({choices, entries, contiguous});
  return all;
}

TEST(Counts, Queue) {
  for (const Case &c : cases())
    for (bool sorted : {false, true}) {
      std::vector<int32_t> x = c.draw(), expected(x.size());
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t i = 0; i < c.choices; ++i)
          for (int64_t j = 0; j < c.choices; ++j) {
            int32_t own = x[c.at(g, i, c.choices)], other = x[c.at(g, j, c.choices)];
            bool counts = (own == other && j < i) || (sorted && other < own);
            expected[c.at(g, i, c.choices)] += counts && c.isEntry(own) && c.isEntry(other);
          }
      const std::string type = c.type("choice", c.choices), other = c.type("other", c.choices);
      c.check("%o = nn.rename %x from \"choice\" to \"other\" : (" + type + ") -> " + other +
                  "\n%y = nn.queue %x, %o along \"choice\" and \"other\" {entries = " + std::to_string(c.entries) +
                  " : i64, sorted = " + (sorted ? "true" : "false") + "} : (" + type + ", " + other + ") -> " + type,
              type, type, expected);
    }
}

TEST(Counts, CountBelow) {
  for (const Case &c : cases())
    for (bool inclusive : {false, true}) {
      const int64_t results = c.entries + 2; // beyond the entries all choices are below
      std::vector<int32_t> x = c.draw(), expected(groups * results);
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t e = 0; e < results; ++e)
          for (int64_t i = 0; i < c.choices; ++i)
            if (int32_t own = x[c.at(g, i, c.choices)]; c.isEntry(own))
              expected[c.at(g, e, results)] += inclusive ? own <= e : own < e;
      const std::string type = c.type("choice", c.choices), result = c.type("expert", results);
      c.check("%y = nn.count_below %x over \"choice\" to \"expert\" {entries = " + std::to_string(c.entries) +
                  " : i64, inclusive = " + (inclusive ? "true" : "false") + "} : (" + type + ") -> " + result,
              type, result, expected);
    }
}

TEST(Counts, Locate) {
  for (const Case &c : cases()) {
    std::vector<int32_t> x = c.draw(), expected(groups * c.entries, -1);
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t i = 0; i < c.choices; ++i)
        if (int32_t wanted = x[c.at(g, i, c.choices)]; c.isEntry(wanted))
          expected[c.at(g, wanted, c.entries)] = static_cast<int32_t>(i);
    const std::string type = c.type("choice", c.choices), result = c.type("row", c.entries);
    c.check("%y = nn.locate %x over \"choice\" along \"row\" : (" + type + ") -> " + result, type, result, expected);
  }
}

} // namespace
} // namespace npar::codegen
