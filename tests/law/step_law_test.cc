// Laws of a composed step, over models, GPUs, layouts and batches.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/step/step_memory.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace step_law_test {

struct Question {
  std::string gpu, engine;
  Architecture model;
  ParallelPlan plan;
  Batch batch;
};

Question any_question() {
  Question q;
  q.gpu =
      *rc::gen::element<std::string>("a100-80g-sxm", "h100-sxm", "b200-sxm", "rtx-4090", "mi300x");
  q.engine = *rc::gen::element<std::string>("vllm", "sglang", "trtllm", "vllm-2024");
  q.model = load_model(*rc::gen::element<std::string>("llama-3-8b", "llama-3-70b", "qwen3-32b",
                                                      "mixtral-8x7b", "gemma-2-9b"));
  q.plan.tp = *rc::gen::element(1, 2, 4, 8);
  q.batch.groups.push_back(
      {*rc::gen::inRange(1, 300), 1, static_cast<double>(*rc::gen::inRange(1, 8000))});
  if (*rc::gen::arbitrary<bool>())
    q.batch.groups.push_back(
        {1, *rc::gen::inRange(2, 8000), static_cast<double>(*rc::gen::inRange(0, 8000))});
  return q;
}

const KernelModel& kernels_of(const std::string& gpu) {
  static std::map<std::string, std::unique_ptr<KernelModel>> made;
  auto& slot = made[gpu];
  if (!slot) slot = make_kernel_model(Catalog().gpu(gpu), {}, Bundle());
  return *slot;
}

StepTime time(const Question& q, const EngineProfile& engine, const Batch& batch) {
  const Catalog catalog;
  const auto network = make_network_model(
      Cluster(catalog, catalog.gpu(q.gpu), q.plan.devices(), ""), q.plan, "nccl", Bundle());
  const Precision precision = native_precision(q.model);
  return StepModel(q.model, q.plan, precision, engine, kernels_of(q.gpu), *network)
      .time(batch, true);
}

StepTime time(const Question& q) { return time(q, load_engine(q.engine, Bundle()), q.batch); }

RC_GTEST_PROP(StepLaw, IsWhatItsPartsAreAndWhatTheGpuWaits, ()) {
  const Question q = any_question();
  const StepTime t = time(q);
  double terms = 0;
  for (const StepTerm& term : t.terms) {
    RC_ASSERT(term.time.value > Seconds(0) || term.op.part == Part::kCommunication);
    terms += term.time.value.value();
  }
  const double total = t.total.value.value();
  RC_ASSERT(std::abs(terms - (t.kernels + t.communication).value()) < 1e-9 * total);
  RC_ASSERT(std::abs(terms + t.exposed.value() - total) < 1e-9 * total);
  RC_ASSERT(t.exposed >= Seconds(-1e-12));
  RC_ASSERT(t.total.own >= 0 && t.total.shared >= 0);
}

// All products at the data sheet's peak, one after the other.
RC_GTEST_PROP(StepLaw, NeverBeatsTheArithmetic, ()) {
  const Question q = any_question();
  const Gpu gpu = Catalog().gpu(q.gpu);
  const StepTime t = time(q);
  Seconds least;
  for (const StepTerm& term : t.terms) {
    if (!std::holds_alternative<Gemm>(term.op.op)) continue;
    least +=
        flops(term.op.op) / gpu.peak(gpu.compute_dtype(arithmetic(term.op.op))) * term.op.count;
  }
  RC_ASSERT(least > Seconds(0));
  RC_ASSERT(t.total.value >= least * (1 - 1e-12));
}

RC_GTEST_PROP(StepLaw, HostWorkNeverShortensAStep, ()) {
  const Question q = any_question();
  EngineProfile engine = load_engine(q.engine, Bundle());
  const Seconds before = time(q, engine, q.batch).total.value;
  auto& x = engine.execution;
  Seconds* const constants[] = {&x.launch,        &x.kernel_gap,        &x.graph_launch,
                                &x.host_per_step, &x.host_per_layer,    &x.host_per_sequence,
                                &x.prefill_floor, &x.host_per_moe_layer};
  *constants[*rc::gen::inRange(0, 8)] += microseconds(*rc::gen::inRange(1, 1000));
  RC_ASSERT(time(q, engine, q.batch).total.value >= before);
}

