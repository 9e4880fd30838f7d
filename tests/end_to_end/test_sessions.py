"""A compiled program in several sessions that share no memory, as processes do: the same losses and parameters as in one, for every kind of plan."""

import subprocess
import unittest

from driver import BUILD, LONG, SMALL, DriverTest, mesh, settings

RUN = BUILD / "bin" / "npar_run_sessions"

# Name, flags of the plan, and how it is run besides in one session: sessions, then words of npar_run_sessions.
PLANS = [
    ("dp", settings(mesh(dp=4)), ["2", "4 in-turns queued", "4 processes"]),
    ("tp", settings(mesh(dp=2, tp=2)), ["2 in-turns processes", "4 by-order"]),
    ("pp", settings(mesh(pp=4), schedule="zb_h1"), ["2 by-order queued", "4 processes"]),
    ("zero", settings(mesh(dp=4), zero=3), ["2 offset processes", "4 by-order in-turns"]),
]
LONGER = [
    ("three_d", settings(mesh(dp=2, pp=2, tp=2)), ["2", "4 processes", "8 processes in-turns", "8 in-turns by-order", "2 queued", "1 queued"]),
    ("buckets", settings(mesh(dp=4), zero=2), ["2 by-order in-turns", "4 queued", "4 processes"]),
    ("bf16", settings(mesh(dp=2, pp=2), compute="bf16"), ["2 processes", "4 by-order queued"]),
    ("fp16", settings(mesh(dp=2, tp=2), compute="fp16"), ["4 processes", "2 in-turns offset"]),
]


class SessionsTest(DriverTest):
    def told(self, program, *words):
        """The lines that all sessions print, without duplicates: they must print the same."""
        command = [str(RUN), str(program), *words]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, f"{' '.join(command)}\n{result.stderr}")
        return sorted(set(result.stdout.splitlines()))

    def test_sessions_compute_what_one_computes(self):
        for name, flags, ways in PLANS + (LONGER if LONG else []):
            program = self.folder / f"{name}.npx"
            self.npar("compile", "gpt2", *settings(SMALL, depth=4), *flags, "-o", program)
            one = self.told(program, "1")
            self.assertEqual(len(one), 4, one)  # three steps and a hash
            for way in ways:
                with self.subTest(plan=name, way=way):
                    self.assertEqual(self.told(program, *way.split()), one)


if __name__ == "__main__":
    unittest.main()
