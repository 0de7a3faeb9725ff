#include "orrery/validate/judge/neusight.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/eager_fit.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/validate/rows/eager_models.h"

namespace orrery {
namespace {

// Relative error of the sum of kernels, which has no small kernels, gaps or clock changes of a
// whole pass. Eager inference rows scatter by 5 % around the sum of their own measured kernels.
constexpr double kCompositionError = 0.05;

// Rings of NCCL over NVLink reach 70 to 80 % of the link for buffers of megabytes.
constexpr double kRingShare = 0.75;
constexpr double kRingError = 0.2;

struct Layout {
  std::int64_t tp = 1, pp = 1, dp = 1, micro_batches = 1;
};

Seconds all_reduce(Bytes bytes, std::int64_t ranks, const Gpu& gpu) {
  if (ranks < 2) return Seconds(0);
  const double n = static_cast<double>(ranks);
  return 2 * (n - 1) / n * bytes / (gpu.scale_up.bandwidth * kRingShare);
}

// All-reduces of a training step on one rank.
Seconds communication(const EagerShape& m, const Layout& layout, std::int64_t batch,
                      std::int64_t tokens, const Gpu& gpu) {
  const Bytes stream = 4 * real(batch) * real(tokens) * real(m.hidden) * Bytes(1);
  const double weights =
      real(m.layers) * real(m.hidden) * (4.0 * real(m.heads * m.head_dim) + 2.0 * real(m.ffn)) +
      real(m.vocab) * real(m.hidden);
  const Bytes gradients = 4 * weights / (real(layout.tp) * real(layout.pp)) * Bytes(1);
  return 4 * real(m.layers) * all_reduce(stream, layout.tp, gpu) +
         all_reduce(gradients, layout.dp, gpu);
}

Estimate<Seconds> time_of(const EagerPasses& passes, const KernelModel& kernels, double pipeline,
                          Seconds exchanged) {
  EstimateSum<Seconds> sum;
  for (const EagerPass* pass : {&passes.forward, &passes.backward}) {
    for (const EagerOp& o : pass->ops)
      sum.add(family_of(o.op), kernels.predict(o.op).time.scaled(o.times * pipeline));
    if (pass->host > Seconds(0))
      sum.add(Family::kHost, {pass->host * pipeline, 0.5, 0, Origin::kFitted});
  }
  if (exchanged > Seconds(0))
    sum.add(Family::kCollective, {exchanged, kRingError, 0, Origin::kAnalytical});
  return sum.total(kCompositionError);
}

}  // namespace

ValidationReport validate_neusight(const std::filesystem::path& dir, const std::string& table,
                                   const Bundle& bundle) {
  if (!table.empty() && table != "neusight_labels")
    throw InputError(fmt::format("expected the table neusight_labels, got '{}'", table));
  ValidationReport report;
  report.area = "neusight";
  const Catalog catalog(bundle);
  KernelClasses classes;
  classes.gemm = classes.rows = "pytorch";
  std::map<std::string, std::unique_ptr<KernelModel>> models;
  CsvReader csv(dir / "neusight_labels.csv");
  const int gpu = csv.column("gpu"), gpus = csv.column("n_gpus"), model = csv.column("model"),
            mode = csv.column("mode"), tokens = csv.column("seq_len"), batch = csv.column("batch"),
            fused = csv.column("fused"), measured = csv.column("measured_ms"),
            theirs = csv.column("neusight_ms"), tp = csv.column("tp"), pp = csv.column("pp"),
            dp = csv.column("dp"), micro = csv.column("num_micro_batches");
  while (csv.next()) {
    const std::string row = fmt::format("neusight_labels.csv:{}", csv.line());
    try {
      auto& kernels = models[std::string(csv.text(gpu))];
      const Gpu device = catalog.gpu(eager_gpu_name(csv.text(gpu)));
      if (!kernels) kernels = make_kernel_model(device, classes, bundle);
      const bool compiled = csv.integer(fused) != 0;
      const EagerShape shape = eager_shape(csv.text(model));
      const Layout layout{csv.integer(tp), csv.integer(pp), csv.integer(dp),
                          static_cast<std::int64_t>(csv.optional_number(micro).value_or(1))};
      const std::int64_t rows = csv.integer(batch) / (layout.dp * layout.micro_batches);
      // On one GPU the gradients are not zeroed between the 25 passes. On four GPUs an optimizer
      // zeroes them (NeuSight's Tracing/trace.py and collect_label_distributed.py).
      const EagerPasses passes = eager_passes(shape, rows, csv.integer(tokens),
                                              {.train = csv.text(mode) == "train",
                                               .compiled = compiled,
                                               .accumulate = csv.integer(gpus) == 1,
                                               .shards = layout.tp});
      const double pipeline = static_cast<double>(layout.micro_batches + layout.pp - 1) /
                              static_cast<double>(layout.pp);
      const Estimate<Seconds> t =
          time_of(passes, *kernels, pipeline,
                  communication(shape, layout, rows, csv.integer(tokens), device));
      const auto ms = [](Seconds s) { return s / milliseconds(1); };
      ValidationRow out{
          {{"device", std::string(csv.text(gpu))},
           {"mode", std::string(csv.text(mode))},
           {"subset", csv.integer(gpus) > 1 ? "distributed"
                      : compiled            ? "fused"
                                            : "eager"},
           {"predictor", "orrery"}},
          fmt::format("{} {} {}x{}", row, csv.text(model), csv.text(batch), csv.text(tokens)),
          csv.number(measured),
          ms(t.value),
          ms(t.quantile(0.25)),
          ms(t.quantile(0.75)),
          ms(t.quantile(0.05)),
          ms(t.quantile(0.95)),
          t.origin,
          fmt::format("{} {} {} x {} on {} {}, {}tp {} pp {} dp {}, {} micro batches",
                      csv.text(model), csv.text(mode), csv.text(batch), csv.text(tokens),
                      csv.text(gpus), csv.text(gpu), compiled ? "compiled, " : "", layout.tp,
                      layout.pp, layout.dp, layout.micro_batches)};
      report.rows.push_back(out);
      if (const std::optional<double> other = csv.optional_number(theirs)) {
        out.by["predictor"] = "neusight";
        out.predicted = out.low50 = out.high50 = out.low90 = out.high90 = *other;
        report.rows.push_back(std::move(out));
      }
    } catch (const NoData& e) {
      report.refused.push_back({row, e.what()});
    } catch (const InputError& e) {
      report.refused.push_back({row, e.what()});
    }
  }
  return report;
}

}  // namespace orrery
