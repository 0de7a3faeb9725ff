// Steps that verify drafts or use adapters: does the clock of the simulation agree with the step
// room, and does more work take more time?
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {
namespace technique_law_test {

class Room {
 public:
  explicit Room(const std::string& model_id) : model(load_model(model_id)) {
    const Catalog catalog;
    const Gpu gpu = catalog.gpu("h100-sxm");
    kernels_ = make_kernel_model(gpu, {}, Bundle());
    network_ = make_network_model(Cluster(catalog, gpu, 1, ""), plan_, "nccl", Bundle());
    precision_ = native_precision(model);
    steps = std::make_unique<StepModel>(model, plan_, precision_, engine_, *kernels_, *network_);
  }
  double seconds(const Batch& batch) const { return steps->time(batch).total.value.value(); }

  Architecture model;
  std::unique_ptr<StepModel> steps;

 private:
  ParallelPlan plan_;
  Precision precision_;
  EngineProfile engine_ = load_engine("vllm", Bundle());
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;
};

const Room& llama() {
  static const Room room("llama-3-8b");
  return room;
}

RC_GTEST_PROP(TechniqueLaw, TheClockIsTheStepRoom, ()) {
  const std::int64_t decodes = *rc::gen::inRange(0, 40), verifies = *rc::gen::inRange(1, 60),
                     each = *rc::gen::inRange(2, 9), past = *rc::gen::inRange(30, 6000),
                     adapters = *rc::gen::inRange(0, 6);
  StepClock clock(*llama().steps, 1, {16, true});
  StepShape shape;
  shape.decodes = decodes, shape.decode_past = decodes * past;
  shape.verifies = verifies, shape.verify_tokens = verifies * each;
  shape.verify_past = verifies * past;
  shape.adapters = adapters;
  Batch batch;
  batch.adapters = adapters;
  batch.lora = {16, true};
  const auto mean = static_cast<double>(past);
  if (decodes > 0) batch.groups.push_back({decodes, 1, mean, true});
  batch.groups.push_back({verifies, each, mean, true, true});
  const double asked = llama().seconds(batch);
  RC_ASSERT(std::abs(clock.time(shape).seconds() - asked) < 0.005 * asked);
}

RC_GTEST_PROP(TechniqueLaw, VerifyingCostsNoLessThanDecodingAndNoMoreThanOneByOne, ()) {
  const std::int64_t n = *rc::gen::inRange(1, 60), each = *rc::gen::inRange(2, 9);
  const double past = *rc::gen::inRange(30, 6000);
  const double decode = llama().seconds({{{n, 1, past, true}}});
  const double verify = llama().seconds({{{n, each, past, true, true}}});
  RC_ASSERT(verify > 0.97 * decode);
  RC_ASSERT(verify < 1.03 * static_cast<double>(each) * decode);
}

RC_GTEST_PROP(TechniqueLaw, MoreAdaptersNeverCostLess, ()) {
  const std::int64_t n = *rc::gen::inRange(1, 100);
  Batch batch{{{n, 1, 1000, true}}};
  double last = llama().seconds(batch);
  batch.lora.rank = *rc::gen::element(8, 16, 64);
  for (std::int64_t adapters = 1; adapters <= std::min<std::int64_t>(n, 16); adapters *= 2) {
    batch.adapters = adapters;
    const double t = llama().seconds(batch);
    RC_ASSERT(t >= last);
    last = t;
  }
}

}  // namespace technique_law_test
}  // namespace orrery
