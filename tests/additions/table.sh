#!/usr/bin/env bash
# Adds a measured table with what predicts it: the header and source of its judge, and its lines in areas.cc.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/additions/worktree.bash
source "$here/worktree.bash"
new_tree table

cp "$here"/table/weights.h "$here"/table/weights.cc orrery/validate/judge/
areas=orrery/validate/areas/areas.cc
sed -i -e 's|^#include "orrery/validate/judge/training_memory.h"|&\n#include "orrery/validate/judge/weights.h"|' \
  -e 's|std::array<ValidationArea, 13> kAreas = {{|std::array<ValidationArea, 14> kAreas = {{\n    {"weights", "memory", "memory/weights.csv", false, "Weights on a GPU. Nothing is fitted."},|' \
  -e 's|std::array<std::string_view, 13> kByTime = {|std::array<std::string_view, 14> kByTime = {"weights",|' \
  -e 's|^  if (area == "layers") return|  if (area == "weights") return validate_weights(dir, bundle);\n&|' "$areas"
touches 3
compile orrery

mkdir -p build/measured/memory
cp "$here/table/weights.csv" build/measured/memory/
export ORRERY_DATA=build/measured
orrery validate weights | expect weights 'orrery validate weights'
orrery validate weights -o csv | expect 'weights.csv:3' 'its rows'
orrery validate all | expect '^ *weights' 'orrery validate all'
