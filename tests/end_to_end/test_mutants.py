"""Texts changed at random (mutants.py): each is accepted or refused at a line, soon and in little memory; what is accepted verifies."""

import os
import signal
import unittest

from driver import LONG, DriverTest
from mutants import Mutator, Trial, compiles_long, judge, judge_verify


class MutantsTest(DriverTest):
    def test_mutants(self):
        findings = []
        trial = Trial(1, 0, 10_000 if LONG else 80, 100 if LONG else 3, os.cpu_count(), findings.append).run()
        print(trial.summary())
        self.assertFalse(findings, "\n".join(findings[:5]))
        self.assertGreater(trial.codes.get(0, 0), trial.count // 50, "too few are accepted to say anything")
        self.assertGreater(trial.codes.get(1, 0), trial.count // 4)
        self.assertGreater(trial.verified, 0)
        self.assertLessEqual(len(trial.long), trial.count // 1000, trial.long)

    def test_the_same_number_is_the_same_mutant(self):
        one, other = Mutator(), Mutator()
        self.assertEqual([one.mutant(7, k) for k in range(50)], [other.mutant(7, k) for k in reversed(range(50))][::-1])
        self.assertEqual(len({one.mutant(7, k) for k in range(50)}), 50)

    def test_what_counts_as_a_finding(self):
        located = "m0.npar:3:4: error: unknown name 'x'\n"
        self.assertFalse(judge(0, ""))
        self.assertFalse(judge(1, "m0.npar:1:1: warning: w\n" + located))
        self.assertFalse(judge(1, "m0.npar: error: this is binary data, not text: byte 0x00 at offset 7\n"))
        for code, said in ((1, ""), (1, "npar: error: no\n"), (2, "npar: error: no\n"), (3, located), (4, located), (6, located), (-11, located), (-9, "")):
            self.assertTrue(judge(code, said), (code, said))
        self.assertTrue(compiles_long(-signal.SIGXCPU, "npar: compiling 'm0.npar', 2 s\n"))
        for code, said in ((-signal.SIGXCPU, ""), (-9, "npar: compiling 'm0.npar', 2 s\n"), (-signal.SIGXCPU, located)):
            self.assertFalse(compiles_long(code, said))
        self.assertTrue(judge(1, "m0.npar:3:4: error: internal error: no\n"))
        self.assertFalse(judge_verify(1, "npar: error: 9 parameters are too many for a check in float64 on this machine"))
        for code in (1, 3, 4, 6, -11):
            self.assertTrue(judge_verify(code, located))


if __name__ == "__main__":
    unittest.main()
