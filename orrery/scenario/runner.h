// Runs Scenarios: loads the facts, builds the rooms' models, answers every point of the sweep.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/answer.h"
#include "orrery/scenario/deployment.h"
#include "orrery/scenario/drafter.h"
#include "orrery/scenario/scenario.h"
#include "orrery/scenario/served_pool.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

struct Neighbour;

struct RunOptions {
  bool breakdown = true;  // fill Point::kernels
  bool memory_only = false;
  TierChoice tier = TierChoice::kBest;
  bool intervals = true;              // of simulated services: two more simulations
  bool requests = false;              // fill Point::requests
  bool steps = false;                 // fill Point::steps
  bool bounds = false;                // fill Point::bounds
  bool chakra = false;                // fill Point::chakra; with `breakdown`
  const RequestLoad* load = nullptr;  // simulated instead of the scenario's own, if given
};

// Keeps what it has read between scenarios (facts, kernel surfaces); not thread-safe.
class Runner {
 public:
  explicit Runner(Bundle bundle) : bundle_(std::move(bundle)), catalog_(bundle_) {}

  // A point that does not fit in memory has feasibility.fits = false and its memory breakdown. A
  // layout that breaks a rule of the model throws Infeasible if it is the only point, and is marked
  // likewise in a sweep.
  Answer run(const Scenario& scenario, const RunOptions& options = {});

  const Catalog& catalog() const { return catalog_; }
  const Bundle& bundle() const { return bundle_; }

 private:
  Answer run_variants(const Scenario& scenario, const RunOptions& options);
  Answer simulate_service(const Scenario& scenario, const Architecture& model,
                          const Deployment& deployment, const RunOptions& options);
  // nullptr: nothing but the target runs.
  std::shared_ptr<const Drafter> drafter(const Scenario& scenario, const Architecture& model,
                                         const Deployment& deployment, const ParallelPlan& plan,
                                         const RunOptions& options);
  // A pool beside the first one, which has `first` and `plan`. Infeasible: it does not fit.
  std::shared_ptr<const ServedPool> served_pool(const Scenario& scenario, const Architecture& model,
                                                const Deployment& first, const ParallelPlan& plan,
                                                const PoolChoice& choice,
                                                const RunOptions& options);
  // nullptr: the GPUs are not shared.
  std::shared_ptr<const Neighbour> neighbour(const Scenario& s, const Deployment& of,
                                             const ParallelPlan& plan, const RunOptions& options);
  const Architecture& architecture(const std::string& name);
  const Gpu& gpu(const std::string& name);
  const EngineProfile& engine(const std::string& id, const Gpu& gpu);
  const KernelModel& kernels(const Gpu& gpu, const KernelClasses& classes, TierChoice tier);
  const NetworkModel& network(const Gpu& gpu, const std::string& node, const ParallelPlan& plan,
                              const std::string& stack);

  Bundle bundle_;
  Catalog catalog_;
  std::map<std::string, Architecture> architectures_;
  std::map<std::string, Gpu> gpus_;
  std::map<std::string, EngineProfile> engines_;
  std::map<std::string, std::unique_ptr<KernelModel>> kernels_;
  std::map<std::string, std::unique_ptr<NetworkModel>> networks_;
};

}  // namespace orrery
