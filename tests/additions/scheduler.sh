#!/usr/bin/env bash
# Adds a scheduler with a parameter, the one that docs/serving.md prints: its source and a line of schedulers.def.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree scheduler

folder=orrery/serving/schedulers
# The block of the page that begins with the line $1.
printed() { awk -v first="$1" '$0 == "```" { on = 0 } on || $0 == first && !done { on = done = 1; print }' docs/serving.md; }
printed '#include "orrery/serving/schedulers/scheduler.h"' >$folder/few_at_a_time.cc
printed 'KIND("few-at-a-time", make_few_at_a_time, declare_few_at_a_time, "few requests at a time")' >>$folder/schedulers.def
touches 2
compile orrery

orrery schema | expect '"few-at-a-time: requests that are served at the same time"' 'orrery schema'
question=(simulate -m llama-3-8b -g h100-sxm --rate 4 --requests 50 -o json)
few=(--set engine.scheduler.policy=few-at-a-time)
one=$(orrery "${question[@]}" "${few[@]}")
eight=$(orrery "${question[@]}" "${few[@]}" --set engine.scheduler.together=8)
[[ $one != "$eight" ]] || fail "the parameter changes nothing"
cat >build/question.yaml <<'YAML'
model: llama-3-8b
hardware: {gpu: h100-sxm}
load: {requests: 50, rate: 4}
engine: {overrides: {scheduler: {policy: few-at-a-time, together: 8}}}
YAML
orrery run build/question.yaml | expect ttft 'orrery run'
refused 2 'it needs engine.scheduler.policy few-at-a-time' "${question[@]}" --set engine.scheduler.together=8
refused 2 "did you mean 'together'" "${question[@]}" "${few[@]}" --set engine.scheduler.togethre=8
