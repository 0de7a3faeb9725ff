#include "orrery/scenario/setup/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/accelerator/chip/chip_kernels.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/unnamed_fabric.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace {

// An engine that does not run on the vendor's GPUs.
[[noreturn]] void refuse_engine(const EngineProfile& engine, const Gpu& gpu, const Bundle& bundle) {
  std::vector<std::string> others;
  for (const std::string& id : engine_ids(bundle)) {
    const EngineProfile other = load_engine(id, bundle);
    if (runs_on(other, gpu)) others.push_back(id);
  }
  throw InputError(fmt::format("engine {} runs on GPUs of {}, not on {} ({}); engines that do: {}",
                               engine.id, fmt::join(engine.vendors, " and "), gpu.id, gpu.vendor,
                               fmt::join(others, ", ")));
}

}  // namespace

const Architecture& Facts::architecture(const std::string& name) {
  auto it = architectures_.find(name);
  if (it == architectures_.end())
    it = architectures_.emplace(name, load_model(name, bundle_)).first;
  return it->second;
}

const Gpu& Facts::gpu(const std::string& name) {
  auto it = gpus_.find(name);
  if (it != gpus_.end()) return it->second;
  if (auto chip = find_core_chip(name, bundle_)) {
    it = gpus_.emplace(name, data_sheet(*chip)).first;
    chips_.insert_or_assign(chip->id, std::move(*chip));
    return it->second;
  }
  return gpus_.emplace(name, catalog_.gpu(name)).first->second;
}

const CoreChip* Facts::chip(const std::string& id) const {
  const auto it = chips_.find(id);
  return it == chips_.end() ? nullptr : &it->second;
}

const EngineProfile& Facts::engine(const std::string& id, const Gpu& gpu) {
  EngineKey key{id, engine_gpu_family(gpu)};
  auto it = engines_.find(key);
  if (it == engines_.end())
    it = engines_.emplace(std::move(key), load_engine(id, gpu, bundle_)).first;
  if (!runs_on(it->second, gpu)) refuse_engine(it->second, gpu, bundle_);
  return it->second;
}

const KernelModel& Facts::kernels(const Gpu& gpu, const KernelClasses& classes) {
  auto& model = kernels_[{gpu.id, classes}];
  if (model) return *model;
  const CoreChip* cores = chip(gpu.id);
  model = cores ? make_chip_kernel_model(*cores) : make_kernel_model(gpu, classes, bundle_);
  return *model;
}

const PowerModel* Facts::power(const Gpu& gpu, const KernelClasses& classes) {
  if (!gpu.power || chip(gpu.id) != nullptr) return nullptr;
  std::optional<PowerModel>& model = powers_[{gpu.id, classes}];
  if (model) return &*model;
  if (!activity_) activity_.emplace(bundle_), boards_.emplace(bundle_);
  model.emplace(*activity_, boards_->of(gpu), classes, gpu, PowerSurfaces(bundle_, catalog_, gpu));
  return &*model;
}

const StepPowerConstants& Facts::step_power() {
  if (!step_power_) step_power_ = read_step_power(bundle_);
  return *step_power_;
}

const NetworkModel& Facts::network(const Gpu& gpu, const std::string& node,
                                   const ParallelPlan& plan, const std::string& library) {
  auto& model = networks_[{gpu.id, node, plan, library}];
  if (model) return *model;
  model = make_network_model(Cluster(catalog_, gpu, plan.devices(), node), plan, library, bundle_);
  if (node.empty()) model = on_unnamed_fabric(std::move(model));
  return *model;
}

}  // namespace orrery
