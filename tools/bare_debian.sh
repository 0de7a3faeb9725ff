#!/usr/bin/env bash
# Tries the packages of a folder in a bare Debian 12: apt installs the .deb and the program answers; pip installs the
# wheel in a fresh venv and the cells of a notebook run. Called by `./dev package --bare`; needs root and a mirror of
# Debian (MIRROR, by default that of /etc/apt). usage: tools/bare_debian.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath "$1")
root=$out/bare
mirror=${MIRROR-$(awk '$1 == "deb" { for (i = 2; i <= NF; ++i) if ($i ~ /^http/) { print $i; exit } }
                       $1 == "URIs:" { print $2; exit }' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)}
[[ -n $mirror ]] || mirror=http://deb.debian.org/debian

rm -rf "$root"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$out/bare.log" 2>&1 || { tail -n 20 "$out/bare.log" >&2; exit 1; }
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
mkdir -p "$root/packages"
cp "$out"/*.deb "$out"/*.whl tests/python/notebook.py "$root/packages/"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
  ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} bash -euc '
  apt-get update -q
  cd /packages
  apt-get install -q -y --no-install-recommends ./orrery_*.deb
  orrery doctor
  orrery estimate --model llama-3-8b --gpu h100-sxm
  test -s /usr/share/man/man1/orrery.1* || ls /usr/share/man/man1
  apt-get install -q -y --no-install-recommends python3-venv
  python3 -m venv /venv
  /venv/bin/pip install --no-index orrery-*.whl
  cd / && /venv/bin/python /packages/notebook.py
' >"$out/bare.log" 2>&1 || { tail -n 40 "$out/bare.log" >&2; exit 1; }
tail -n 1 "$out/bare.log"
rm -rf "$root"
