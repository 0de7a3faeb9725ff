// The plant of a deployment: its power beyond the boards of the GPUs, its electricity's price and
// emissions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/energy/account/carbon.h"
#include "orrery/energy/account/money.h"
#include "orrery/energy/account/plant.h"
#include "orrery/energy/account/price_book.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

class PlantAccount {
 public:
  // `node`: empty for the usual one of the GPU. Adds to `notes` what is assumed. InputError: no
  // such region, a malformed series, or no figure of the emissions that the boards embody.
  PlantAccount(Facts& facts, const PlantChoice& choice, const Gpu& gpu, const std::string& node,
               std::vector<std::string>& notes);

  // The scope that is counted: "gpu", "node" or "facility".
  const std::string& scope() const { return scope_; }
  bool counts_carbon() const { return carbon_ != nullptr; }
  // Null: emissions are not asked for.
  const CarbonIntensity* carbon() const { return carbon_.get(); }

  // Power of these boards with what the scope counts.
  Estimate<Watts> power(const Boards& boards) const;
  // The parts of power(boards), which add up to it. The scope leaves the later ones zero.
  struct Parts {
    Watts boards, rest, supplies, cooling;
  };
  Parts parts(const Boards& boards) const;
  // The most that so many boards draw with what the scope counts: all of them at `limit`. Its error
  // is that of what they do not draw themselves.
  Estimate<Watts> most_power(double gpus, Watts limit) const;
  // Emissions of an hour of them; REQUIRES counts_carbon().
  Estimate<Grams> operational_hour(const Boards& boards) const;
  // Emissions that an hour of the boards' life embodies; zero where it is not asked for.
  Grams embodied_hour(double gpus) const { return embodied_ * gpus; }
  // The price of an hour with the electricity of an owned GPU, which the whole facility draws. The
  // PUE is the choice's, else that of the price book's entry, else the average.
  Estimate<Usd> with_electricity(const GpuPrice& price, const Boards& boards) const;

 private:
  Estimate<Watts> at(const std::string& scope, std::optional<double> pue,
                     const Boards& boards) const;

  std::string scope_;
  std::optional<double> pue_;
  std::shared_ptr<const CarbonIntensity> carbon_;
  Grams embodied_;  // of an hour of one board
  Gpu gpu_;
  std::shared_ptr<const NodeType> node_;
  std::shared_ptr<const Plant> plant_;
};

// The boards of an answer, and the limit of each.
struct ScopedBoards {
  Boards boards;
  Watts limit;
  // Mean power of a board that runs over the whole run of which the metric `energy` is; absent: the
  // boards' own.
  std::optional<Estimate<Watts>> in_run = {};
};
// If the scope of the account is wider than the GPUs, adds `plant_power`, the power of the boards
// in that scope, and makes the metrics of energy, which are the boards', those of the scope.
void count_scope(const PlantAccount& account, const ScopedBoards& of, std::vector<Metric>& metrics);

}  // namespace orrery
