#!/usr/bin/env bash
# Adds the kind of question of rent/ to a throw-away worktree, asks it on every face, and counts the
# files of the addition: ./dev additions question_kind
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree question_kind

mkdir -p orrery/scenario/kinds/rent tests/unit/scenario/rent
cp "$here"/rent/rent_*.h "$here"/rent/rent_question.cc "$here"/rent/rent_kind.cc orrery/scenario/kinds/rent
cp "$here"/rent/rent_test.cc tests/unit/scenario/rent
cp "$here"/rent/rent.yaml scenarios
echo 'KIND(rent)' >>orrery/kinds/kinds.def

touches 7
[[ $(git diff --name-only) == orrery/kinds/kinds.def ]] || fail "the addition changes other old files than kinds.def"

compile orrery unit_scenario
program=$tree/build/dev/orrery
build/dev/tests/unit_scenario --gtest_filter='Rent.*' --gtest_brief=1

# 8 GPUs for 10 h at 3 USD are 240 USD on every face.
rent=(rent --gpu h100-sxm --time 10h --price 3)
"$program" "${rent[@]}" --gpus 8 | expect 'h100-sxm .* 240' 'its verb prints a table that'
"$program" "${rent[@]}" --gpus 8 -o json | expect '"value": *240' 'its JSON'
"$program" "${rent[@]}" --gpus 8,64 -o csv | expect '1920' 'a sweep as CSV'
"$program" run scenarios/rent.yaml | expect '^ *64 .* 138010' 'orrery run'
"$program" run scenarios/rent.yaml --set rent.gpus=16 | expect 'gpus=16' 'orrery run --set'
"$program" --help | expect '^ *rent ' 'orrery --help'
"$program" rent --help | expect '--gpus' 'orrery rent --help'
"$program" schema | expect '"rent": {' 'orrery schema'
"$program" schema -o md | expect 'rent\.gpus' 'docs/keys.md'
"$program" list metrics | expect '^rent ' 'orrery list metrics'
"$program" completion bash | expect ' rent' 'orrery completion bash'

"$program" serve --port 0 >serve.txt &
server=$!
trap 'kill "$server"; remove_tree' EXIT
until address=$(grep -o 'http://[0-9.:]*' serve.txt); do sleep 0.1; done
# ask <path> [<body>]
ask() {
  python3 -c 'import sys, urllib.request as web
body = sys.argv[2].encode() if len(sys.argv) > 2 else None
print(web.urlopen(web.Request(sys.argv[1], body, {"content-type": "application/json"})).read().decode())' \
    "$address$1" "${@:2}"
}
ask /api/v1/keys | expect '"rent"' '/api/v1/keys'
ask /api/v1/verbs | expect '"rent"' '/api/v1/verbs, of which the page makes its form,'
ask /api/v1/rent '{"gpu": "h100-sxm", "gpus": 8, "time": "10 h", "price": 3}' |
  expect '"value": *240' 'POST /api/v1/rent'
ask /api/v1/run '{"hardware": {"gpu": "h100-sxm"}, "rent": {"gpus": [8, 64], "time": "10 h"}, "cost": {"price": 3}}' |
  expect '"value": *1920' 'POST /api/v1/run'

if ninja -C build/dev -t targets all | grep -q '^orrery_python:'; then
  compile orrery_python
  PYTHONPATH=build/dev/python /usr/bin/python3 -c '
import orrery
print([p["rent"] for p in orrery.rent(gpu="h100-sxm", gpus=[8, 64], time="10 h", price=3)])' |
    expect '240.*1920' 'Python'
fi