RC_GTEST_PROP(StepLaw, HidingTheHostNeverCosts, ()) {
  const Question q = any_question();
  EngineProfile engine = load_engine(q.engine, Bundle());
  engine.execution.host_per_step = microseconds(*rc::gen::inRange(0, 5000));
  engine.execution.host_overlapped = false;
  const StepTime serial = time(q, engine, q.batch);
  engine.execution.host_overlapped = true;
  const StepTime hidden = time(q, engine, q.batch);
  RC_ASSERT(hidden.total.value <= serial.total.value);
  RC_ASSERT(hidden.total.value >= (serial.total.value - serial.host) * (1 - 1e-9));
}

RC_GTEST_PROP(StepLaw, ReplayIsNotSlowerThanLaunching, ()) {
  Question q = any_question();
  q.batch.groups.resize(1);
  EngineProfile engine = load_engine(q.engine, Bundle());
  engine.execution.decode_graphs = true;
  q.batch.groups[0].sequences = padded_tokens(engine, q.batch.groups[0].sequences);
  engine.execution.graph_launch = Seconds(0);
  engine.execution.decode_graphs = false;
  const Seconds eager = time(q, engine, q.batch).total.value;
  engine.execution.decode_graphs = true;
  RC_ASSERT(time(q, engine, q.batch).total.value <= eager);
}

// Ranks that divide a cache read a part of it: the step saves at most the time of its attention,
// and is never faster than the weights and that part can be read.
RC_GTEST_PROP(StepLaw, DividedCachesKeepTheRoofline, ()) {
  Question q = any_question();
  q.model = load_model(*rc::gen::element<std::string>("glm-4-9b", "deepseek-v2-lite"));
  q.plan.tp = 8;
  const EngineProfile engine = load_engine(q.engine, Bundle());
  const StepTime whole = time(q, engine, q.batch);
  q.plan.cp = *rc::gen::element(2, 4);
  const StepTime divided = time(q, engine, q.batch);
  const auto attention = [](const StepTime& t) {
    Seconds sum;
    for (const StepTerm& term : t.terms)
      if (term.op.name == std::string_view("attn_decode")) sum += term.time.value;
    return sum;
  };
  RC_ASSERT(divided.kernels + divided.communication >=
            (whole.kernels + whole.communication - attention(whole)) * (1 - 1e-9));
  Bytes least;
  for (const StepTerm& term : divided.terms) {
    const auto* g = std::get_if<Gemm>(&term.op.op);
    if (g != nullptr && g->weight)
      least += static_cast<double>(g->n * g->k) * properties(g->format).weight * term.op.count;
  }
  const SequenceGroup& decoding = q.batch.groups.front();
  const double tokens = static_cast<double>(decoding.sequences) * decoding.past / q.plan.cp;
  double elements = 0;
  for (const LayerSpec& layer : q.model.layers.specs()) {
    const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer);
    elements = a != nullptr ? a->head_dim + a->value_dim : 512 + 64;
  }
  least += tokens * elements * q.model.layers.size() * Bytes(2);
  RC_ASSERT(divided.total.value >= least / Catalog().gpu(q.gpu).memory.bandwidth * (1 - 1e-9));
  RC_ASSERT(divided.total.origin >= Origin::kTransferred);
}

// A stage of a pipeline takes no longer than the whole model, and the sum of all stages no less.
RC_GTEST_PROP(StepLaw, StagesMakeTheWhole, ()) {
  Question q = any_question();
  q.plan.tp = 1;
  const EngineProfile engine = load_engine("vllm", Bundle());
  const Seconds whole = time(q, engine, q.batch).total.value;
  q.plan.pp = 2;
  const Catalog catalog;
  const auto network =
      make_network_model(Cluster(catalog, catalog.gpu(q.gpu), 2, ""), q.plan, "nccl", Bundle());
  const Precision precision = native_precision(q.model);
  const StepModel steps(q.model, q.plan, precision, engine, kernels_of(q.gpu), *network);
  RC_ASSERT(steps.time(q.batch).total.value <= whole);
  RC_ASSERT(steps.through_all_stages(q.batch).value >= whole * 0.999);
}

