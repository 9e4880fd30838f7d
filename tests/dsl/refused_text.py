"""A lit format: a text that `npar inspect` refuses, with exactly the message that its own first lines state.

    # shows: what is wrong with it
    # plan: NAME, # train: NAME, # set: KEY=VALUE      optional: the options it is read with, one per line
    #> the message, line for line (%stdlib stands for the standard library's folder)
"""

import pathlib

import lit.formats
import lit.Test
import refusal


class RefusedText(lit.formats.FileBasedTest):
    def execute(self, test, lit_config):
        path = pathlib.Path(test.getSourcePath())
        stated = "".join(line[len(refusal.MARK) :] + "\n" for line in path.read_text().splitlines() if line.startswith(refusal.MARK))
        code, printed, said = refusal.run(path, test.config.environment)
        if code == 1 and not printed and said == stated and "error: " in said:
            return lit.Test.PASS, ""
        return lit.Test.FAIL, f"exit code {code}, expected 1\n== stated\n{stated}== said\n{said}== on standard output\n{printed}"
