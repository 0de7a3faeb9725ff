#include "orrery/scenario/question/cost_choice.h"

#include "orrery/energy/account/price_book.h"

namespace orrery {

void declare(Fields& f, CostChoice& c) {
  f.add("price", c.price, "price of one GPU for an hour, in USD; default: that of cost.tier")
      .range(0, 1e6)
      .alias("gpu_hour_price");
  std::vector<std::string> tiers = price_tier_names();
  tiers.insert(tiers.begin(), "");
  f.add("tier", c.tier,
        "the price is looked up in the price book: the median of the providers; empty: no price "
        "is looked up")
      .one_of(std::move(tiers))
      .needs("no cost.price", [&c] { return !c.price; });
  constexpr const char* kTier = "cost.tier";
  const auto looked_up = [&c] { return !c.tier.empty(); };
  f.add("provider", c.provider, "the price of this provider; empty: of all")
      .verbatim()
      .needs(kTier, looked_up);
  f.add("price_book", c.price_book,
        "file of prices that takes the place of the bundled ones (docs/cost.md)")
      .verbatim()
      .needs(kTier, looked_up);
}

}  // namespace orrery
