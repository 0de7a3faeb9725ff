#include "orrery/scenario/kinds/training/training_breakdown.h"

#include <algorithm>
#include <string>

#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// Suffix of the name of an op; both gradients are one row.
std::string_view suffix(TrainingPass pass) {
  return pass == TrainingPass::kForward     ? ""
         : pass == TrainingPass::kRecompute ? " again"
                                            : " grad";
}

// The lower bound of the time of a row that is not bound by arithmetic.
constexpr Seconds kNoPeak{-1};

// A row of the breakdown for a time that belongs to no op.
KernelRow overhead(const char* name, const char* part, const char* bound, Seconds time,
                   const Estimate<Seconds>& whole) {
  KernelRow row;
  row.phase = "iteration";
  row.name = name, row.part = part, row.bound = bound;
  row.time = {time, whole.shared, whole.own, whole.origin};
  row.share = time / whole.value;
  return row;
}

}  // namespace

void add_blocks(const Architecture& model, const TimedIteration& timed, double peak, Point& p) {
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  // A split may leave the first virtual stages without a layer.
  int chunk = 0;
  while (chunk + 1 < job.plan.pp * job.plan.vp && chunk_layers(model, job.plan, chunk).size() == 0)
    ++chunk;
  const std::vector<TrainingTerm> terms = iterations.terms(job, stack, chunk);
  const ChunkParts& first =
      parts.kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(chunk)])];
  EstimateSum<Seconds> attention, core, mlp, layer;
  Seconds mlp_products;
  double mlp_flops = 0, layer_flops = 0;
  for (const TrainingTerm& t : terms) {
    const bool outside =
        t.op.part == Part::kEmbedding || t.op.part == Part::kLmHead || t.op.name == "final_norm";
    if (outside) continue;
    const Estimate<Seconds> e =
        t.time.scaled(cost_factor({parts, k, job}, first, t.op.cost, t.op.pass));
    const Family family = t.op.cost <= TrainingCost::kHead ? Family::kGemm : Family::kCollective;
    layer.add(family, e);
    layer_flops += t.op.count * flops(t.op.op).value();
    const bool is_core =
        t.op.cost == TrainingCost::kAttention || t.op.cost == TrainingCost::kAttentionBackward;
    if (is_core) core.add(Family::kAttention, e);
    if (t.op.part == Part::kAttention) attention.add(family, e);
    if (t.op.part != Part::kMlp && t.op.part != Part::kMoe) continue;
    mlp.add(family, e);
    if (t.op.cost != TrainingCost::kProducts && t.op.cost != TrainingCost::kExperts) continue;
    mlp_products += e.value;
    mlp_flops += t.op.count * flops(t.op.op).value();
  }
  const double share = 1.0 / std::max(1, chunk_layers(model, job.plan, chunk).size());
  const auto add = [&](FigureRef figure, const EstimateSum<Seconds>& sum) {
    const Estimate<Seconds> e = sum.total();
    if (e.value > Seconds(0)) p.metrics.push_back(metric(figure, e.scaled(share)));
  };
  add("attention_block", attention);
  add("attention_core", core);
  add("mlp_block", mlp);
  add("layer", layer);
  if (mlp_products > Seconds(0))
    p.metrics.push_back(of_peak_metric("mlp_of_peak", 100 * mlp_flops / peak,
                                       {mlp_products, whole.shared, whole.own, whole.origin}));
  if (mlp_flops > 0) p.metrics.push_back(exact_metric("mlp_flops", mlp_flops * share / 1e12));
  p.metrics.push_back(exact_metric("layer_flops", layer_flops * share / 1e12));
}

