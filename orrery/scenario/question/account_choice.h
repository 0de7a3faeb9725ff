// The money and the plant of a scenario: a price, or where a price is looked up, what is counted as
// power, and the emissions of the electricity.
//
//   cost: {price: 2.50}                          # USD for an hour of one GPU
//   cost: {tier: spot, provider: Nebius}         # by catalog/prices
//   cost: {tier: owned, price_book: mine.yaml}   # by a book of one's own (price_book.h)
//   energy: {scope: facility, pue: 1.25, carbon: DEU, embodied: true}
//
// Without these the answer has no costs, and the power of the GPUs' boards alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/fields.h"

namespace orrery {

// The tier of machines that may be taken away.
inline constexpr std::string_view kSpotTier = "spot";

struct CostChoice {
  std::optional<double> price;  // USD
  std::string tier;             // of price_tier_names(); empty: none is looked up
  std::string provider;         // empty: all
  std::string price_book;       // path; empty: catalog/prices
  // How often a machine is taken away; absent: as the price book's entry says.
  std::optional<double> preemptions_per_day;

  bool asked() const { return price || !tier.empty(); }
  // Whether machines may be taken away.
  bool may_lose() const { return tier == kSpotTier || preemptions_per_day; }
};

void declare(Fields& fields, CostChoice& cost);

struct PlantChoice {
  // "gpu", "node" or "facility"; empty: the boards of GPUs, or the facility where emissions are
  // asked for.
  std::string scope;
  std::optional<double> pue;  // absent: the average of data centres
  std::string carbon;         // as CarbonFacts::intensity reads it; empty: not asked
  bool embodied = false;      // count what it took to make the boards, too

  bool asked() const { return !scope.empty() || pue || !carbon.empty(); }
  // The scope with its default.
  std::string counted() const {
    return !scope.empty() ? scope : carbon.empty() ? "gpu" : "facility";
  }
};

// `cost`: whose owned GPUs pay for electricity.
void declare(Fields& fields, PlantChoice& plant, const CostChoice& cost);

}  // namespace orrery
