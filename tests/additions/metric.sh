#!/usr/bin/env bash
# Adds a metric to a kind of question (replay): a row of the kind's table of figures and its value, in one file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree metric

file=orrery/scenario/kinds/replay/replay_answer.cc
sed -i -e '0,/^constexpr Figure kFiguresOfReplays.*{$/s||&\
    {"rate_of_steps", "", Better::kMore, Subject::kOther, "replay", "iterations in a second"},|' \
  -e '/own_figure<kFiguresOfReplays>("replay_error")/s|$|\
  measured(own_figure<kFiguresOfReplays>("rate_of_steps"), 1 / a.measured.value());|' $file
touches 1
compile orrery

trace=fuzz/corpus/kineto/data_parallel.json
orrery replay $trace | expect rate_of_steps 'orrery replay'
orrery replay $trace -o json | expect '"rate_of_steps"' 'its JSON'
orrery list metrics | expect '^rate_of_steps ' 'orrery list metrics'
orrery show rate_of_steps | expect 'iterations in a second' 'orrery show'
