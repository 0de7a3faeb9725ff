#!/usr/bin/env bash
# Adds a complete token mixer to a copy of the last commit, builds the program with it and asks it.
#
#   tests/additions/mixer.sh
#
# The mixer of tests/additions/mixer (retention) has three files: its layer, its ops and the reader of
# a model that has it. They are copied to their rooms, and two lists get their lines. The copy is
# build/additions/mixer; the working tree is not touched. The build takes as long as one from nothing.
# Exit code 1 if more than five files are touched, or if an answer fails or lacks what it must say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly from=$PWD/tests/additions/mixer tree=$PWD/build/additions/mixer most_files=5

die() { echo "mixer: $*" >&2; exit 1; }

# A tree of the last commit without changes; the build folder in it stays.
if [[ -e $tree/.git ]]; then
  git -C "$tree" reset --quiet --hard
  git -C "$tree" checkout --quiet --detach "$(git rev-parse HEAD)"
  git -C "$tree" clean --quiet -fd
else
  mkdir -p "$(dirname "$tree")"
  git worktree prune
  git worktree add --quiet --detach "$tree" HEAD
fi

# ---- the addition ----
cp "$from/retention.h" "$tree/orrery/model/layers/"
cp "$from/retention_ops.cc" "$tree/orrery/workload/inference/"
cp "$from/hf_retention.cc" "$tree/orrery/model/families/"
sed -i -e '0,/^#include /s||#include "orrery/model/layers/retention.h"\n&|' -e '0,/^MIXER(/s||MIXER(Retention)\n&|' \
  "$tree/orrery/model/layers/mixers.def"
sed -i '0,/^FAMILY("SeedOss/s||FAMILY("RetentionForCausalLM", "retention", read_retention)\n&|' \
  "$tree/orrery/model/families/families.def"

touched=$(git -C "$tree" status --porcelain --untracked-files=all)
echo "files touched:"
echo "$touched"
count=$(wc -l <<<"$touched")
((count <= most_files)) || die "$count files were touched, at most $most_files should be"

# ---- the program ----
readonly log=$tree.log
{ (cd "$tree" && cmake --preset release) && cmake --build "$tree/build/release" --target orrery; } >"$log" 2>&1 ||
  { tail -n 40 "$log" >&2; die "the build failed"; }

# ---- the answers ----
# ask TEXT ARGUMENT...: runs the program, whose answer must contain TEXT.
ask() {
  local text=$1 answer
  shift
  echo "\$ orrery $*"
  answer=$("$tree/build/release/orrery" "$@") || die "orrery $1 failed"
  head -n 12 <<<"$answer"
  grep -q -- "$text" <<<"$answer" || die "the answer of orrery $1 lacks '$text'"
}
readonly model=$from/config.json
ask "retention (16 heads of 160 x 320)" show "$model"
ask "weights" memory -m "$model" -g h100-sxm --tp 1,4
ask "tpot" estimate -m "$model" -g h100-sxm --tp 4 --batch 16
ask "mfu" train -m "$model" -g h100-sxm --gpus 8 --tp 4 --recompute selective
echo "mixer: $count files touched, all questions answered"
