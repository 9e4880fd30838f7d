// Tests unknown values with their reasons, unknown conditions, launchers and limits, for which bash has no answer.
#include "tests/tools/lib/foreign/FollowedScript.h"

#include "tools/lib/foreign/shell/Parser.h"
#include "tools/lib/foreign/shell/Pattern.h"

#include <gtest/gtest.h>

namespace npar::foreign::shell::test {
namespace {

using Words = std::vector<std::string>;
using Devices = std::vector<std::pair<std::string, std::string>>;

TEST(Shell, AVariableThatNothingSetsIsUnknownWithItsName) {
  FollowedScript followed = follow("A=$TP\ntorchrun pretrain_gpt.py --a $A --b x$PP.y\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"--a", "«$TP»", "--b", "x«$PP».y"}));
  EXPECT_EQ(followed.reasons, (Words{"'TP', which the script does not set", "'PP', which the script does not set"}));
}

TEST(Shell, GivenVariablesReplaceUnknownValuesOnly) {
  const char *script = "A=$TP\nB=$(nvidia-smi -L | wc -l)\nC=3\ntorchrun pretrain_gpt.py $A $B $C $1\n";
  EXPECT_EQ(wordsOf(script, {{"TP", "8"}, {"B", "4"}, {"C", "9"}, {"1", "first"}}), (Words{"8", "4", "3", "first"}));
}

// bash calls a program that a bare system lacks.
TEST(Shell, Calculates) { EXPECT_EQ(wordsOf("G=$(echo \"8 * 4\" | bc)\ntorchrun pretrain_gpt.py $G\n"), Words{"32"}); }

TEST(Shell, OutputsAreUnknown) {
  FollowedScript followed = follow("N=$(scontrol show hostnames | wc -l)\ntorchrun pretrain_gpt.py $((N * 8)) `hostname`\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"«$((N * 8))»", "«`hostname`»"}));
  EXPECT_EQ(followed.reasons, (Words{"the output of 'scontrol show hostnames | wc -l'", "the output of 'hostname'"}));
}

TEST(Shell, AssociativeArraysHaveNoOrder) {
  FollowedScript followed = follow("declare -A M=([b]=2 [a]=1)\ntorchrun pretrain_gpt.py ${#M[@]} ${M[b]} \"${M[@]}\" ${!M[@]}\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"2", "2", "«${M[@]}»", "«${!M[@]}»"}));
  EXPECT_EQ(followed.reasons[0], "the order of an associative array's elements, which bash leaves open");
}

TEST(Shell, OutputsStayUnknownInTextsThatAreReadAsCommands) {
  FollowedScript followed =
      follow("N=${K:-$(python -c \"print(8)\")}\nA=(--n $N --m 2)\nC=\"torchrun pretrain_gpt.py ${A[@]}\"\neval $C\nbash -c \"$C\"\n");
  ASSERT_EQ(followed.commands.size(), 2U);
  for (const Words &command : followed.commands)
    EXPECT_EQ(command, (Words{"--n", "«?»", "--m", "2"}));
}

TEST(Shell, BothWaysOfAnUnknownConditionAreFollowed) {
  FollowedScript followed = follow("A=1 B=1\nif [ \"$X\" = 2 ]; then A=2; else C=3; fi\ntorchrun pretrain_gpt.py $A $B ${C:-none}\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"«${A}»", "1", "«${C}»"}));
  EXPECT_EQ(followed.reasons[0], "'X', which the script does not set");
  EXPECT_TRUE(followed.decidedBy.empty());
}

TEST(Shell, WhatAnUnknownConditionDecidesIsNotEmpty) {
  EXPECT_EQ(wordsOf("if [ \"$X\" = 2 ]; then C=3; fi\n[ -z \"$C\" ] && D=1 || D=2\ntorchrun pretrain_gpt.py $D ${C:-none}\n"),
            (Words{"«${D}»", "«${C}»"}));
}

TEST(Shell, WaysThatEndWithoutTrainingDoNotCount) {
  EXPECT_EQ(wordsOf("if [ \"$X\" = a ]; then echo usage; exit 1; fi\ntorchrun pretrain_gpt.py go\n"), Words{"go"});
  EXPECT_EQ(wordsOf("[ -d \"$DATA\" ] || exit 1\ntorchrun pretrain_gpt.py go\n"), Words{"go"});
  EXPECT_EQ(wordsOf("cd /x && torchrun pretrain_gpt.py go\n"), Words{"go"});
  EXPECT_EQ(wordsOf("grep -q x f || { echo no; exit 2; }\ntorchrun pretrain_gpt.py go\n"), Words{"go"});
  EXPECT_TRUE(follow("if [ $# -lt 1 ]; then exit 1; fi\ntorchrun pretrain_gpt.py go\n").commands.empty());
}

TEST(Shell, CommandsThatAConditionDecidesSaySo) {
  FollowedScript followed = follow("if [ \"$MODE\" = a ]; then torchrun pretrain_gpt.py a; else torchrun pretrain_gpt.py b; fi\n");
  EXPECT_EQ(followed.commands.size(), 2U);
  EXPECT_EQ(followed.decidedBy, (Words{"'MODE', which the script does not set", "'MODE', which the script does not set"}));
}

TEST(Shell, QuestionsWhetherSomethingIsSetHaveAnAnswer) {
  FollowedScript followed = follow("[ -z \"$A\" ] && A=1\nif [[ -n $B ]]; then B=2; else B=3; fi\n[ \"x$C\" = x ] && C=4\nD=${D:+5}\n"
                                   "E=\"$E 6\"\ntorchrun pretrain_gpt.py $A $B $C $D $E\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"1", "3", "4", "6"}));
  EXPECT_EQ(followed.assumedUnset, (Words{"A", "B", "C", "D", "E"}));
}

TEST(Shell, FilesNextToTheScriptAreRead) {
  FollowedScript followed =
      follow("HERE=$(cd \"$(dirname \"$0\")\" && pwd)\nsource $HERE/sizes.sh small\n. ./more.sh\ntorchrun pretrain_gpt.py $L $H\n", {},
             {{"sizes.sh", "L=2\n[ $1 = small ] && L=1\n"}, {"more.sh", "H=7; return; H=8\n"}});
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"1", "7"}));
}

TEST(Shell, ScriptsThatRunScripts) {
  std::map<std::string, std::string> files = {{"inner.sh", "torchrun --nproc_per_node $2 pretrain_gpt.py --a $1 $X\n"}};
  for (const char *how : {"bash inner.sh 3 8\n", "./inner.sh 3 8\n", "srun -N 2 bash ./inner.sh 3 8\n", "sbatch inner.sh 3 8\n",
                          "nohup sh -x inner.sh 3 8 &\n"}) {
    FollowedScript followed = follow(std::string("export X=1\n") + how, {}, files);
    ASSERT_EQ(followed.commands.size(), 1U) << how;
    EXPECT_EQ(followed.commands[0], (Words{"--a", "3", "1"})) << how;
    EXPECT_EQ(followed.devices[0], (std::pair<std::string, std::string>("nproc_per_node", "8"))) << how;
  }
  EXPECT_EQ(wordsOf("srun bash -c \"python pretrain_gpt.py --a 'b c'\"\n"), (Words{"--a", "b c"}));
  EXPECT_EQ(wordsOf("bash <<EOF\npython pretrain_gpt.py --a $((1+1))\nEOF\n"), (Words{"--a", "2"}));
  EXPECT_EQ(wordsOf("exec torchrun pretrain_gpt.py --e\ntorchrun pretrain_gpt.py --f\n"), Words{"--e"});
}

TEST(Shell, LaunchersSayHowManyDevices) {
  auto devices = [](const std::string &script) { return follow(script).devices; };
  EXPECT_EQ(devices("torchrun --nproc-per-node=8 --nnodes 2 pretrain_gpt.py\n"), (Devices{{"nproc_per_node", "8"}, {"nnodes", "2"}}));
  EXPECT_EQ(devices("python -m torch.distributed.launch --nproc_per_node 4 pretrain_gpt.py\n"),
            (Devices{{"nproc_per_node", "4"}, {"nnodes", "1"}}));
  EXPECT_EQ(devices("torchrun pretrain_gpt.py --nnodes 7\n"), (Devices{{"nproc_per_node", "1"}, {"nnodes", "1"}}));
  EXPECT_EQ(devices("torchrun --nproc_per_node gpu pretrain_gpt.py\n"), (Devices{{"nnodes", "1"}}));
  EXPECT_EQ(devices("torchrun $ARGS pretrain_gpt.py\n"), (Devices{{"nproc_per_node", "«$ARGS»"}, {"nnodes", "«$ARGS»"}}));
  EXPECT_EQ(devices("deepspeed --num_gpus 8 --num_nodes=2 pretrain_gpt.py\n"), (Devices{{"num_gpus", "8"}, {"num_nodes", "2"}}));
  EXPECT_EQ(devices("accelerate launch --num_processes 16 pretrain_gpt.py\n"), (Devices{{"world_size", "16"}}));
  EXPECT_EQ(devices("mpirun -np 16 --bind-to none python pretrain_gpt.py\n"), (Devices{{"world_size", "16"}}));
  EXPECT_EQ(devices("srun -n32 python pretrain_gpt.py\n"), (Devices{{"world_size", "32"}}));
  EXPECT_EQ(devices("srun -N 4 --ntasks-per-node=8 python pretrain_gpt.py\n"), (Devices{{"world_size", "32"}}));
  EXPECT_EQ(devices("srun -N 4 torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py\n"),
            (Devices{{"nproc_per_node", "8"}, {"nnodes", "4"}}));
  EXPECT_EQ(devices("python pretrain_gpt.py\n"), Devices{});
}

TEST(Shell, BatchLinesGiveHostsAndTasks) {
  auto world = [](const std::string &lines) {
    Devices devices = follow("#!/bin/bash\n" + lines + "srun python pretrain_gpt.py\n").devices;
    return devices.empty() ? "" : devices[0].second;
  };
  EXPECT_EQ(world("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n"), "32");
  EXPECT_EQ(world("#SBATCH -N 2 -n 16\n"), "16");
  EXPECT_EQ(world("#SBATCH -N2\n#SBATCH --gres=gpu:8 # devices\n"), "2");
  EXPECT_EQ(world("#SBATCH --ntasks 64\n"), "64");
  EXPECT_EQ(world("#SBATCH --nodes=4-4\n# a comment\n#SBATCH --ntasks-per-node 4\n"), "16");
  EXPECT_EQ(world("echo\n#SBATCH --nodes=4\n"), "");
  EXPECT_EQ(wordsOf("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=a100:8\ntorchrun pretrain_gpt.py $SLURM_NNODES ${SLURM_GPUS_ON_NODE} "
                    "$((SLURM_JOB_NUM_NODES * 8))\n"),
            (Words{"4", "8", "32"}));
}

TEST(Shell, ErrorsHaveOneMessage) {
  auto failure = [](const std::string &script) { return follow(script).failure; };
  EXPECT_EQ(failure("echo 'abc\n"), "this quote (') has no end");
  EXPECT_EQ(failure("if true; then\necho\n"), "'fi' is missing after this 'if'");
  EXPECT_EQ(failure("a=$(echo\n"), "this '$(' has no end");
  EXPECT_EQ(failure("f() { f; }\nf\n").substr(0, 43), "npar does not follow this script further: i");
  EXPECT_EQ(failure("while true; do A+=x; done\n").substr(0, 43), "npar does not follow this script further: i");
  EXPECT_NE(failure("A=xxxxxxxxxxxxxxxx\nfor i in {1..40}; do A=$A$A; done\n"), "");
  EXPECT_NE(failure(std::string(100'000, '(')), "");
  EXPECT_NE(failure("declare -n X=Y\n"), "");
}

TEST(Shell, CommentsEndCommands) {
  FollowedScript followed = follow("torchrun pretrain_gpt.py --a 1 \\\n  # --b 2 \\\n  --c 3\n");
  ASSERT_EQ(followed.commands.size(), 1U);
  EXPECT_EQ(followed.commands[0], (Words{"--a", "1"}));
  EXPECT_EQ(followed.flagsAlone, (Words{"--c", "3"}));
}

TEST(Pattern, StarsTakeTimeThatGrowsWithTheProduct) {
  Pattern pattern;
  for (int i = 0; i < 30; ++i)
    pattern.add("*a");
  pattern.add("b");
  size_t steps = 0;
  EXPECT_FALSE(pattern.matches(std::string(1000, 'a'), steps));
  EXPECT_LT(steps, 100'000U);
}

TEST(Parser, TreesOfCommands) {
  SyntaxError error;
  Commands commands = parse("A=1 B[2]+=x cmd \"$A\" 2> /dev/null\nif a; then b; fi && c | d\n", error);
  ASSERT_EQ(error.message, "");
  ASSERT_EQ(commands.size(), 2U);
  const Simple &simple = std::get<Simple>(commands[0]->node);
  ASSERT_EQ(simple.assignments.size(), 2U);
  EXPECT_TRUE(simple.assignments[1].adds && simple.assignments[1].index);
  EXPECT_EQ(simple.words.size(), 2U);
  ASSERT_EQ(commands[0]->redirections.size(), 1U);
  EXPECT_EQ(commands[0]->redirections[0].number, 2);
  const Chain &chain = std::get<Chain>(commands[1]->node);
  EXPECT_EQ(chain.operators, Words{"&&"});
  EXPECT_TRUE(std::holds_alternative<If>(chain.commands[0]->node));
  EXPECT_EQ(std::get<Pipeline>(chain.commands[1]->node).commands.size(), 2U);
}

} // namespace
} // namespace npar::foreign::shell::test
