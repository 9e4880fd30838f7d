// Machines: what their text says, in which units, and that what is printed reads to the same machine.
#include "Npar.h"

#include "dsl/machine/ReadMachine.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>

namespace npar::dsl::test {
namespace {

struct ReadResult {
  std::optional<Machine> machine;
  std::string messages;
};

ReadResult readText(const std::string &text) {
  TextFile file(text);
  Sources sources;
  Diagnostics diagnostics(sources);
  ReadResult result{loadMachine(file.path(), {stdlib}, sources, diagnostics), ""};
  std::ostringstream out;
  diagnostics.print(out);
  result.messages = out.str();
  return result;
}

/// The reference machine's text with one line changed.
std::string changed(const std::string &from, const std::string &to) {
  std::string text = readFile(stdlib + "/machines/reference.npar");
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Machine, TheReferenceIsTheOneOfTheStandardLibrary) {
  ReadResult read = readText(readFile(stdlib + "/machines/reference.npar"));
  ASSERT_TRUE(read.machine) << read.messages;
  Machine compiledIn = referenceMachine();
  EXPECT_EQ(compiledIn.name, "reference");
  std::vector<Figure> expected = figuresOf(*read.machine), found = figuresOf(compiledIn);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(*found[i].value, *expected[i].value) << found[i].path();
}

TEST(Machine, WhatIsPrintedReadsToTheSameMachine) {
  Machine machine = referenceMachine();
  machine.link(LinkLevel::Rack).hosts = 18;
  double value = 1.2345e-7;
  for (const Figure &figure : figuresOf(machine)) // digits, and sizes from far below a unit to far above
    if (figure.kind != FigureKind::Cores && figure.kind != FigureKind::Ranks && figure.kind != FigureKind::Hosts &&
        figure.kind != FigureKind::Share) {
      value = value > 1e5 ? 3.3e-11 : value * 9.7;
      *figure.value = figure.kind == FigureKind::Rate || figure.kind == FigureKind::Bandwidth ? 1 + value * 1e9 : value;
    }
  ReadResult read = readText(printMachine(machine));
  ASSERT_TRUE(read.machine) << read.messages << printMachine(machine);
  std::vector<Figure> expected = figuresOf(machine), found = figuresOf(*read.machine);
  for (size_t i = 0; i < found.size(); ++i)
    if (*expected[i].value != 0)
      EXPECT_NEAR(*found[i].value / *expected[i].value, 1, 1e-3) << found[i].path();
    else
      EXPECT_EQ(*found[i].value, 0) << found[i].path();
  EXPECT_EQ(printMachine(*read.machine), printMachine(*readText(printMachine(*read.machine)).machine));
}

TEST(Machine, UnitsMayStandApartOrNot) {
  for (const char *text : {"far 2500MB/s", "far 2.5 GB/s", "far 2500000 kB/s", "far 25e8 B/s"}) {
    std::string machine = readFile(stdlib + "/machines/reference.npar");
    size_t at = machine.find("far ");
    machine.replace(at, machine.find('\n', at) - at, text);
    ReadResult read = readText(machine);
    ASSERT_TRUE(read.machine) << text << ": " << read.messages;
    EXPECT_DOUBLE_EQ(read.machine->far, 2.5e9) << text;
  }
}

TEST(Machine, FiguresThatAreNeededAreMissed) {
  Machine machine = referenceMachine();
  for (const Figure &figure : figuresOf(machine)) {
    if (figure.need != FigureNeed::Always)
      continue;
    std::istringstream lines(printMachine(machine));
    std::string text, line, group;
    while (std::getline(lines, line)) {
      if (line.find('{') != std::string::npos)
        group = line;
      bool isIt = group.find(std::string("    ") + figure.group + (*figure.type ? " " : "") + figure.type + " {") == 0 &&
                  line.find(std::string("        ") + figure.name + " ") == 0;
      text += isIt ? "" : line + "\n";
    }
    ReadResult read = readText(text);
    EXPECT_FALSE(read.machine) << figure.path();
    EXPECT_NE(read.messages.find("machine 'reference' lacks '" + figure.path() + "'"), std::string::npos) << read.messages;
  }
}

TEST(Machine, ACoresOwnCacheHasBothFiguresOrNone) {
  std::string text = printMachine(referenceMachine());
  auto with = [&](const std::string &group) { return std::string(text).insert(text.find("    memory {"), group + "\n"); };
  ReadResult both = readText(with("    cache { bandwidth 60 GB/s  size 512 KiB }"));
  ASSERT_TRUE(both.machine) << both.messages;
  EXPECT_DOUBLE_EQ(both.machine->cache.size, 512 * 1024);
  EXPECT_FALSE(readText(with("    cache { bandwidth 0 GB/s  size 512 KiB }")).machine);
  ReadResult one = readText(with("    cache { size 512 KiB }"));
  EXPECT_FALSE(one.machine);
  EXPECT_NE(one.messages.find("lacks 'cache.bandwidth'"), std::string::npos) << one.messages;
}

TEST(Machine, TheLanguageReferenceHasEveryFigure) {
  std::string page = readFile(NPAR_DSL "/PLANS.md");
  for (MachineKind kind : {MachineKind::Processor, MachineKind::Device}) {
    Machine machine;
    machine.kind = kind;
    for (const Figure &figure : figuresOf(machine))
      EXPECT_NE(page.find("`" + std::string(figure.group) + " " + figure.name + "`"), std::string::npos) << figure.path();
  }
}

TEST(Machine, ThoseOfTheStandardLibraryAreRead) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(stdlib + "/machines")) {
    ReadResult read = readText(readFile(entry.path().string()));
    ASSERT_TRUE(read.machine) << entry.path() << ": " << read.messages;
    ReadResult again = readText(printMachine(*read.machine));
    ASSERT_TRUE(again.machine) << entry.path() << ": " << again.messages;
    EXPECT_EQ(printMachine(*again.machine), printMachine(*read.machine));
    ++count;
  }
  EXPECT_GE(count, 2u);
}

