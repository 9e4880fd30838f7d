# Installs what is missing and builds: sourced by tools/quickstart and tools/test, so that both do the same.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${NPAR_BUILD:-$root/build}

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The packages of tools/packages.txt that are not installed, one per line: all, or (`build`) what building and running needs.
missing_packages() {
  local package end='$'
  [ "$1" = all ] || end='/^\[tests\]/'
  sed -n "1,${end}{s/#.*//;s/^\[.*//;p}" "$root/tools/packages.txt" | tr -s ' \t' '\n' | while read -r package; do
    [ -n "$package" ] || continue
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# install_packages build|all
install_packages() {
  command -v dpkg-query >/dev/null || die "this script installs Debian packages; elsewhere install what tools/packages.txt names, then run: cmake -G Ninja -B build && ninja -C build"
  local missing as_root=""
  missing=$(missing_packages "$1")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing and neither root rights nor sudo are there to install them:
$missing"
    as_root=sudo
  fi
  say "installing: $(echo $missing)"
  # An older list may name versions that are gone; a failing update alone is no reason to stop.
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update >&2 || echo "apt-get update failed; trying with the lists that are there" >&2
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2 ||
    die "apt-get could not install: $(echo $missing)
The packages come from Debian 12 (bookworm) and its security updates: are both in your sources?"
}

# Compiling against MLIR takes up to about 1.5 GB for one file: as many jobs as cores and memory allow.
parallel_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# Installs nanobind, which the Python module needs and Debian 12 does not have, and again when the list of versions changes. Without a
# network the module is not built, and its tests are skipped with that reason.
python_tools() {
  local place=$build/python-tools list=$root/tools/python/requirements.txt
  ! cmp -s "$list" "$place/installed.txt" || return 0
  say "installing what the Python module needs in $place"
  {
    python3 -m venv "$place" &&
      "$place/bin/python" -m pip install --quiet --disable-pip-version-check --timeout 15 --retries 1 --require-hashes -r "$list" &&
      cp "$list" "$place/installed.txt"
  } >&2 && return 0
  rm -rf "$place"
  echo "the Python module is not built: pip could not install $list" >&2
}

# build_all build|all [TARGET ...]: `all` builds the tests too, even in a build folder that was configured without them.
build_all() {
  local what=$1
  shift
  say "building in $build (the first time takes several minutes)"
  if [ "$what" = all ]; then
    cmake -G Ninja -S "$root" -B "$build" -DNPAR_TESTS=ON >&2 || die "cmake failed; see above"
  elif [ ! -f "$build/build.ninja" ]; then
    cmake -G Ninja -S "$root" -B "$build" -DNPAR_TESTS=OFF >&2 || die "cmake failed; see above"
  fi
  # Ninja updates a single line on a terminal; in a log it prints one line per file, with progress and elapsed seconds.
  NINJA_STATUS='[%p, %f of %t, %e s] ' ninja -C "$build" -j "$(parallel_jobs)" "$@" >&2 || die "the build failed; see above"
}