// Twice the sequences, or twice their length, takes no less time. Kernels are not smooth: 10 %
// of the measured products take over 2 % less time with twice the rows (data/kernels). Of a step
// it is more than 3 % in one of a thousand draws.
RC_GTEST_PROP(StepLaw, MoreWorkTakesMoreTime, ()) {
  const Question q = any_question();
  RC_PRE(q.model.id != "mixtral-8x7b");  // measured MoE kernels are not monotone
  Batch larger = q.batch;
  if (*rc::gen::arbitrary<bool>()) {
    larger.groups[0].sequences *= 2;
  } else {
    larger.groups[0].past *= 2;
  }
  const EngineProfile engine = load_engine(q.engine, Bundle());
  RC_ASSERT(time(q, engine, larger).total.value >= time(q, engine, q.batch).total.value * 0.95);
}

// The times of a model with a memory of other steps are those of the model without, to the bit.
RC_GTEST_PROP(StepLaw, IsTheSameWithAMemory, ()) {
  Question q = any_question();
  q.model = load_model(*rc::gen::element<std::string>(
      "llama-3-8b", "mixtral-8x7b", "gemma-2-9b", "deepseek-v2-lite", "qwen3-next-80b-a3b",
      "llama-4-scout", "gpt-oss-20b", "nemotron-h-56b"));
  q.plan = {*rc::gen::element(1, 2), *rc::gen::element(1, 2), *rc::gen::element(1, 2), 1};
  const Catalog catalog;
  const auto network = make_network_model(
      Cluster(catalog, catalog.gpu(q.gpu), q.plan.devices(), ""), q.plan, "nccl", Bundle());
  const Precision precision = native_precision(q.model);
  const EngineProfile engine = load_engine(q.engine, Bundle());
  const StepModel asked(q.model, q.plan, precision, engine, kernels_of(q.gpu), *network, 1.01);
  const auto memory = asked.memories().take(asked.kernels());
  const StepModel remembering = asked.with(*memory);
  for (int i = 0; i < 20; ++i) {
    // Few sizes, so that many steps have a number of tokens or of sequences in common.
    Batch batch;
    for (int chunks = *rc::gen::inRange(0, 3); chunks > 0; --chunks)
      batch.groups.push_back({*rc::gen::inRange(1, 3), *rc::gen::element(8, 100, 900),
                              static_cast<double>(*rc::gen::element(0, 16, 2000)),
                              *rc::gen::arbitrary<bool>()});
    if (batch.groups.empty() || *rc::gen::arbitrary<bool>())
      batch.groups.push_back({*rc::gen::inRange(1, 4), 1, 100.0 * *rc::gen::inRange(1, 50)});
    if (*rc::gen::inRange(0, 4) == 0)
      batch.groups.push_back({2, 4, 100.0 * *rc::gen::inRange(1, 50), true, true});
    const int stage = *rc::gen::inRange(-1, q.plan.pp);
    const StepTime a = asked.time(batch, false, stage), b = remembering.time(batch, false, stage);
    RC_ASSERT(a.total.value == b.total.value);
    RC_ASSERT(a.total.shared == b.total.shared);
    RC_ASSERT(a.total.own == b.total.own);
    RC_ASSERT(a.kernels == b.kernels);
    RC_ASSERT(a.communication == b.communication);
    RC_ASSERT(a.compute == b.compute);
    RC_ASSERT(a.memory == b.memory);
    RC_ASSERT(a.launches == b.launches);
    RC_ASSERT(a.host == b.host);
    RC_ASSERT(a.layers == b.layers);
  }
}

}  // namespace step_law_test
}  // namespace orrery