TEST(Machine, AFileHasOneMachine) {
  EXPECT_NE(readText("# nothing\n").messages.find("error: the file has no machine"), std::string::npos);
  std::string text = readFile(stdlib + "/machines/reference.npar");
  EXPECT_NE(readText(text + "machine other {}").messages.find("a file of a machine declares one, this is another"), std::string::npos);
  EXPECT_NE(readText(text + text).messages.find("a file of a machine declares one"), std::string::npos);
  EXPECT_TRUE(readText("import \"gpt2\"\n" + text).machine); // other declarations in the text do not matter
}

/// The kinds of a machine are files in the same folder or in the library; only links are figures of the machine itself.
TEST(Machine, SeveralKindsOfHosts) {
  TextFile beside(readFile(stdlib + "/machines/titan-rtx-2.npar")); // without a link between hosts
  std::string text = "machine both {\n    hosts 3 of \"dgx-h100\"\n    hosts 2 of \"" + beside.path() +
                     "\"\n    link cluster {\n        bandwidth 12 GB/s\n        latency 20 us\n    }\n}\n";
  ReadResult read = readText(text);
  ASSERT_TRUE(read.machine) << read.messages;
  const Machine &both = *read.machine;
  ASSERT_EQ(both.kinds.size(), 2u);
  EXPECT_EQ(both.kinds[0].hosts, 3);
  EXPECT_EQ(both.kinds[0].machine.name, "dgx_h100");
  EXPECT_DOUBLE_EQ(both.kinds[0].machine.link(LinkLevel::Cluster).bandwidth, 42e9);
  EXPECT_DOUBLE_EQ(both.kinds[1].machine.link(LinkLevel::Cluster).bandwidth, 12e9);
  EXPECT_DOUBLE_EQ(both.link(LinkLevel::Cluster).bandwidth, 12e9);
  EXPECT_DOUBLE_EQ(both.link(LinkLevel::Cluster).latency, 20e-6);
  EXPECT_DOUBLE_EQ(both.link(LinkLevel::Host).bandwidth, both.kinds[1].machine.link(LinkLevel::Host).bandwidth);
  EXPECT_DOUBLE_EQ(both.ranks, 2);
  EXPECT_EQ(printMachine(both).substr(0, text.find("    link")), text.substr(0, text.find("    link")));
  ReadResult again = readText(printMachine(both));
  ASSERT_TRUE(again.machine) << again.messages;
  EXPECT_EQ(printMachine(*again.machine), printMachine(both));
  EXPECT_TRUE(computesIn(both.kinds[0].machine, 1));
  EXPECT_EQ(computesIn(both, 1), computesIn(both.kinds[1].machine, 1)); // what one kind lacks, the machine lacks
}

TEST(Machine, KindsOfHostsAreBounded) {
  std::string text = "machine many {\n";
  for (int kind = 0; kind < 30000; ++kind)
    text += "    hosts 1 of \"dgx-h100\"\n";
  EXPECT_NE(readText(text + "}\n").messages.find("test.npar:66:5: error: machine 'many' has more than 64 kinds of hosts"),
            std::string::npos);
}

TEST(Machine, FiguresHaveSuitableUnits) {
  EXPECT_EQ(figureText(FigureKind::Bandwidth, 9.5e9), "9.5 GB/s");
  EXPECT_EQ(figureText(FigureKind::Seconds, 4.2e-11), "42 ps");
  EXPECT_EQ(figureText(FigureKind::Seconds, 0), "0 ps");
  EXPECT_EQ(figureText(FigureKind::Cores, 1), "1 core");
  EXPECT_EQ(figureText(FigureKind::Ranks, 1 << 20), "1048576 ranks");
  EXPECT_EQ(figureText(FigureKind::Share, 0.875), "87.5 %");
  EXPECT_EQ(figureText(FigureKind::Bytes, 4e6), "4 MB");
}

TEST(Machine, ModelsTextMayDeclareOneWhichIsChecked) {
  std::string text = changed("near ", "nera ") + "import \"mlp\"\n";
  Result result = elaborateText(text);
  EXPECT_NE(result.messages.find("unknown figure 'nera' of 'memory'"), std::string::npos) << result.messages;
}

} // namespace
} // namespace npar::dsl::test
