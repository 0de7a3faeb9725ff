#!/usr/bin/env bash
# Tries the repository in a bare Debian 12 (debootstrap). Needs root and a mirror of Debian (MIRROR, by default that of
# /etc/apt).
#
#   tools/bare_debian.sh readme [FOLDER]    the two commands of the README, ./dev run and ./dev test, on a clone of HEAD with
#                                           bash, git and apt alone; their times are printed
#   tools/bare_debian.sh packages FOLDER    the packages of FOLDER: apt installs the .deb and the program answers; pip installs
#                                           the wheel in a fresh venv and the cells of a notebook run (./dev package --bare)
#
# FOLDER/bare holds the system while it runs; FOLDER/bare.log is the log. CCACHE_DIR, where it is set, is the compiler's cache
# in the system, too, for a check of the packages alone: nothing is from nothing with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1-}
[[ $what == readme || $what == packages ]] || { sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
out=$(realpath -m "${2-build/bare}")
root=$out/bare
log=$out/bare.log
mirror=${MIRROR-$(awk '$1 == "deb" { for (i = 2; i <= NF; ++i) if ($i ~ /^http/) { print $i; exit } }
                       $1 == "URIs:" { print $2; exit }' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)}
[[ -n $mirror ]] || mirror=http://deb.debian.org/debian

# Prints the end of the log and ends.
fail() {
  tail -n "${1-40}" "$log" >&2
  exit 1
}

# Makes the system. Devices and processes are those of this machine.
make_system() {
  rm -rf "$root"
  mkdir -p "$out"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$log" 2>&1 || fail 20
  cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
  trap leave EXIT
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  if [[ -n ${CCACHE_DIR-} ]]; then
    mkdir -p "$root/ccache"
    mount --bind "$CCACHE_DIR" "$root/ccache"
  fi
}

leave() {
  umount "$root/proc" "$root/dev" "$root/ccache" 2>/dev/null || true
  # A mount that is still there would be removed with the folder.
  if ! grep -q " $root/" /proc/mounts; then rm -rf "$root"; fi
}

# Runs a script of bash in the system.
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    ${CCACHE_DIR+CCACHE_DIR=/ccache} ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
    bash -euc "$1" >>"$log" 2>&1 || fail
}

try_packages() {
  mkdir -p "$root/packages"
  cp "$out"/*.deb "$out"/*.whl tests/python/notebook.py "$root/packages/"
  inside '
    apt-get update -q
    cd /packages
    apt-get install -q -y --no-install-recommends ./orrery_*.deb
    orrery doctor
    orrery estimate --model llama-3-8b --gpu h100-sxm
    test -s /usr/share/man/man1/orrery.1* || ls /usr/share/man/man1
    apt-get install -q -y --no-install-recommends python3-venv
    python3 -m venv /venv
    /venv/bin/pip install --no-index orrery-*.whl
    cd / && /venv/bin/python /packages/notebook.py'
  tail -n 1 "$log"
}

try_readme() {
  inside 'apt-get update -q && apt-get install -q -y --no-install-recommends git ca-certificates'
  git clone -q --no-hardlinks . "$root/orrery"
  local command begin
  for command in "./dev run" "./dev test"; do
    begin=$SECONDS
    inside "cd /orrery && $command"
    echo "$command: $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s"
  done
  grep -E 'tests passed|tests failed' "$log" | tail -n 1
}

make_system
"try_$what"
