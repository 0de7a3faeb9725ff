#include "orrery/planner/search/stock_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace orrery {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;
constexpr std::size_t kFew = 256;  // states of the search for a first solution

struct State {
  std::vector<std::int64_t> used;  // of each stock, and of all GPUs
  double value = 0, money = 0, served = 0;
  std::vector<StockPart> parts;
};

// Whether a value is less than another, up to rounding, or the same with fewer kinds of engines.
bool better(double value, std::size_t parts, double than, std::size_t parts_of_that) {
  if (value < than - kRounding) return true;
  return value <= than + kRounding && parts < parts_of_that;
}

class Search {
 public:
  explicit Search(const StockProgram& program) : p_(program) {
    for (const auto& options : p_.models) least_.push_back(least_of(options));
    later_.assign(p_.models.size() + 1, 0);
    for (std::size_t m = p_.models.size(); m-- > 0;) later_[m] = later_[m + 1] + least_[m].front();
  }

  // The best solution that is better than `known`, with at most `states` states at a time; 0: all.
  std::optional<StockSolution> better_than(const std::optional<StockSolution>& known,
                                           std::size_t states) {
    known_ = known ? known->value : kNone;
    parts_ = known ? known->parts.size() : std::numeric_limits<std::size_t>::max();
    State start;
    start.used.assign(p_.stocks.size() + 1, 0);
    std::vector<State> now = {start};
    for (std::size_t m = 0; m < p_.models.size(); ++m) {
      for (std::size_t k = 0; k < p_.models[m].size(); ++k) now = with(now, m, k, states);
      std::erase_if(now, [](const State& s) { return s.served < 1 - kRounding; });
      for (State& s : now) s.served = 0;
    }
    std::optional<StockSolution> out;
    for (State& s : now)
      if (!out || better(s.value, s.parts.size(), out->value, out->parts.size()))
        out = StockSolution{s.value, std::move(s.parts)};
    return out;
  }

 private:
  // By the option: the least value of a whole load by it and those that follow, in fractions.
  std::vector<double> least_of(const std::vector<StockOption>& options) const {
    std::vector<double> out(options.size() + 1, kNone);
    for (std::size_t k = options.size(); k-- > 0;) {
      out[k] = out[k + 1];
      for (std::size_t n = 0; n < options[k].serves.size(); ++n) {
        const double serves = options[k].serves[n];
        if (serves > 0 && (p_.mixed || serves >= 1 - kRounding))
          out[k] = std::min(out[k], options[k].value[n] / serves);
      }
    }
    return out;
  }

  // The least value of a solution that goes on from here; `k`: the next option.
  double bound(const State& s, std::size_t m, std::size_t k) const {
    const double rest = 1 - s.served;
    return s.value + (rest > kRounding ? rest * least_[m][k] : 0) + later_[m + 1];
  }

  // A map from what is used of each stock to states that no other one of them beats.
  using States = std::map<std::vector<std::int64_t>, std::vector<State>>;

  void add(States& states, State s, std::size_t m, std::size_t k) const {
    const std::size_t kinds =
        s.parts.size() + (s.served < 1 - kRounding ? 1 : 0) + (p_.models.size() - m - 1);
    const double least = bound(s, m, k);
    if (least == kNone || !better(least, kinds, known_, parts_)) return;
    std::vector<State>& same = states[s.used];
    const auto beats = [this](const State& a, const State& b) {
      return a.value <= b.value + kRounding && a.served >= b.served - kRounding &&
             a.parts.size() <= b.parts.size() &&
             (p_.most_money <= 0 || a.money <= b.money + kRounding);
    };
    for (const State& other : same)
      if (beats(other, s)) return;
    std::erase_if(same, [&](const State& other) { return beats(s, other); });
    same.push_back(std::move(s));
  }

  // The state with n engines of option k; none: there are not so many GPUs, or not so much money.
  std::optional<State> taken(const State& from, std::size_t m, std::size_t k, std::size_t n) const {
    const StockOption& o = p_.models[m][k];
    State s = from;
    if (o.stock) {
      s.used[*o.stock] += o.gpus[n];
      if (s.used[*o.stock] > p_.stocks[*o.stock]) return std::nullopt;
    }
    if (p_.gpus > 0) s.used.back() += o.gpus[n];
    if (s.used.back() > p_.gpus) return std::nullopt;
    s.money += o.money[n];
    if (p_.most_money > 0 && s.money > p_.most_money + kRounding) return std::nullopt;
    s.value += o.value[n];
    s.served = std::min(1.0, s.served + o.serves[n]);
    s.parts.push_back({m, k, static_cast<std::int64_t>(n) + 1});
    return s;
  }

  std::vector<State> with(const std::vector<State>& before, std::size_t m, std::size_t k,
                          std::size_t most) const {
    const StockOption& o = p_.models[m][k];
    States next;
    for (const State& from : before) {
      add(next, from, m, k + 1);
      if (from.served >= 1 - kRounding) continue;
      for (std::size_t n = 0; n < o.serves.size(); ++n) {
        const bool whole = from.served + o.serves[n] >= 1 - kRounding;
        if (!p_.mixed && !whole) continue;
        std::optional<State> s = taken(from, m, k, n);
        if (!s) break;
        add(next, std::move(*s), m, k + 1);
        if (whole) break;
      }
    }
    std::vector<State> out;
    for (auto& [used, states] : next)
      for (State& s : states) out.push_back(std::move(s));
    if (most > 0 && out.size() > most) {
      std::stable_sort(out.begin(), out.end(), [&](const State& a, const State& b) {
        return bound(a, m, k + 1) < bound(b, m, k + 1);
      });
      out.resize(most);
    }
    return out;
  }

  const StockProgram& p_;
  std::vector<std::vector<double>> least_;  // by model and option: see least_of()
  std::vector<double> later_;               // by model: the least value of it and those that follow
  double known_ = kNone;
  std::size_t parts_ = 0;
};

}  // namespace

std::optional<StockSolution> solve(const StockProgram& program) {
  Search search(program);
  const std::optional<StockSolution> first = search.better_than(std::nullopt, kFew);
  const std::optional<StockSolution> best = search.better_than(first, 0);
  return best ? best : first;
}

}  // namespace orrery
