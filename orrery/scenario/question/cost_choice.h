// The money of a scenario: a price, or where a price is looked up.
//
//   cost: {price: 2.50}                          # USD for an hour of one GPU
//   cost: {tier: spot, provider: Nebius}         # by catalog/prices
//   cost: {tier: owned, price_book: mine.yaml}   # by a book of one's own (price_book.h)
//
// Without these the answer has no costs.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/fields.h"

namespace orrery {

struct CostChoice {
  std::optional<double> price;  // USD
  std::string tier;             // of price_tier_names(); empty: none is looked up
  std::string provider;         // empty: all
  std::string price_book;       // path; empty: catalog/prices

  bool asked() const { return price || !tier.empty(); }
};

void declare(Fields& fields, CostChoice& cost);

}  // namespace orrery
