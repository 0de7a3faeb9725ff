// Reads engine profiles: the keys of EngineProfile, the files of the catalog, and what a scenario
// overrides.
//
// The parts of a profile declare their keys where they are used: kernels, execution and memory in
// orrery/workload/plan/engine.h, and the scheduler in scheduler_kinds.h, with the parameters that
// each policy has for itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// The ways to start an engine. kDefault: with its model and its layout alone. kTuned: as a vendor's
// recipe or a benchmark does.
enum class EngineSetup { kDefault, kTuned };
// "default" and "tuned", in the order of EngineSetup.
const std::vector<std::string>& engine_setup_names();
// InputError: no such name.
EngineSetup parse_engine_setup(std::string_view name);
// Changes the profile to what it is when the engine is started so.
void apply_setup(EngineProfile& engine, EngineSetup setup);

// Whether the engine runs on the GPU, by its vendor.
bool runs_on(const EngineProfile& engine, const Gpu& gpu);

// Declares every key once, except `setup`, which only files of the catalog have. They and the
// `engine` keys of a scenario read through it.
void declare(Fields& fields, EngineProfile& engine);

// Lays keys of a user over the profile. InputError: a key is none of a profile, or is a parameter
// of another scheduler than the one that the profile then has.
void override_keys(EngineProfile& engine, const Node& keys);

// The profile with an id or alias. `with_fit` adds its fitted constants. Throws InputError with the
// nearest name.
EngineProfile load_engine(std::string_view id, const Bundle& bundle, bool with_fit = true);
// The profile on GPUs of one family: as above, then catalog/engines/by-gpu/<id>-<family>.yaml (what
// the engine runs differently there) and catalog/engines/fitted/<id>-<family>.yaml. On GPUs of
// families that the profile's fit has not seen, step_error is unfitted_error.
EngineProfile load_engine(std::string_view id, const Gpu& gpu, const Bundle& bundle,
                          bool with_fit = true);
// GPUs on which an engine runs alike: those of a class (GpuArchitecture::engine_class: "hopper"),
// if there is one; else of a compute capability ("sm86"), and else of an architecture ("cdna3").
std::string engine_gpu_family(const Gpu& gpu);
std::vector<std::string> engine_ids(const Bundle& bundle);

}  // namespace orrery
