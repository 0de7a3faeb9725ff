#!/usr/bin/env bash
# Adds a GPU of a new architecture: two YAML files and no C++. A catalog of a user's own takes them without a build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree architecture

# The program's answers about the GPU $1; the other arguments are flags.
ask() {
  local gpu=$1
  shift
  orrery "$@" estimate -m llama-3-8b -g "$gpu" -o json &&
    orrery "$@" simulate -m llama-3-8b -g "$gpu" --rate 4 --requests 50 -o json &&
    orrery "$@" train -m llama-3-8b -g "$gpu" --gpus 1 --global-batch 8 -o json &&
    orrery "$@" kernel decode -g "$gpu" --context 4096 -o json &&
    orrery "$@" kernel gemm -g "$gpu" -m 1,4096 -n 8192 -k 8192 -o json
}
noted() { grep -c 'the architecture feynman has no file' <<<"$1" || true; }

cp "$here/architecture/f100.yaml" catalog/gpus/
cp "$here/architecture/feynman.yaml" catalog/architectures/
touches 2
compile orrery
bundled=$(ask f100)
(($(noted "$bundled") == 0)) || fail "the architecture is not known"

# The same files in a catalog of a user's, by its name and by the path of the GPU; then the GPU alone.
mkdir -p build/mine/gpus build/mine/architectures
mv catalog/gpus/f100.yaml build/mine/gpus/
mv catalog/architectures/feynman.yaml build/mine/architectures/
compile orrery
[[ $(ask f100 --catalog build/mine) == "$bundled" ]] || fail "--catalog answers otherwise"
[[ $(ask build/mine/gpus/f100.yaml | sed 's|build/mine/gpus/f100.yaml|f100|g') == "$bundled" ]] || fail "a path answers otherwise"
rm build/mine/architectures/feynman.yaml
alone=$(ask f100 --catalog build/mine)
(($(noted "$alone") >= 5)) || fail "an architecture without a file is not noted in every answer"
echo "architecture: the same answers from the bundle, from --catalog and by a path"
