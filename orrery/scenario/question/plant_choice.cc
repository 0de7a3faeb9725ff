#include "orrery/scenario/question/plant_choice.h"

namespace orrery {

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
