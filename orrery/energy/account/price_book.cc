#include "orrery/energy/account/price_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/index.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr const char* kFolder = "prices";

bool same_name(std::string_view a, std::string_view b) {
  return canonical_name(a) == canonical_name(b);
}

void declare(Fields& f, PriceEntry& e) {
  const auto owned = [&e] { return e.tier == PriceTier::kOwned; };
  f.add("gpu", e.gpu, "id of the GPU").required();
  f.add_enum("tier", e.tier, price_tier_names(), "how it is paid for").required();
  f.add("provider", e.provider, "who asks this price");
  f.add("price", e.price, "USD for an hour of one GPU; of an owned one, to buy it")
      .range(0, 1e7)
      .required();
  f.add("date", e.date, "when it was asked").required();
  f.add("source", e.source, "where it can be read").required();
  f.add("preemptions_per_day", e.preemptions_per_day, "how often a machine is taken away, in a day")
      .range(0, 1e4)
      .needs("tier spot", [&e] { return e.tier == PriceTier::kSpot; });
  f.add("years", e.years, "time in which it is paid off").range(0.1, 50).needs("tier owned", owned);
  f.add("utilisation", e.utilisation, "share of the hours in which it is used")
      .range(0.01, 1)
      .needs("tier owned", owned);
  f.add("electricity", e.electricity, "USD for a kWh").range(0, 100).needs("tier owned", owned);
  f.add("pue", e.pue, "power of its data centre over that of its computers")
      .range(1, 10)
      .needs("tier owned", owned);
}

PriceEntry read_entry(const Node& node) {
  PriceEntry e;
  Fields fields;
  declare(fields, e);
  fields.read(node);
  if (e.tier == PriceTier::kOwned) node.at("years"), node.at("electricity");
  return e;
}

double deviation(const std::vector<double>& logarithms) {
  if (logarithms.size() < 2) return 0;
  const double n = real(logarithms.size());
  double mean = 0, squares = 0;
  for (const double x : logarithms) mean += x / n;
  for (const double x : logarithms) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / (n - 1));
}

std::string span(const std::set<std::string>& dates) {
  return dates.size() == 1 ? *dates.begin()
                           : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
}

}  // namespace

const std::vector<std::string>& price_tier_names() {
  static const std::vector<std::string> names = {"on_demand", "reserved", "spot", "owned"};
  return names;
}

Usd PriceEntry::hour() const {
  return Usd(tier == PriceTier::kOwned ? price / (years * kHoursOfYear * utilisation) : price);
}

PriceBook::PriceBook(const Bundle& bundle) : name_(fmt::format("catalog/{}", kFolder)) {
  for (const std::string& path : bundle.list(kFolder, ".yaml")) {
    const Bundle::File file = *bundle.find(path);
    add(parse_yaml(file.content, file.name));
  }
}

PriceBook::PriceBook(const std::string& path) : name_(path) {
  add(read_document(path));
  if (entries_.empty()) throw InputError(fmt::format("{}: expected at least one price", path));
}

void PriceBook::add(const Node& document) {
  Fields fields;
  fields
      .custom(
          "prices", Field::Type::kList,
          [this](const Node& list) {
            if (!list.is_list()) list.fail("expected a list of prices");
            for (const Node& item : list.items()) entries_.push_back(read_entry(item));
          },
          [] { return nlohmann::ordered_json(); }, "the prices")
      .required();
  fields.read(document);
}

