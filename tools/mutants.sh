#!/usr/bin/env bash
# Lists the tests that find the wrong terms of tools/mutants.txt. Works in build/mutants, on the last commit.
#
#   tools/mutants.sh [NAME...]     mutants whose room or name is NAME; none: all
#
# All mutants are compiled into one build, and switched on one by one (ORRERY_MUTANT). For each: the
# tests of the suites unit and law, the checks of `orrery suite run` and the golden tests that fail
# with it and not without. Golden predictions move with any term; a mutant that only these find is
# called pinned. Exit code 1 if one survives. ORRERY_MUTANTS_SUITES: the test suites that are run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly here=$PWD/build/mutants list=$PWD/tools/mutants.txt
readonly tree=$here/tree build=$here/tree/build/mutants
readonly suites=${ORRERY_MUTANTS_SUITES:-unit law golden}

die() { echo "mutants: $*" >&2; exit 2; }

# Room, name, file, old and new text of every mutant, with a tab between them.
mutants() {
  awk '
    /^(#|$)/ { next }
    /^- / { old = substr($0, 3); next }
    /^\+ / { print room "\t" name "\t" file "\t" old "\t" substr($0, 3); next }
    NF == 2 { room = $1; name = $2; next }
    { file = $1 }' "$list"
}

# Puts mutant number $1 into file $2 of the tree: text $4 for $3.
plant() {
  local text rest new=$4
  text=$(cat "$tree/$2" && echo .)
  rest=${text#*"$3"}
  [[ $rest != "$text" ]] || die "$2 has no '$3'"
  [[ ${rest#*"$3"} == "$rest" ]] || die "$2 has '$3' more than once"
  while [[ $new =~ WRONG\(([0-9.]+)\) ]]; do
    new=${new/"${BASH_REMATCH[0]}"/"(wrong_term($1) ? ${BASH_REMATCH[1]} : 1)"}
  done
  text=${text/"$3"/"$new"}
  printf '#include "orrery/base/wrong_term.h"\n%s' "${text%.}" >"$tree/$2"
}

prepare() {
  mkdir -p "$here"
  if [[ -e $tree/.git ]]; then
    git -C "$tree" reset --quiet --hard
    git -C "$tree" checkout --quiet --detach "$(git rev-parse HEAD)"
  else
    git worktree prune
    git worktree add --quiet --detach "$tree" HEAD
  fi
  cat >"$tree/orrery/base/wrong_term.h" <<'CPP'
#pragma once
#include <cstdlib>
inline bool wrong_term(int number) {
  static const int on = [] {
    const char* text = std::getenv("ORRERY_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  return number == on;
}
CPP
  local number=0
  while IFS=$'\t' read -r _ _ file old new; do plant $((++number)) "$file" "$old" "$new"; done < <(mutants)
  cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DORRERY_SUITES="${suites// /;}" -DORRERY_BENCH=OFF >/dev/null
  ninja -C "$build" --quiet ${ORRERY_MUTANTS_JOBS:+-j"$ORRERY_MUTANTS_JOBS"} all >"$here/log" 2>&1 || die "does not build, see $here/log"
}

# One line for each test or check that fails while mutant $1 is on.
failures() {
  local program
  export ORRERY_MUTANT=$1 TMPDIR=$here/tmp/$1
  mkdir -p "$TMPDIR"
  for program in "$build"/tests/*; do
    [[ -f $program && -x $program && " $suites " == *" $(suite_of "$program") "* ]] || continue
    { "$program" --gtest_brief=1 2>/dev/null || true; } |
      sed -n "s/^\[  FAILED  \] \([A-Za-z0-9_/]*\.[A-Za-z0-9_/]*\).*/$(basename "$program") \1/p"
  done
  { "$build/orrery" suite run --no-intervals -o json || true; } |
    awk -F'"' '/^   "id"/ { id = $4 } /"claim"/ { claim = $4 }
      /^     "status": "(fail|unanswered)"/ { print "suite " id ": " claim }'
  rm -rf "$TMPDIR"
}

suite_of() {
  local name
  name=$(basename "$1")
  case $name in
    unit_*) echo unit ;;
    *) echo "${name%_tests}" ;;
  esac
}

prepare
failures 0 | sort -u >"$here/before"
survived=0 number=0
while IFS=$'\t' read -r room name _ _ _; do
  number=$((number + 1))
  if (($#)) && [[ " $* " != *" $room "* && " $* " != *" $name "* ]]; then continue; fi
  failures "$number" | sort -u | comm -13 "$here/before" - >"$here/$room-$name"
  awk -v what="$room $name" '
    /^golden/ { golden++; next }
    /^suite/ { suite++; if (first == "") first = $0; next }
    { if (tests++ == 0) first = $2 }
    END {
      verdict = tests + suite ? "found" : golden ? "pinned" : "SURVIVED"
      printf "%-32s %-8s unit and law %2d, suite %d, golden %d  %s\n", what, verdict, tests, suite, golden, first
    }' "$here/$room-$name"
  [[ -s $here/$room-$name ]] || survived=1
done < <(mutants)
exit "$survived"
