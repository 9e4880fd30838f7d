"""The deadlock proof on programs that the compiler made: their communication damaged at random, judged by a simulation of all ranks."""

import re
import subprocess
import unittest

from driver import BUILD, LONG, SMALL, DriverTest, mesh, settings

MUTATE = BUILD / "bin" / "npar_mutate_program"
PLANS = {
    "pp": mesh(dp=1, pp=2, tp=1),
    "dp pp tp": mesh(dp=2, pp=2, tp=2),
    "4 stages, sequence parallelism": {**mesh(dp=1, pp=4, tp=2), "sequence": "true"},
    "gpipe": {**mesh(dp=1, pp=4, tp=1), "schedule": "gpipe"},
    "dp tp, one stage": mesh(dp=2, pp=1, tp=2),
}


class DeadlockTest(DriverTest):
    def test_mutants_of_compiled_programs(self):
        """Every mutant that can hang is refused; no cycle is reported that does not hang."""
        hang = 0
        for seed, (name, changes) in enumerate(PLANS.items()):
            with self.subTest(plan=name):
                program = self.folder / "program.npx"
                self.npar("compile", "gpt2", "--plan", "three_d", *settings(SMALL, changes), "-o", program)
                command = [str(MUTATE), str(program), str(2000 if LONG else 150), str(seed)]
                result = subprocess.run(command, capture_output=True, text=True, timeout=600)
                self.assertEqual(result.returncode, 0, f"{' '.join(command)}\n{result.stdout}{result.stderr[-4000:]}")
                print(f"{name}: {result.stdout.strip()}")
                score = re.match(r"mutants (\d+): hang (\d+) caught (\d+), harmless (\d+) refused (\d+)", result.stdout)
                self.assertEqual(score[2], score[3])
                self.assertEqual(int(score[1]), int(score[2]) + int(score[4]))
                hang += int(score[2])
        self.assertGreater(hang, 100)


if __name__ == "__main__":
    unittest.main()
