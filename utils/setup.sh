#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what NeoFlow needs on Debian 12: packages through apt, as root or
# with sudo, and a Python environment in .venv. Does nothing when all is there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
  # Tools that build and check.
  cmake ninja-build ccache g++ git ca-certificates unzip python3 python3-venv
  python3-psutil # lit needs it to limit the time of a test
  clang-22 clang-format-22 lld-22 llvm-22-tools mlir-22-tools
  # Libraries.
  libclang-rt-22-dev # the sanitizer presets
  llvm-22-dev libmlir-22-dev liblld-22-dev libzip-dev libtbb-dev zlib1g-dev libzstd-dev
  zipcmp zipmerge ziptool # libzip's CMake package refuses to work without them
  nlohmann-json3-dev libcli11-dev libgtest-dev
  # Data of the demo and of tests.
  dataset-fashion-mnist
)

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  die "apt was not found; this script is for Debian 12, and its head lists the packages to install elsewhere"
fi

# Status lines of the packages of the list that dpkg has heard of; it fails
# when it has not heard of one, which is no error here.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done

if ((${#missing[@]})); then
  root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "these packages are missing and neither root nor sudo is there to install them: ${missing[*]}"
    root=(sudo)
  fi
  apt() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q "$@" </dev/null
  }
  say "updating the lists of packages"
  # By default apt-get ends with success when a list could not be fetched.
  apt update -o APT::Update::Error-Mode=any ||
    die "apt-get update failed; see its messages above"
  absent=()
  for package in "${missing[@]}"; do
    # Virtual and unknown packages have no candidate version either.
    candidate=$(LC_ALL=C apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
    [[ -n $candidate && $candidate != '(none)' ]] || absent+=("$package")
  done
  ((${#absent[@]} == 0)) ||
    die "apt offers no version of: ${absent[*]}. Debian 12 has LLVM 22 in its security archive: the suites bookworm and bookworm-security must both be among the sources of apt"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  apt install -y --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed; see its messages above"
fi

# The environment is whole when it was made from these requirements by this
# Python; an interrupted one has no stamp.
requirements=utils/requirements.txt
stamp=.venv/neoflow-requirements
wanted=$(python3 -V && cat "$requirements")
if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
  say "making the Python environment .venv"
  python3 -m venv --clear .venv || die "python3 -m venv failed; see its messages above"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "$requirements" </dev/null ||
    die "pip could not install $requirements; see its messages above"
  printf '%s\n' "$wanted" >"$stamp"
fi
say "everything is installed"
