"""`python -m npar`: prints where the documents and the C and C++ library of this package are."""

import argparse
import pathlib
import sys

import npar


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m npar", description="prints where the documents and the C and C++ library of this package are")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--docs", action="store_true", help="the folder of the documents: dsl/LANGUAGE.md, dsl/PLANS.md, tools/TUTORIAL.md and others")
    group.add_argument("--cmake-dir", action="store_true", help="the folder for find_package(npar): cmake -Dnpar_DIR=$(python -m npar --cmake-dir)")
    group.add_argument("--include-dir", action="store_true", help="the folder of the headers")
    group.add_argument("--library-dir", action="store_true", help="the folder of libnpar.so.0")
    group.add_argument("--schemas", action="store_true", help="the folder of the JSON schemas")
    group.add_argument("--version", action="store_true", help="the version of npar")
    chosen = parser.parse_args()
    if chosen.version:
        print(npar.__version__)
        return 0
    place = pathlib.Path(npar.__file__).parent
    folder = place / ("doc" if chosen.docs else "lib/cmake/npar" if chosen.cmake_dir else "include" if chosen.include_dir else "lib" if chosen.library_dir else "share/npar/schemas")
    if not folder.is_dir():
        print(f"python -m npar: '{folder}' does not exist: this is npar's build folder, not an installed package", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
