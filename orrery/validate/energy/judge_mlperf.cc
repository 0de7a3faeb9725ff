#include "orrery/validate/energy/judge_mlperf.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/energy/account/plant.h"
#include "orrery/validate/energy/mlperf_power_rows.h"

namespace orrery {
namespace {

constexpr const char* kTable = "mlperf";

ValidationRow& add(const MlperfPowerRow& r, const char* metric, double measured,
                   const Estimate<double>& e, ValidationReport& report) {
  ValidationRow v;
  v.by = {{"table", kTable}, {"metric", metric}, {"system", r.system}, {"framework", r.engine}};
  v.row = r.name;
  v.measured = measured, v.predicted = e.value;
  v.low50 = e.quantile(0.25), v.high50 = e.quantile(0.75);
  v.low90 = e.quantile(0.05), v.high90 = e.quantile(0.95);
  v.origin = e.origin;
  v.source = "mlperf";
  v.what = fmt::format("{} {} on {}: {}", r.benchmark, r.scenario, r.system, r.keys.yaml());
  report.rows.push_back(std::move(v));
  return report.rows.back();
}

// Power of a board that does `work`, at most what it draws at its cap.
Estimate<Watts> board_power(const StepPowerConstants& c, const MlperfPowerRow& r,
                            const StepWork& work) {
  Estimate<Watts> power = step_power(c, r.gpu, r.engine, work);
  if (r.cap) power.value = std::min(power.value, *r.cap * c.regulated);
  return power;
}

// The wall power of the server. The boards draw no more than their cap, so that the interval of
// their power ends there.
Estimate<double> wall_power(const Plant& plant, const MlperfPowerRow& r, Estimate<Watts> board) {
  const Watts most = r.cap.value_or(*r.gpu.power);
  // Boards at their cap are as certain as the controller holds them there.
  constexpr double kAtCap = 0.01;
  if (board.value >= most * 0.95) board.shared = 0, board.own = kAtCap;
  const Estimate<Watts> wall =
      plant.at_wall(r.gpu, r.node, {board, static_cast<double>(r.gpus), 0});
  return {wall.value.value(), wall.shared, wall.own, wall.origin};
}

}  // namespace

void judge_mlperf(const std::filesystem::path& dir, const Bundle& bundle,
                  ValidationReport& report) {
  const StepPowerConstants c = read_step_power(bundle);
  for (const MlperfPowerRow& r : read_mlperf_power(dir, bundle, report)) {
    const Plant plant(bundle, r.server);
    // A lower clock stretches kernels, which therefore fill the measured time as they fill the
    // predicted one.
    const Estimate<Watts> measured = board_power(c, r, r.work.stretched(r.time, 1));
    const double limits = r.gpus * r.cap.value_or(*r.gpu.power).value();
    add(r, "wall power in the measured time", r.wall.value(), wall_power(plant, r, measured),
        report)
        .peers = {{"limit of the boards", limits}};
    add(r, "wall power", r.wall.value(), wall_power(plant, r, r.power), report);
    const double engines = r.gpus / static_cast<double>(r.keys.number("parallel.tp"));
    const double requests = r.requests * engines;
    const Estimate<Seconds> request = r.alone.scaled(1 / requests);
    add(r, "time of a request", r.time.value() / requests,
        {request.value.value(), request.shared, request.own, request.origin}, report);
  }
  for (const CappedPair& p : read_capped_pairs(dir, bundle, report)) {
    const double longer = p.row.alone.value / p.row.work.time;
    add(p.row, "time under a cap", p.free / p.capped,
        {longer, p.row.clock_error, 0, Origin::kTransferred}, report)
        .peers = {{"no cap", 1}};
  }
}

}  // namespace orrery
