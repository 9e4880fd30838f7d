// Causes in words: each kind with all it can name, and with nothing.
#include "engine/program/Cause.h"

#include <gtest/gtest.h>

#include <set>

using namespace npar::program;

namespace {

CauseT full(CauseKind kind) {
  CauseT cause;
  cause.kind = kind, cause.operation = "einsum", cause.variable = "h.0.w", cause.mesh_axis = "tp", cause.store = "optimizer -> dp";
  for (auto [axis, rule] : {std::pair("batch", "batch -> dp"), std::pair("seq", "seq -> tp")}) {
    cause.axes.push_back(std::make_unique<CauseAxisT>());
    cause.axes.back()->axis = axis, cause.axes.back()->rule = rule;
  }
  return cause;
}

TEST(Cause, IsASentenceOfWhatItNames) {
  EXPECT_EQ(describe(CauseT()), "");
  EXPECT_EQ(describe(full(CauseKind::SumsOverSplit)), "'einsum' sums over 'batch', split by rule 'batch -> dp'");
  EXPECT_EQ(describe(full(CauseKind::ReducesSplit)), "'einsum' reduces over 'batch', split by rule 'batch -> dp'");
  EXPECT_EQ(describe(full(CauseKind::AddsOwned)), "'einsum' adds what each rank owns");
  EXPECT_EQ(describe(full(CauseKind::Accumulated)),
            "'h.0.w' was accumulated from each rank's share of 'batch' by rule 'batch -> dp', of 'seq' "
            "by rule 'seq -> tp', stored by rule 'optimizer -> dp'");
  EXPECT_EQ(describe(full(CauseKind::WantsSplit)), "'einsum' wants 'batch' split by rule 'batch -> dp'");
  EXPECT_EQ(describe(full(CauseKind::WantsWhole)),
            "'einsum' wants 'batch' whole on every rank of 'tp', whose ranks split this operation by rule 'batch -> dp': "
            "a piece of 'seq' needs most of it");
  EXPECT_EQ(describe(full(CauseKind::WantsOrder)), "'einsum' wants another order of splits");
  EXPECT_EQ(describe(full(CauseKind::StoresShare)), "'h.0.w' is stored by rule 'optimizer -> dp'");
  EXPECT_EQ(describe(full(CauseKind::UpdatedInShares)), "'h.0.w' is used whole but updated by rule 'optimizer -> dp'");
  EXPECT_EQ(describe(full(CauseKind::StoredInShares)), "'einsum' uses 'h.0.w' whole, stored by rule 'optimizer -> dp'");
  EXPECT_EQ(describe(full(CauseKind::UpdatesShare)), "'einsum' updates what is stored by rule 'optimizer -> dp'");
  EXPECT_EQ(describe(full(CauseKind::PassesRound)), "'einsum' passes 'batch' round the ring of 'seq'");
}

TEST(Cause, OfSeveralVariablesOrWithoutARuleSaysSo) {
  CauseT cause = full(CauseKind::ReducesSplit);
  cause.axes[0]->rule = "";
  EXPECT_EQ(describe(cause), "'einsum' reduces over 'batch', which is split");
  cause = full(CauseKind::StoresShare);
  cause.variable = "";
  EXPECT_EQ(describe(cause), "each of these is stored by rule 'optimizer -> dp'");
}

TEST(Cause, OfOneAxisIsAboutItAlone) {
  CauseT cause = full(CauseKind::WantsWhole);
  cause.axes.pop_back();
  EXPECT_EQ(describe(cause), "'einsum' wants 'batch' whole on every rank of 'tp', whose ranks split this operation by rule 'batch -> dp'");
  cause.kind = CauseKind::PassesRound;
  EXPECT_EQ(describe(cause), "'einsum' needs entries of 'batch' from other pieces, split by rule 'batch -> dp'");
}

TEST(Cause, KindsDifferInWordsEvenWhenNothingIsNamed) {
  std::set<std::string> texts;
  for (CauseKind kind : EnumValuesCauseKind()) {
    CauseT cause;
    cause.kind = kind;
    EXPECT_TRUE(texts.insert(describe(cause)).second) << EnumNameCauseKind(kind) << ": " << describe(cause);
  }
}

} // namespace
