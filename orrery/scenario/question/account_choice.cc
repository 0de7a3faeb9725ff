#include "orrery/scenario/question/account_choice.h"

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
  f.add("preemptions_per_day", c.preemptions_per_day,
        "how often a spot machine is taken away, in a day; default: as the price book's entry says")
      .range(0, 1e4)
      .needs("cost.price or cost.tier spot", [&c] { return c.price || c.tier == kSpotTier; });
}

void declare(Fields& f, PlantChoice& p, const CostChoice& cost) {
  f.add("scope", p.scope,
        "what counts as power: the boards of the GPUs, their nodes at the wall, or the data "
        "centre; empty: gpu, or facility where carbon is asked for")
      .one_of({"", "gpu", "node", "facility"});
  f.add("pue", p.pue,
        "power of the data centre over that of its computers; default: the average of data "
        "centres (catalog/plant)")
      .range(1, 10)
      .needs("energy.scope facility, energy.carbon or cost.tier owned",
             [&p, &cost] { return p.counted() == "facility" || cost.tier == "owned"; });
  f.add("carbon", p.carbon,
        "emissions of the electricity: g of CO2e for a kWh, a region (DEU), or a CSV file of an "
        "hourly series (docs/cost.md); empty: not asked")
      .verbatim();
  f.add("embodied", p.embodied, "count what it took to make the boards, over their life, too")
      .needs("energy.carbon", [&p] { return !p.carbon.empty(); });
}

}  // namespace orrery
