#include "orrery/planner/runs/run_parts.h"

#include <fmt/format.h>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/store/value_bytes.h"

namespace orrery {
namespace {

void write(ValueWriter& out, const RunLayout& l) {
  for (const std::int64_t n :
       {l.gpus, static_cast<std::int64_t>(l.format), std::int64_t{l.tp}, std::int64_t{l.cp},
        std::int64_t{l.pp}, std::int64_t{l.vp}, std::int64_t{l.ep}, l.micro_batch,
        std::int64_t{l.zero}, static_cast<std::int64_t>(l.recompute)})
    out.integer(n);
}

RunLayout read_layout(ValueReader& in) {
  RunLayout l;
  l.gpus = in.integer();
  l.format = static_cast<Dtype>(in.integer());
  for (int* n : {&l.tp, &l.cp, &l.pp, &l.vp, &l.ep}) *n = static_cast<int>(in.integer());
  l.micro_batch = in.integer();
  l.zero = static_cast<int>(in.integer());
  l.recompute = static_cast<Recompute>(in.integer());
  return l;
}

void write(ValueWriter& out, const RatedRun& r) {
  write(out, r.plan.layout);
  // No board has a limit of 0 W or a clock of 0 Hz.
  out.real(r.plan.boards.limit.value_or(Watts(0)).value());
  out.real(r.plan.boards.clock.value_or(Hertz(0)).value());
  for (const double x :
       {r.run.iteration.value(), r.run.total.value(), r.run.usd, r.run.joules, r.fits})
    out.real(x);
}

RatedRun read_run(ValueReader& in, const GpuStock& stock) {
  RatedRun r;
  r.plan = {stock, read_layout(in)};
  if (const Watts limit(in.real()); limit > Watts(0)) r.plan.boards.limit = limit;
  if (const Hertz clock(in.real()); clock > Hertz(0)) r.plan.boards.clock = clock;
  r.run.iteration = Seconds(in.real());
  r.run.total = Seconds(in.real());
  r.run.usd = in.real(), r.run.joules = in.real(), r.fits = in.real();
  return r;
}

}  // namespace

std::string part_key(QuestionKeys& keys, const GpuStock& stock, const RunLayout& l) {
  return keys.key(fmt::format("layouts, {} GPUs, {}, tp {}, cp {}, pp {}", l.gpus,
                              to_text(l.format), l.tp, l.cp, l.pp),
                  stock.gpu);
}

std::string part_bytes(const RunSearch& part) {
  ValueWriter out;
  out.number(part.best.front().size());
  for (const RatedRun& r : part.best.front()) write(out, r);
  for (const auto& extreme : {part.fastest, part.cheapest}) {
    out.number(extreme ? 1 : 0);
    if (extreme) write(out, *extreme);
  }
  out.integer(part.layouts), out.integer(part.evaluated);
  out.number(part.rejected.size());
  for (const auto& [reason, n] : part.rejected)
    out.text(reason), out.integer(n.layouts), out.text(n.example);
  out.number(part.nearest ? 1 : 0);
  if (part.nearest) write(out, part.nearest->layout), out.real(part.nearest_share);
  return out.take();
}

RunSearch read_part(const std::string& bytes, const GpuStock& stock) {
  ValueReader in(bytes);
  RunSearch part;
  part.best.emplace_back();
  for (std::uint64_t n = in.number(); n > 0; --n) part.best.front().push_back(read_run(in, stock));
  for (std::optional<RatedRun>* extreme : {&part.fastest, &part.cheapest})
    if (in.number() != 0) *extreme = read_run(in, stock);
  part.layouts = in.integer(), part.evaluated = in.integer();
  for (std::uint64_t n = in.number(); n > 0; --n) {
    RunSearch::Reason& reason = part.rejected[in.text()];
    reason.layouts = in.integer(), reason.example = in.text();
  }
  if (in.number() != 0) {
    part.nearest = {stock, read_layout(in)};
    part.nearest_share = in.real();
  }
  return part;
}

void add_part(const RunSearch& part, RunSearch& search) {
  const auto keep = [](PlanObjective by, const std::optional<RatedRun>& r,
                       std::optional<RatedRun>& best) {
    if (r && (!best || lower(by, *r, *best))) best = r;
  };
  keep(PlanObjective::kTime, part.fastest, search.fastest);
  keep(PlanObjective::kCost, part.cheapest, search.cheapest);
  search.layouts += part.layouts, search.evaluated += part.evaluated;
  for (const auto& [name, n] : part.rejected) {
    RunSearch::Reason& reason = search.rejected[name];
    reason.layouts += n.layouts;
    if (reason.example.empty()) reason.example = n.example;
  }
}

}  // namespace orrery
