#include "orrery/scenario/kinds/service/service_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace orrery {
namespace {

// Appends metrics to a list; figures that are absent are left out.
class ServiceNames {
 public:
  explicit ServiceNames(std::vector<Metric>& metrics) : metrics_(metrics) {}

  template <class V>  // Seconds, a share or rate, or a count
  void put(FigureRef figure, const V& v) {
    metrics_.push_back(exact_metric(figure, in_unit(figure, v)));
  }
  // `of`: some requests, by the end of the name of their figures: "chat" of "ttft_class_chat".
  template <class Q>
  void put(FigureRef figure, const Distribution<Q>& d, const std::string& of = "") {
    put(figure, d.mean);
    const std::string name = metrics_.back().name += of;
    for (const auto& [place, v] : d.percentiles) {
      metrics_.push_back(percentile_metric(figure, place, in_unit(figure, v)));
      metrics_.back().name = percentile_name(name, place);
    }
  }
  template <class V, class... Of>
  void put(FigureRef figure, const std::optional<V>& v, const Of&... of) {
    if (v) put(figure, *v, of...);
  }

  void requests(const ServiceFigures& f) {
    put("ttft", f.times.ttft);
    for (const auto& [priority, ttft] : f.ttft_of_priority)
      put("ttft_priority_", ttft, fmt::to_string(priority));
    put("tpot", f.times.tpot);
    put("itl", f.gaps), put("itl_max", f.longest_gap);
    put("e2e", f.times.e2e);
    for (const ServiceFigures::Class& c : f.classes) {
      put("ttft_class_", c.ttft, c.name);
      put("tpot_class_", c.tpot, c.name);
      put("e2e_class_", c.e2e, c.name);
    }
    put("queue", f.queue), put("front_end", f.front_end);
    if (f.rates) {
      put("duration", f.rates->duration), put("request_throughput", f.rates->requests);
      put("output_throughput", f.rates->output), put("total_throughput", f.rates->tokens);
      constexpr FigureRef kQuarters[] = {"waiting_q1", "waiting_q2", "waiting_q3", "waiting_q4"};
      for (std::size_t i = 0; i < std::size(kQuarters); ++i) put(kQuarters[i], f.rates->waiting[i]);
    }
    put("slo_attainment", f.attainment), put("goodput", f.goodput);
  }

  void engines(const ServiceFigures& f, const GpuWork& work) {
    const ReplicaCounts& sum = f.counts;
    put("busy", f.busy);
    if (f.busy && work.known()) {
      put("mfu", std::min(work.arithmetic(sum), sum.busy) / f.engine_time);
      put("bandwidth_use", std::min(work.traffic(sum), sum.busy) / f.engine_time);
    }
    put("running", f.running), put("kv_use", f.kv_use);
    put("steps", sum.steps), put("evictions", sum.evictions), put("stalls", sum.stalls);
    put("prefix_hits", f.prefix_hits);
    put("accepted_length", f.accepted_length), put("acceptance_rate", f.acceptance_rate);
    if (f.adapter_loading) put("adapter_loads", sum.adapter_loads);
    put("adapter_loading", f.adapter_loading);
    put("kv_waste", f.kv_waste), put("kv_stranded", f.kv_stranded);
    put("host_hits", f.host_hits), put("host_copy", f.host_copy);
    put("disk_hits", f.disk_hits), put("disk_waits", f.disk_waits);
  }

  void cluster(const ServiceFigures& f) {
    put("kv_transfer", f.transfer), put("kv_transfer_alone", f.transfer_alone);
    for (const ServiceFigures::Pool& pool : f.pools) {
      put(pool.prefills ? FigureRef("prefill_busy") : FigureRef("decode_busy"), pool.busy);
      put(pool.prefills ? FigureRef("prefill_engines") : FigureRef("decode_engines"), pool.engines);
    }
    if (f.scaling) {
      put("engines", f.scaling->engines), put("most_engines", f.scaling->most);
      put("engine_starts", f.scaling->starts), put("gpu_hours", f.scaling->gpu_time);
    }
    if (f.losses) put("failures", f.losses->failures), put("retries", f.losses->retries);
  }

 private:
  static double in_unit(FigureRef f, Seconds v) { return v.value() / scale_of(f->unit); }
  static double in_unit(FigureRef, std::int64_t v) { return real(v); }
  static double in_unit(FigureRef f, double v) { return f->unit.starts_with('%') ? 100 * v : v; }

  std::vector<Metric>& metrics_;
};

}  // namespace

std::vector<Metric> service_metrics(const ServiceFigures& f, const SimulationResult& r,
                                    const UseOfGpus& use, std::optional<FleetEnergy>* keep,
                                    bool by_kernel) {
  std::vector<Metric> m;
  ServiceNames names(m);
  names.requests(f), names.engines(f, use.work), names.cluster(f);
  std::optional<FleetEnergy> energy;
  if (use.power.known() && !r.windows.empty() && r.end > SimTime{}) {
    energy = use.power.energy(r, by_kernel);
    use.power.add_metrics(r, *energy, m);
  }
  const Seconds counted = f.rates ? f.rates->duration : Seconds(0);
  add_cost_metrics(use.price, r, energy ? &*energy : nullptr,
                   {counted, f.input_tokens, f.output_tokens, real(f.done)}, m);
  if (keep) *keep = std::move(energy);
  names.put("requests", f.counted), names.put("rejected", f.counted - f.done);
  return m;
}

void add_speedup(const Speedup& s, std::vector<Metric>& metrics) {
  ServiceNames names(metrics);
  names.put("speedup", s.tpot), names.put("speedup_e2e", s.e2e);
  names.put("tpot_overhead", s.tpot_overhead);
}

}  // namespace orrery
