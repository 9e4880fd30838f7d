// Any altered or missing byte of a compiled program must be refused with a message, never believed.
#include "engine/tables/TableCheck.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

TEST(Loader, OpensWhatWasPacked) {
  auto program = LoadedProgram::fromBytes(packProgram(twoStages()), "good.npx");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->root().classes()->size(), 2u);
  EXPECT_EQ((*program)->root().classes()->Get(1)->name()->str(), "stage1");
}

TEST(Loader, RefusesEveryFlippedByte) {
  const std::vector<uint8_t> good = packProgram(twoStages());
  for (size_t i = 0; i < good.size(); ++i)
    for (uint8_t flip : {0x01, 0xff}) {
      std::vector<uint8_t> bad = good;
      bad[i] ^= flip;
      auto program = LoadedProgram::fromBytes(bad, "bad.npx");
      ASSERT_FALSE(program.ok()) << "byte " << i;
      ASSERT_NE(program.status().message().find("'bad.npx': "), std::string::npos);
      ASSERT_EQ(program.status().code(), engine::Code::BadInput);
    }
}

TEST(Loader, RefusesEveryTruncation) {
  const std::vector<uint8_t> good = packProgram(twoStages());
  for (size_t size = 0; size < good.size(); ++size)
    ASSERT_FALSE(LoadedProgram::fromBytes({good.begin(), good.begin() + size}, "short.npx").ok()) << size;
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  auto program = LoadedProgram::fromBytes(longer, "long.npx");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("longer than written"), std::string::npos);
}

// A payload that was damaged before it was sealed has a good hash: the structure checks must hold without it.
TEST(Loader, SurvivesDamageUnderAGoodHash) {
  const std::vector<uint8_t> good = packProgram(twoStages());
  const std::vector<uint8_t> payload(good.begin() + LoadedProgram::headerBytes, good.end());
  size_t refused = 0;
  for (size_t i = 0; i < payload.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bad = payload;
      bad[i] ^= flip;
      refused += !LoadedProgram::fromBytes(sealProgram(bad.data(), bad.size()), "bad.npx").ok();
    }
  EXPECT_GT(refused, payload.size());
}

bool isAligned(const uint8_t *program) {
  return tables::elementsAreAligned(*flatbuffers::GetRoot<flatbuffers::Table>(program), *ProgramTypeTable());
}

// FlatBuffers' verifier lets a list of 64-bit numbers begin between two of them.
TEST(Loader, RefusesElementsThatLieWhereTheyCannotBeRead) {
  ProgramT tables = twoStages();
  tables.variables[0]->shape = {1}; // as a length it reaches over no end
  const std::vector<uint8_t> good = packProgram(tables);
  std::vector<uint8_t> bad(good.begin() + LoadedProgram::headerBytes, good.end());
  EXPECT_TRUE(isAligned(bad.data()));
  const Variable *variable = GetProgram(bad.data())->variables()->Get(0);
  auto *table = reinterpret_cast<const flatbuffers::Table *>(variable);
  uint8_t *field = bad.data() + (reinterpret_cast<const uint8_t *>(table) - bad.data()) + table->GetOptionalFieldOffset(Variable::VT_SHAPE);
  const int64_t length = variable->shape()->Get(0); // now it is read as one
  flatbuffers::WriteScalar(field, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(field) + 4);
  ASSERT_EQ(variable->shape()->size(), static_cast<uint32_t>(length));
  flatbuffers::Verifier verifier(bad.data(), bad.size());
  ASSERT_TRUE(VerifyProgramBuffer(verifier));
  EXPECT_FALSE(isAligned(bad.data()));
  auto program = LoadedProgram::fromBytes(sealProgram(bad.data(), bad.size()), "bad.npx");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().message(), "'bad.npx': damaged: not a well-formed program");
}

// A list without elements may begin anywhere: such a program is valid for any bytes before it.
TEST(Loader, ReadsEmptyLists) {
  for (size_t letters = 0; letters < 8; ++letters) {
    ProgramT tables = twoStages();
    tables.variables[1]->axes.clear(), tables.variables[1]->shape.clear();
    tables.variables[1]->name = std::string(letters, 'x');
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, Program::Pack(builder, &tables));
    EXPECT_TRUE(isAligned(builder.GetBufferPointer())) << letters;
  }
}

TEST(Loader, SaysWhatAFileIsNot) {
  auto garbage = LoadedProgram::fromBytes(std::vector<uint8_t>(4096, 7), "garbage.npx");
  ASSERT_FALSE(garbage.ok());
  EXPECT_NE(garbage.status().message().find("not a compiled program"), std::string::npos);
  auto missing = LoadedProgram::fromFile("/nowhere/missing.npx");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().message(), "cannot read '/nowhere/missing.npx': No such file or directory");
  EXPECT_FALSE(LoadedProgram::fromFile("/").ok());
}

TEST(Loader, RefusesAnotherVersion) {
  std::vector<uint8_t> bytes = packProgram(twoStages());
  bytes[8] = 10;
  auto program = LoadedProgram::fromBytes(bytes, "new.npx");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("format version 10, this npar reads version 9"), std::string::npos);
}

// Files of before the format changed: the driver exits with 1, "the input is wrong".
TEST(Loader, AsksToCompileAnOldFileAgain) {
  std::vector<uint8_t> bytes = packProgram(twoStages());
  bytes[8] = 1;
  auto program = LoadedProgram::fromBytes(bytes, "old.npx");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), engine::Code::BadInput);
  EXPECT_EQ(program.status().message(), "'old.npx': format version 1, this npar reads version 9; compile the model again with this npar");
}

// A program is checked when it is made, from tables or from bytes; a wrong one is returned only by the examine functions.
TEST(Loader, KeepsWhatTheChecksSaid) {
  auto good = LoadedProgram::fromTables(twoStages());
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ((*good)->checks().size(), 6u);
  EXPECT_TRUE((*good)->status().ok());
  EXPECT_EQ((*good)->data(), packProgram(twoStages()));
  ProgramT wrong = twoStages();
  wrong.transfers[0]->peer = 0;
  EXPECT_EQ(LoadedProgram::fromTables(wrong).status().message().rfind("'Hand': program refused (sends and receives match): ", 0), 0u);
  EXPECT_EQ(LoadedProgram::fromBytes(packProgram(wrong), "w.npx").status().message().rfind("'w.npx': program refused (", 0), 0u);
  auto examined = LoadedProgram::examineBytes(packProgram(wrong), "w.npx");
  ASSERT_TRUE(examined.ok());
  EXPECT_EQ((*examined)->status().message().rfind("program refused (sends and receives match): ", 0), 0u);
}

} // namespace
} // namespace npar::program
