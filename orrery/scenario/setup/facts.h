// The facts that questions share, each read or built once: architectures, GPUs, engine profiles,
// kernel models and network models.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>

#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/base/bundle.h"
#include "orrery/energy/power/power_model.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// References that are returned live as long as the Facts. Not thread-safe.
class Facts {
 public:
  explicit Facts(Bundle bundle) : bundle_(std::move(bundle)), catalog_(bundle_) {}

  const Bundle& bundle() const { return bundle_; }
  const Catalog& catalog() const { return catalog_; }

  // `name`: a bundled id, a Hugging Face id or the path to a config.json.
  const Architecture& architecture(const std::string& name);
  // `name`: a bundled id or the path to a YAML file, of a GPU or of a chip of cores. The latter is
  // known as a GPU by its data sheet, and its kernels by a search over tiles.
  const Gpu& gpu(const std::string& name);
  // The chip of cores that gpu() read under this id; null: the GPU is no such chip.
  const CoreChip* chip(const std::string& id) const;
  // The profile with the constants that it has on this GPU. InputError: the engine does not run on
  // GPUs of this vendor.
  const EngineProfile& engine(const std::string& id, const Gpu& gpu);
  // The power of the GPU's board while it runs kernels of these classes; null: its data sheet
  // states no power, or it is a chip of cores, whose file states energies of its own.
  const PowerModel* power(const Gpu& gpu, const KernelClasses& classes);
  // The constants of the power of services' steps.
  const StepPowerConstants& step_power();
  const KernelModel& kernels(const Gpu& gpu, const KernelClasses& classes);
  // The network of a cluster with one GPU for each device of `plan`. `node`: empty for the usual
  // one of the GPU. `library`: whose collectives, EngineProfile::Kernels::collectives.
  const NetworkModel& network(const Gpu& gpu, const std::string& node, const ParallelPlan& plan,
                              const std::string& library);

  // The Value that `make` returned when this kind of key was last asked for, where the key is still
  // the same; else what `make` returns now. Points of a sweep that follow each other share with it
  // what they have in common. A kind of key stands for one kind of value.
  template <class Value, class Key, class Make>
  std::shared_ptr<const Value> latest(const Key& key, Make make) {
    struct Held {
      Key key;
      std::shared_ptr<const Value> value;
    };
    std::shared_ptr<void>& slot = latest_[std::type_index(typeid(Key))];
    if (slot != nullptr) {
      const Held& held = *static_cast<const Held*>(slot.get());
      if (held.key == key) return held.value;
    }
    auto value = std::make_shared<const Value>(make());
    slot = std::make_shared<Held>(Held{key, value});
    return value;
  }

  // Tables that one kind of question has to itself, made from the bundle when it first asks.
  template <class Tables>
  Tables& own() {
    std::shared_ptr<void>& slot = own_[std::type_index(typeid(Tables))];
    if (slot == nullptr) slot = std::make_shared<Tables>(bundle_);
    return *static_cast<Tables*>(slot.get());
  }

 private:
  // A GPU is known by its id, as everywhere in the catalog.
  struct EngineKey {
    std::string id, gpu_class;
    auto operator<=>(const EngineKey&) const = default;
  };
  struct KernelKey {
    std::string gpu;
    KernelClasses classes;
    auto operator<=>(const KernelKey&) const = default;
  };
  struct NetworkKey {
    std::string gpu, node;
    ParallelPlan plan;
    std::string library;
    auto operator<=>(const NetworkKey&) const = default;
  };

  Bundle bundle_;
  Catalog catalog_;
  std::map<std::string, Architecture> architectures_;
  std::map<std::string, Gpu> gpus_;
  std::map<std::string, CoreChip> chips_;  // by id
  std::map<EngineKey, EngineProfile> engines_;
  std::map<KernelKey, std::unique_ptr<KernelModel>> kernels_;
  std::map<NetworkKey, std::unique_ptr<NetworkModel>> networks_;
  std::optional<KernelActivity> activity_;
  std::optional<BoardPowers> boards_;
  std::map<KernelKey, std::optional<PowerModel>> powers_;
  std::optional<StepPowerConstants> step_power_;
  std::map<std::type_index, std::shared_ptr<void>> latest_;  // by the kind of key
  std::map<std::type_index, std::shared_ptr<void>> own_;     // by the kind of tables
};

}  // namespace orrery
