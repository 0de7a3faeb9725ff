# For the scripts of this folder: a tree of its own at HEAD, in which an addition is made, built and asked.

set -euo pipefail
root=$(git rev-parse --show-toplevel)
tree=$(mktemp -d)/orrery
trap 'git -C "$root" worktree remove --force "$tree"; rmdir "$(dirname "$tree")"' EXIT
git -C "$root" worktree add --quiet --detach "$tree" HEAD
cd "$tree"

fail() { echo "${0##*/}: $*" >&2; exit 1; }

# Builds the program with the addition, silent unless it fails.
build() {
  { cmake --preset release && ninja -C build/release orrery; } >build.log 2>&1 || { tail -n 40 build.log >&2; fail "does not build"; }
  rm build.log
}
orrery() { build/release/orrery "$@"; }

# The files that the addition adds or changes are as many as $1.
touches() {
  local files
  files=$(git status --porcelain --untracked-files=all)
  (($(wc -l <<<"$files") == $1)) || fail "expected $1 files, found: $files"
  echo "${0##*/}: $1 files, and every question is answered"
}

# $1 and $2 differ.
differ() { [[ $1 != "$2" ]] || fail "$3"; }
# The command fails with exit code $1 and a message that has $2.
refused() {
  local code=$1 text=$2 said status=0
  shift 2
  said=$(orrery "$@" 2>&1) || status=$?
  ((status == code)) && [[ $said == *"$text"* ]] || fail "expected exit code $code and '$text', got $status: $said"
}