void add_rows(const TimedIteration& timed, std::optional<int> wanted, Point& p) {
  const TrainingJob& job = timed.job;
  const IterationParts& parts = timed.parts;
  const IterationTime& t = timed.time;
  const TrainingConstants& k = timed.constants;
  const Estimate<Seconds>& whole = timed.whole;
  // The stage that IterationTime is of: the one with the most work.
  Seconds most;
  std::vector<int> critical;
  for (int s = 0; s < job.plan.pp; ++s) {
    std::vector<int> chunks = chunks_of_stage(job, s);
    Seconds stage;
    for (const int c : chunks) {
      const auto kind = static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(c)]);
      stage += chunk_time({parts, k, job}, parts.kinds[kind]).total();
    }
    if (wanted ? s == *wanted : critical.empty() || stage > most)
      most = stage, critical = std::move(chunks);
  }
  const double copies = job.plan.pp > 1 ? schedule_of(job.plan).copies() : 1;
  const double repeats = static_cast<double>(job.micro_batches()) / copies;
  std::vector<KernelRow>& rows = p.kernels;
  std::vector<Seconds> least;  // of each row, by the data sheet's peaks; negative: not comparable
  for (const int c : critical) {
    const ChunkParts& of_chunk =
        parts.kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(c)])];
    for (const TrainingTerm& term : timed.iterations.terms(job, timed.stack, c)) {
      const std::string name = std::string(term.op.name) + std::string(suffix(term.op.pass));
      const Estimate<Seconds> time = term.time.scaled(
          repeats * cost_factor({parts, k, job}, of_chunk, term.op.cost, term.op.pass));
      const Seconds least_time = term.least < term.time.value ? term.least * repeats : kNoPeak;
      const Flops work = flops(term.op.op) * (term.op.count * repeats);
      const Bytes moved = bytes(term.op.op) * (term.op.count * repeats);
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& r) {
        return r.name == name && r.part == to_text(term.op.cost);
      });
      if (row != rows.end()) {
        row->calls += term.op.count * repeats;
        row->time.value += time.value;
        row->flops += work, row->bytes += moved;
        row->share += time.value / t.total;
        if (const std::string more = describe(term.op.op);
            row->sizes.find(more) == std::string::npos)
          row->sizes += "; " + more;
        Seconds& sum = least[static_cast<std::size_t>(row - rows.begin())];
        sum = sum < Seconds(0) || least_time < Seconds(0) ? kNoPeak : sum + least_time;
        continue;
      }
      KernelRow fresh;
      fresh.phase = "iteration";
      fresh.name = name;
      fresh.part = std::string(to_text(term.op.cost));
      fresh.sizes = describe(term.op.op);
      fresh.calls = term.op.count * repeats;
      fresh.flops = work, fresh.bytes = moved;
      fresh.time = time;
      fresh.share = time.value / t.total;
      fresh.bound = std::string(to_text(term.bound));
      rows.push_back(std::move(fresh));
      least.push_back(least_time);
    }
  }
  // The value exceeds 1 if the stack fuses an op that is counted separately, because not all of its
  // bytes are moved.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double of_peak = least[i] / rows[i].time.value;
    if (least[i] > Seconds(0) && of_peak <= 1) rows[i].of_peak = of_peak;
  }
  // The products of an op have its bare name; what else it does is named by its part.
  label_repeated(rows, 0, [&rows](std::size_t row) {
    for (const TrainingCost main :
         {TrainingCost::kProducts, TrainingCost::kExperts, TrainingCost::kHead})
      if (rows[row].part == to_text(main)) return std::string();
    return rows[row].part;
  });
  // Pairs of micro-batches hide a part of the exchange of experts.
  Seconds exchanged;
  const auto is_exchange = [](const KernelRow& r) {
    return r.part == to_text(TrainingCost::kExpertExchange);
  };
  for (const KernelRow& r : rows)
    if (is_exchange(r)) exchanged += r.time.value;
  const Seconds exposed = t.work[at(TrainingCost::kExpertExchange)];
  for (KernelRow& r : rows)
    if (is_exchange(r) && exposed < exchanged)
      r.time.value *= exposed / exchanged, r.share *= exposed / exchanged;
  const auto add = [&](const char* name, const char* part, const char* bound, Seconds time) {
    if (time > Seconds(0)) rows.push_back(overhead(name, part, bound, time, whole));
  };
  Seconds idle = t.bubble;
  if (wanted) {
    idle = t.total - t.sends - t.sharding - t.reduce - t.gather - t.optimizer - t.launches -
           t.host - t.stragglers;
    for (const KernelRow& r : rows) idle -= r.time.value;
    constexpr double kRounding = 1e-9;  // of the sums
    if (idle < kRounding * t.total) idle = Seconds(0);
  }
  add("bubble", "pipeline", "pipeline", idle);
  add("pipeline_sends", "pipeline", "network", t.sends);
  add("weight_sharding", "data", "network", t.sharding);
  add("gradient_reduce", "data", "network", t.reduce);
  add("weight_gather", "data", "network", t.gather);
  add("optimizer", "optimizer", "memory", t.optimizer);
  add("launches", "host", "host", t.launches);
  add("host", "host", "host", t.host);
  add("slowest_rank", "stragglers", "network", t.stragglers);
}

}  // namespace orrery
