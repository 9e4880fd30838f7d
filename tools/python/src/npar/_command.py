"""The console script `npar`: the command that the package carries."""

import os
import pathlib
import sys


def main() -> int:
    command = pathlib.Path(__file__).parent / "bin" / "npar"
    if not os.access(command, os.X_OK):
        print(f"npar: '{command}' is not part of this package", file=sys.stderr)
        return 1
    os.execv(command, [str(command), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
