#include "orrery/validate/neusight.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/eager_fit.h"
#include "orrery/kernel/kernel_model.h"
#include "orrery/validate/eager_models.h"

namespace orrery {
namespace {

// What the composition leaves out (small kernels, gaps, clocks of a whole pass): the spread of
// eager inference rows around the sum of their own measured kernels is 5 %.
constexpr double kCompositionError = 0.05;

Family family_of(const Op& op) {
  return std::holds_alternative<Gemm>(op) ? Family::kGemm : Family::kElementwise;
}

Estimate<Seconds> time_of(const EagerPasses& passes, const KernelModel& kernels) {
  EstimateSum<Seconds> sum;
  for (const EagerPass* pass : {&passes.forward, &passes.backward}) {
    for (const EagerOp& o : pass->ops)
      sum.add(family_of(o.op), kernels.predict(o.op).time.scaled(o.times));
    if (pass->host > Seconds(0)) sum.add(Family::kHost, {pass->host, 0.5, 0, Origin::kFitted});
  }
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
            theirs = csv.column("neusight_ms");
  while (csv.next()) {
    const std::string row = fmt::format("neusight_labels.csv:{}", csv.line());
    try {
      if (csv.integer(gpus) != 1) throw NoData("over several GPUs");
      auto& kernels = models[std::string(csv.text(gpu))];
      if (!kernels) {
        kernels = make_kernel_model(catalog.gpu(eager_gpu_name(csv.text(gpu))), classes, bundle);
      }
      const bool compiled = csv.integer(fused) != 0;
      const EagerPasses passes =
          eager_passes(eager_shape(csv.text(model)), csv.integer(batch), csv.integer(tokens),
                       csv.text(mode) == "train", compiled);
      const Estimate<Seconds> t = time_of(passes, *kernels);
      const auto ms = [](Seconds s) { return s / milliseconds(1); };
      ValidationRow out{
          {{"device", std::string(csv.text(gpu))},
           {"mode", std::string(csv.text(mode))},
           {"subset", compiled ? "fused" : "eager"},
           {"predictor", "orrery"}},
          fmt::format("{} {} {}x{}", row, csv.text(model), csv.text(batch), csv.text(tokens)),
          csv.number(measured),
          ms(t.value),
          ms(t.quantile(0.25)),
          ms(t.quantile(0.75)),
          ms(t.quantile(0.05)),
          ms(t.quantile(0.95)),
          t.origin};
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
