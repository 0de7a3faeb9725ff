#include "orrery/scenario/setup/gpu_price.h"

#include <algorithm>

namespace orrery {
namespace {

struct PriceBookKey {
  std::string path;
  bool operator==(const PriceBookKey&) const = default;
};

PriceTier tier_of(const std::string& name) {
  const auto& names = price_tier_names();
  return static_cast<PriceTier>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

std::optional<GpuPrice> gpu_price(Facts& facts, const CostChoice& cost, const Gpu& gpu,
                                  std::vector<std::string>& notes) {
  if (!cost.asked()) return std::nullopt;
  if (cost.price) {
    GpuPrice stated;
    stated.hour = {Usd(*cost.price)};
    stated.preemptions_per_day = cost.preemptions_per_day;
    return stated;
  }
  const auto book = facts.latest<PriceBook>(PriceBookKey{cost.price_book}, [&] {
    return cost.price_book.empty() ? PriceBook(facts.bundle()) : PriceBook(cost.price_book);
  });
  GpuPrice found = book->price(gpu.id, tier_of(cost.tier), cost.provider);
  if (cost.preemptions_per_day) found.preemptions_per_day = cost.preemptions_per_day;
  if (std::find(notes.begin(), notes.end(), found.note) == notes.end()) notes.push_back(found.note);
  return found;
}

}  // namespace orrery
