#!/usr/bin/env bash
# Sourced by the scripts of this folder: a throw-away worktree of the tracked files as they are now, in
# which an addition is made, built and asked.

# new_tree <name>: makes build/additions/<name>, goes there, and removes it at the exit.
new_tree() {
  local state
  repository=$(git rev-parse --show-toplevel)
  cd "$repository" || return
  tree=$repository/build/additions/$1
  state=$(git stash create)
  remove_tree
  trap remove_tree EXIT
  git worktree add --quiet --detach "$tree" "${state:-HEAD}"
  cd "$tree" || return
}

remove_tree() {
  git -C "$repository" worktree remove --force "$tree" 2>/dev/null || true
}

# compile <target>...: builds in build/dev of the tree, silent unless it fails.
compile() {
  local log=$tree/build/build.log
  mkdir -p build
  if ! { cmake --preset dev && ninja -C build/dev "$@"; } >"$log" 2>&1; then
    grep -E 'error|FAILED' "$log" >&2 || tail -n 40 "$log" >&2
    return 1
  fi
}

# The program of the tree.
orrery() { "$tree/build/dev/orrery" "$@"; }

fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

# touches <most>: counts the files that the addition made or changed since new_tree.
touches() {
  local files
  files=$(git status --porcelain --untracked-files=all -- . ':!build')
  echo "$(basename "$0" .sh): $(wc -l <<<"$files") files of at most $1"
  (($(wc -l <<<"$files") <= $1)) || fail "the addition touches too many files: $files"
}

# expect <text> <what was asked> reads the answer and looks for the text in it.
expect() {
  local answer
  answer=$(cat)
  grep -q -e "$1" <<<"$answer" || fail "$2 does not have '$1': ${answer:0:2000}"
  echo "$2: has '$1'"
}

# refused <code> <text> <word>...: the program fails with that exit code and a message with the text.
refused() {
  local code=$1 text=$2 said status=0
  shift 2
  said=$(orrery "$@" 2>&1) || status=$?
  ((status == code)) && [[ $said == *"$text"* ]] || fail "expected exit code $code and '$text', got $status: $said"
}