double PriceBook::usual_spread() const {
  std::map<std::pair<std::string, PriceTier>, std::vector<double>> alike;
  for (const PriceEntry& e : entries_) {
    if (e.price > 0) alike[{e.gpu, e.tier}].push_back(std::log(e.hour().value()));
  }
  double squares = 0, freedom = 0;
  for (const auto& [gpu, logarithms] : alike) {
    const double n = real(logarithms.size()) - 1;
    squares += n * std::pow(deviation(logarithms), 2);
    freedom += n;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 0;
}

GpuPrice PriceBook::price(std::string_view gpu, PriceTier tier, std::string_view provider) const {
  const std::string& tier_name = price_tier_names()[index(tier)];
  std::vector<const PriceEntry*> found;
  std::vector<std::string> providers;
  std::set<std::string> tiers, gpus;
  for (const PriceEntry& e : entries_) {
    if (e.tier == tier) gpus.insert(e.gpu);
    if (!same_name(e.gpu, gpu)) continue;
    tiers.insert(price_tier_names()[index(e.tier)]);
    if (e.tier != tier) continue;
    if (std::find(providers.begin(), providers.end(), e.provider) == providers.end())
      providers.push_back(e.provider);
    if (provider.empty() || same_name(e.provider, provider)) found.push_back(&e);
  }
  if (found.empty() && !providers.empty()) {
    throw InputError(fmt::format("cost.provider: {} has no price {} of {} by '{}'{}; it has: {}",
                                 name_, tier_name, gpu, provider, did_you_mean(provider, providers),
                                 fmt::join(providers, ", ")));
  }
  if (found.empty() && !tiers.empty()) {
    throw InputError(fmt::format("cost.tier: {} has no price {} of {}; it has: {}", name_,
                                 tier_name, gpu, fmt::join(tiers, ", ")));
  }
  if (found.empty()) {
    throw InputError(fmt::format(
        "cost.tier: {} has no price of {}; state one by cost.price (--price), or in a book of your "
        "own by cost.price_book (--price-book). Prices {} are known of: {}",
        name_, gpu, tier_name, gpus.empty() ? "no GPU" : fmt::format("{}", fmt::join(gpus, ", "))));
  }
  std::vector<double> hours, logarithms;
  std::set<std::string> dates;
  for (const PriceEntry* e : found) {
    hours.push_back(e->hour().value());
    if (e->price > 0) logarithms.push_back(std::log(hours.back()));
    dates.insert(e->date);
  }
  const bool several = found.size() > 1;
  double spread = deviation(logarithms);
  if (!several && provider.empty()) spread = usual_spread();
  GpuPrice out;
  out.hour = {Usd(quantile(hours, 0.5)), 0, spread, Origin::kMeasured};
  const auto [least, most] = std::minmax_element(hours.begin(), hours.end());
  out.note = fmt::format("price: {:.4g} USD for a GPU-hour of {}, {}", out.hour.value.value(), gpu,
                         tier_name);
  if (several) {
    out.note +=
        fmt::format(", the median of {} prices from {:.4g} to {:.4g}", found.size(), *least, *most);
  } else if (!found.front()->provider.empty()) {
    out.note += fmt::format(" at {}", found.front()->provider);
  }
  out.note += fmt::format(" ({}; {})", span(dates), name_);
  if (tier == PriceTier::kSpot) {
    std::vector<double> rates;
    for (const PriceEntry* e : found)
      if (e->preemptions_per_day) rates.push_back(*e->preemptions_per_day);
    if (!rates.empty()) out.preemptions_per_day = quantile(rates, 0.5);
    out.note += rates.empty() ? "; how often machines are taken away is not known, and not counted"
                              : fmt::format("; a machine is taken away {:.3g} times a day",
                                            *out.preemptions_per_day);
  }
  if (tier == PriceTier::kOwned) {
    std::vector<double> electricity, pues;
    for (const PriceEntry* e : found) {
      electricity.push_back(e->electricity);
      if (e->pue) pues.push_back(*e->pue);
    }
    out.electricity = {quantile(electricity, 0.5), {}};
    if (!pues.empty()) out.electricity->pue = quantile(pues, 0.5);
    const PriceEntry& e = *found.front();
    if (!several)
      out.note += fmt::format("; {:.0f} USD over {:.3g} years, in use for {:.3g} % of the hours",
                              e.price, e.years, 100 * e.utilisation);
  }
  return out;
}

}  // namespace orrery
