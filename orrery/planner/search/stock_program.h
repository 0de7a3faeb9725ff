// The integer program of plans that divide GPUs: which engines of which kinds serve each of several
// models, at the least cost that the GPUs allow.
//
//   minimise    sum of value(o, n_o)                        over all options o of all models
//   subject to  sum of rate(o, n_o) >= 1                    for each model, as a share of its load
//               sum of gpus(o, n_o) of a type <= its stock  for each type of GPU, and for all
//               sum of money(o, n_o) <= most_money
//               n_o whole, 0 or more; where a model has engines of one kind, one n_o above 0
//
// rate(o, n) may be any table that does not fall with n: engines of one kind share queues, so that
// twice as many serve more than twice as much.
//
// Solved exactly, by a search over the options one by one. A state is what has been taken from each
// stock, the value, and the share of the current model's load that is served. Of two states with
// the same stocks one is left out if it has neither less value nor more load served. A state is
// left out, too, if its value and the least value at which the rest could be served, with fractions
// of engines and no stock, are not below that of a solution that is known (from the same search
// with the most promising states alone). Among solutions of equal value the
// one with fewer kinds of engines is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace orrery {

// Engines of one kind for one model.
struct StockOption {
  // By n - 1 for n engines that work: the share of the model's load that they serve, at most 1, and
  // the value, the money and the GPUs of them and their spare ones. None falls with n, and the last
  // n is the most that may be taken.
  std::vector<double> serves, value, money;
  std::vector<std::int64_t> gpus;
  std::optional<std::size_t> stock;  // index of the stock that they are taken from; none: no limit
};

struct StockProgram {
  std::vector<std::vector<StockOption>> models;  // the options of each
  std::vector<std::int64_t> stocks;              // GPUs of each
  std::int64_t gpus = 0;                         // most GPUs of all; 0: no limit
  double most_money = 0;                         // 0: no limit
  bool mixed = true;                             // a model may have engines of several kinds
};

struct StockPart {
  std::size_t model, option;
  std::int64_t engines;
  bool operator==(const StockPart&) const = default;
};

struct StockSolution {
  double value = 0;
  std::vector<StockPart> parts;  // in the order of the models and their options
};

// Nothing: no choice serves all models.
std::optional<StockSolution> solve(const StockProgram& program);

}  // namespace orrery
