#!/usr/bin/env bash
# Adds a token mixer (retention) and the reader of a model that has it, builds the program and asks it.
#
# The mixer of tests/additions/mixer has three files: its layer, its ops and the reader. They are copied to their rooms, and two
# lists get their lines.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree mixer

cp "$here/mixer/retention.h" orrery/model/layers/
cp "$here/mixer/retention_ops.cc" orrery/workload/inference/
cp "$here/mixer/hf_retention.cc" orrery/model/families/
sed -i -e '0,/^#include /s||#include "orrery/model/layers/retention.h"\n&|' -e '0,/^MIXER(/s||MIXER(Retention)\n&|' \
  orrery/model/layers/mixers.def
sed -i '0,/^FAMILY("SeedOss/s||FAMILY("RetentionForCausalLM", "retention", read_retention)\n&|' orrery/model/families/families.def
touches 5
compile orrery

model=$here/mixer/config.json
orrery show "$model" | expect 'retention (16 heads of 160 x 320)' 'orrery show'
orrery memory -m "$model" -g h100-sxm --tp 1,4 | expect 'GB per GPU' 'orrery memory'
orrery estimate -m "$model" -g h100-sxm --tp 4 --batch 16 | expect tpot 'orrery estimate'
orrery train -m "$model" -g h100-sxm --gpus 8 --tp 4 --recompute selective | expect mfu 'orrery train'
