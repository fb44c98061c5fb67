#!/usr/bin/env bash
# Installs what the build needs and is not there yet. Debian 12 packages only; does nothing when all
# are installed. Other systems: install the same libraries by other means, then run it again.
# `--gui` adds what the viewer needs; without it everything but the viewer builds.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config python3 git
  libfmt-dev libsimdjson-dev libzip-dev nlohmann-json3-dev libssl-dev zlib1g-dev libsqlite3-dev
  libz3-dev libcli11-dev libopenblas-dev libboost-math-dev libgtest-dev libbenchmark-dev
  llvm-19-dev  # machine code; without it programs are interpreted
  libmimalloc-dev  # optional: a faster allocator
  file dpkg-dev  # cpack
  tar xz-utils unzip  # the reference corpus and bundles
)

case "${1:-}" in
  --gui)
    # The platform plugins draw without a screen; a font of known shape keeps pictures alike.
    packages+=(qt6-base-dev qt6-svg-dev qt6-qpa-plugins fonts-dejavu-core xvfb xauth)
    ;;
  "") ;;
  *)
    echo "usage: cmake/setup.sh [--gui]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian system; these packages, or what they hold, are needed: ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing: ${missing[*]}" >&2
    echo "setup: neither root nor sudo; install them and run this again" >&2
    exit 4
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
echo "setup: done"
