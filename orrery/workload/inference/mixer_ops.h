// The ops of the token mixers, from the normalised input to the output projection, before the
// all-reduce. Each mixer has a source file with its overload of add_ops, which takes the sizes of
// its products from the weights that the mixer declares (model/layers).
#pragma once

#include "orrery/model/layers/mixers.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// The most keys of a sequence of `context` tokens that one of cp ranks holds.
inline double keys_of_rank(double context, int cp) { return (context + cp - 1) / cp; }

// Adds the ops of a mixer; those of OpSource::kGroups alone if ops.groups_alone().
void add_mixer(OpList& ops, const RankStep& step, const Mixer& mixer);

// The overloads call ops.depend_on(OpSource::kGroups) before the ops that depend on the groups of
// sequences. A mixer whose other ops are cheap calls it before all of them.
inline void add_ops(OpList& /*ops*/, const RankStep& /*step*/, const NoMixer& /*none*/) {}
#define MIXER(Type) void add_ops(OpList& ops, const RankStep& step, const Type& mixer);
#include "orrery/model/layers/mixers.def"
#undef MIXER

}  // namespace orrery
