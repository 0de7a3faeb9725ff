#!/usr/bin/env bash
# A scheduler with a parameter is two files: its source and schedulers.def. The scheduler is the one that docs/serving.md prints.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tree.bash"

folder=orrery/serving/schedulers
# The block of the page that begins with the line $1.
printed() { awk -v first="$1" '$0 == "```" { on = 0 } on || $0 == first && !done { on = done = 1; print }' docs/serving.md; }
printed '#include "orrery/serving/schedulers/scheduler.h"' >$folder/few_at_a_time.cc
printed 'KIND("few-at-a-time", make_few_at_a_time, declare_few_at_a_time, "few requests at a time")' >>$folder/schedulers.def
build

orrery schema | grep -q '"few-at-a-time: requests that are served at the same time"' || fail "the schema does not describe the key"
question=(simulate -m llama-3-8b -g h100-sxm --rate 4 --requests 50 -o json)
few=(--set engine.scheduler.policy=few-at-a-time)
one=$(orrery "${question[@]}" "${few[@]}")
differ "$one" "$(orrery "${question[@]}" "${few[@]}" --set engine.scheduler.together=8)" "the parameter changes nothing"
printf 'model: llama-3-8b\nhardware: {gpu: h100-sxm}\nload: {requests: 50, rate: 4}\nengine: {overrides: {scheduler: {policy: few-at-a-time, together: 8}}}\n' >question.yaml
orrery run question.yaml >/dev/null
rm question.yaml
refused 2 'it needs engine.scheduler.policy few-at-a-time' "${question[@]}" --set engine.scheduler.together=8
refused 2 "did you mean 'together'" "${question[@]}" "${few[@]}" --set engine.scheduler.togethre=8
touches 2
