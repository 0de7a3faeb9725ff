// The files of steps of result_files.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "orrery/scenario/kinds/service/result_files.h"
#include "orrery/scenario/kinds/service/service_detail.h"

namespace orrery {

std::string steps_csv(const Point& p) {
  std::string out = "start_s,end_s,engine,decodes,prompts,prompt_tokens,running,waiting,kv_use\n";
  for (const StepRow& s : service_detail(p).steps) {
    out += fmt::format("{:.9f},{:.9f},{},{},{},{},{},{},{:.4f}\n", s.start.value(), s.end.value(),
                       s.engine, s.decodes, s.prompts, s.prompt_tokens, s.running, s.waiting,
                       s.kv_use);
  }
  return out;
}

namespace {

// The mean power of the window in which a second begins; the last window for later ones.
Watts power_in(const PowerSeries& series, std::int64_t second) {
  const auto window = static_cast<std::size_t>(static_cast<double>(second) / series.window.value());
  return series.power[std::min(window, series.power.size() - 1)];
}

}  // namespace

std::string series_csv(const Point& p) {
  // A step counts where it starts; running, waiting and KV use are sums and the mean over the
  // engines of their last step by then.
  struct Second {
    std::int64_t steps = 0, decodes = 0, prompt_tokens = 0;
  };
  const PowerSeries& series = service_detail(p).power;
  const bool powered = !series.power.empty();
  std::string out = fmt::format("second,steps,decodes,prompt_tokens,running,waiting,kv_use{}\n",
                                powered ? ",power" : "");
  std::map<std::int64_t, const StepRow*> last;
  std::size_t next = 0;
  std::vector<const StepRow*> order;
  for (const StepRow& s : service_detail(p).steps) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(),
                   [](const StepRow* a, const StepRow* b) { return a->start < b->start; });
  for (std::int64_t second = 0; next < order.size(); ++second) {
    Second sum;
    for (; next < order.size() && order[next]->start < Seconds(static_cast<double>(second + 1));
         ++next) {
      const StepRow& s = *order[next];
      ++sum.steps;
      sum.decodes += s.decodes;
      sum.prompt_tokens += s.prompt_tokens;
      last[s.engine] = &s;
    }
    std::int64_t running = 0, waiting = 0;
    double kv = 0;
    for (const auto& [engine, s] : last) {
      // An engine that ended its last step before this second has nothing to do.
      if (s->end < Seconds(static_cast<double>(second))) continue;
      running += s->running, waiting += s->waiting, kv += s->kv_use;
    }
    if (!last.empty()) kv /= static_cast<double>(last.size());
    out += fmt::format("{},{},{},{},{},{},{:.4f}", second, sum.steps, sum.decodes,
                       sum.prompt_tokens, running, waiting, kv);
    if (powered) out += fmt::format(",{:.2f}", power_in(series, second).value());
    out += '\n';
  }
  return out;
}

}  // namespace orrery
