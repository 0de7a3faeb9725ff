#!/usr/bin/env bash
# Removes a kind of question (its folder, its tests, its line of kinds.def) from a throw-away
# worktree, builds, and runs the unit, law and golden tests. Only tests that ask the kind may fail:
# what they print names it. ./dev additions without_kind [KIND...] (replay and edge if none is named)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
kinds=("$@")
((${#kinds[@]})) || kinds=(replay edge)

# Names of the failed tests of a suite, each with whether it printed the name of the kind.
failures() {
  awk -v kind="$1" '
    /^\[ RUN / { text = "" }
    { text = text tolower($0) }
    /^\[  FAILED  \] .*\(.* ms\)$/ { print (text ~ "(^|[^a-z])" kind ? "asks" : "other"), $4 }'
}

for kind in "${kinds[@]}"; do
  new_tree "without_$kind"
  [[ -d orrery/scenario/kinds/$kind ]] || fail "no kind '$kind' in orrery/scenario/kinds"
  rm -r "orrery/scenario/kinds/$kind"
  rm -rf "tests/unit/scenario/$kind" "tests/golden/$kind"
  sed -i "/^KIND($kind)\$/d" orrery/kinds/kinds.def
  compile orrery all_tests
  ! build/dev/orrery --help | grep -q "^ *$kind " || fail "orrery --help still has $kind"
  bad=0
  for suite in build/dev/tests/unit_* build/dev/tests/{law,golden}_tests; do
    [[ -x $suite ]] || continue
    ran=$("$suite" 2>&1) || true
    grep -q '^\[==========\] .* ran\.' <<<"$ran" || fail "$suite came to no end"
    failed=$(failures "$kind" <<<"$ran")
    echo "without $kind: $(basename "$suite"): $(grep -c '^\[       OK' <<<"$ran" || true) pass," \
      "$(grep -c '^asks' <<<"$failed" || true) ask $kind: $(sed -n 's/^asks //p' <<<"$failed" | xargs)"
    if grep '^other' <<<"$failed"; then bad=1; fi
  done
  ((!bad)) || fail "these tests fail without naming $kind"
done
