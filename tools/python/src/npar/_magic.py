"""The cell magic `%%npar` of notebooks, which `%load_ext npar` provides: a cell with a model text, compiled."""

import argparse
import shlex
from typing import Any, Dict, Mapping

from ._errors import Error, UsageError
from ._program import Program, compile

_HELP = """`%%npar NAME [options]` compiles the text below it and binds the program to NAME; the cell shows its timeline.

  --plan NAME, --train NAME, --config NAME   blocks of the text; default: the only one. --plan none: one rank
  --set KEY=VALUE    a setting, such as width=32 or mesh.tp=4 (can be repeated)
  --machine NAME     the machine to plan for
  --imports NAME     a variable of the notebook: texts by the names in `import`
  --kind KIND        training, evaluation or generation
  --no-kernels       only to look at, which is faster"""


class _Options(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"%%npar: {message}\n{_HELP}")


def _parser() -> _Options:
    parser = _Options(prog="%%npar", add_help=False, allow_abbrev=False)
    parser.add_argument("name")
    for option in ("--plan", "--train", "--config", "--machine", "--imports"):
        parser.add_argument(option)
    parser.add_argument("--kind", default="training")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--no-kernels", action="store_true")
    return parser


def _compiled(line: str, text: str, names: Dict[str, Any]) -> Program:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%npar: {error}\n{_HELP}") from None
    given = _parser().parse_args(words)
    if not given.name.isidentifier():
        raise UsageError(f"%%npar: '{given.name}' is not the name of a variable\n{_HELP}")
    if not text.strip():
        raise UsageError(f"%%npar: the cell has no model text\n{_HELP}")
    unset = [each for each in given.set if "=" not in each]
    if unset:
        raise UsageError(f"%%npar: --set {unset[0]}: write KEY=VALUE, such as --set width=32")
    imports = None
    if given.imports is not None:
        imports = names.get(given.imports)
        if not callable(imports) and not isinstance(imports, Mapping):
            raise UsageError(f"%%npar: --imports {given.imports}: the notebook has no variable of this name with a dictionary of texts")
    program = compile(
        text if "\n" in text else text + "\n", plan=given.plan, train=given.train, config=given.config, set=dict(each.split("=", 1) for each in given.set),
        imports=imports, machine=given.machine, kind=given.kind, kernels=not given.no_kernels, name="<cell>",
    )
    names[given.name] = program
    return program


def load_ipython_extension(shell) -> None:
    """Registers `%%npar` in a notebook. IPython calls it for `%load_ext npar`."""

    def npar(line: str, cell: str) -> Program:
        try:
            return _compiled(line, cell, shell.user_ns)
        except Error as error:
            setattr(error, "_render_traceback_", str(error).splitlines)  # what IPython shows in place of a traceback
            raise

    npar.__doc__ = _HELP
    shell.register_magic_function(npar, "cell", "npar")
