#!/usr/bin/env bash
# A GPU of a new architecture is two YAML files, and no C++. A catalog of its own takes them without a build.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/tree.bash"

# What the program says of the GPU $1; the other arguments are its flags.
ask() {
  local gpu=$1
  shift
  orrery "$@" estimate -m llama-3-8b -g "$gpu" -o json &&
    orrery "$@" simulate -m llama-3-8b -g "$gpu" --rate 4 --requests 50 -o json &&
    orrery "$@" train -m llama-3-8b -g "$gpu" --gpus 1 --global-batch 8 -o json &&
    orrery "$@" kernel attention-decode -g "$gpu" --context 4096 -o json &&
    orrery "$@" kernel gemm -g "$gpu" -m 1,4096 -n 8192 -k 8192 -o json
}
noted() { grep -c 'the architecture feynman has no file' <<<"$1" || true; }

cp "$here/architecture/f100.yaml" catalog/gpus/
cp "$here/architecture/feynman.yaml" catalog/architectures/
build
bundled=$(ask f100)
(($(noted "$bundled") == 0)) || fail "the architecture is not known"
touches 2

# The same files in a catalog of a user's, by its name and by the path of the GPU; then the GPU alone.
mkdir -p mine/gpus mine/architectures
mv catalog/gpus/f100.yaml mine/gpus/
mv catalog/architectures/feynman.yaml mine/architectures/
build
[[ $(ask f100 --catalog mine) == "$bundled" ]] || fail "--catalog answers otherwise"
[[ $(ask mine/gpus/f100.yaml | sed 's|mine/gpus/f100.yaml|f100|g') == "$bundled" ]] || fail "a path answers otherwise"
rm mine/architectures/feynman.yaml
alone=$(ask f100 --catalog mine)
(($(noted "$alone") >= 5)) || fail "an architecture without a file is not noted in every answer"
