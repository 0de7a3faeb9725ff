// Prices of GPUs, each with its date and source.
//
// A book is a YAML file, or all files of catalog/prices:
//
//   prices:
//     - {gpu: h100-sxm, tier: on_demand, provider: Nebius, price: 2.95, date: 2026, source: "..."}
//     - {gpu: h100-sxm, tier: spot, provider: Nebius, price: 1.25, preemptions_per_day: 0.5, ...}
//     - {gpu: h100-sxm, tier: owned, price: 30000, years: 4, electricity: 0.08, ...}
//
// A price is that of one GPU for an hour, in US dollars. Of an owned GPU it is what the GPU and its
// share of the server cost to buy, which its hours of use over the years pay off; the electricity
// comes on top, by the energy that is used.
//
// Providers ask different prices for the same GPU. The price of a GPU and tier is the median of
// the entries, and its error is their spread: the standard deviation of the logarithm. Where there
// is a single entry, the error is the spread that GPUs with several entries in a tier have on
// average. The price of a provider that is named is exact.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/node.h"
#include "orrery/energy/account/money.h"

namespace orrery {

enum class PriceTier { kOnDemand, kReserved, kSpot, kOwned };
// "on_demand", "reserved", "spot", "owned", in the order of the values.
const std::vector<std::string>& price_tier_names();

struct PriceEntry {
  std::string gpu, provider, date, source;
  PriceTier tier = PriceTier::kOnDemand;
  double price = 0;  // USD: of an hour; of an owned GPU, to buy it

  // Spot: how often a machine is taken away, in a day; absent: nobody says.
  std::optional<double> preemptions_per_day;

  // Owned.
  double years = 0;           // until it is paid off
  double utilisation = 1;     // share of the hours in which it is used
  double electricity = 0;     // USD for a kWh
  std::optional<double> pue;  // of its data centre

  // The price of one hour of use, without electricity.
  Usd hour() const;
};

// The price of a GPU as a book states it.
struct GpuPrice {
  Estimate<Usd> hour;  // of one GPU, without the electricity of an owned one
  std::optional<double> preemptions_per_day;
  struct Electricity {
    double usd_per_kwh = 0;
    std::optional<double> pue;
  };
  std::optional<Electricity> electricity;  // of an owned GPU, which is paid for apart
  std::string note;  // what the price is, from how many entries, of which dates
};

class PriceBook {
 public:
  // All files of catalog/prices. InputError: one of them is malformed.
  explicit PriceBook(const Bundle& bundle);
  // A file of the user's own. InputError: it cannot be read, or is malformed.
  explicit PriceBook(const std::string& path);

  const std::vector<PriceEntry>& entries() const { return entries_; }

  // `gpu`: id. `provider`: empty for all. InputError: no entry; the message has those that there
  // are.
  GpuPrice price(std::string_view gpu, PriceTier tier, std::string_view provider) const;

 private:
  void add(const Node& document);
  // The spread of the logarithms, pooled over the tiers of GPUs that have several entries.
  double usual_spread() const;

  std::vector<PriceEntry> entries_;
  std::string name_;  // for messages: "catalog/prices" or the path
};

}  // namespace orrery
