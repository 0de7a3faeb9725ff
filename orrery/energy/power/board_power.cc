#include "orrery/energy/power/board_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kBoardsPath = "power/boards.yaml";
// Error of a reading: "accurate to within +/- 5 % of current power draw" (NVML's reference,
// nvmlDeviceGetPowerUsage, of Fermi and Kepler; it says nothing of later GPUs).
constexpr double kReadingError = 0.05;
// The least error of a share that is taken from other boards: few are known, and all are NVIDIA's.
constexpr double kLeastTransferError = 0.15;

// The share of a board that has none of its own.
Estimate<double> transferred(const std::map<std::string, double>& shares) {
  double mean = 0, square = 0;
  for (const auto& [id, share] : shares) mean += std::log(share) / real(shares.size());
  for (const auto& [id, share] : shares) square += std::pow(std::log(share) - mean, 2);
  const double spread = std::sqrt(square / std::max(1.0, real(shares.size()) - 1));
  return {std::exp(mean), std::max(spread, kLeastTransferError), 0, Origin::kTransferred};
}

}  // namespace

BoardPowers::BoardPowers(const Bundle& bundle) {
  const auto file = bundle.find(kBoardsPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kBoardsPath));
  std::string recipe;
  Fields fields;
  fields.add("recipe", recipe, "what was fitted").required();
  fields.add("regulated", regulated_, "share of the limit that a board at its limit draws")
      .range(0.5, 1)
      .required();
  fields.custom(
      "boards", Field::Type::kList,
      [this](const Node& node) {
        for (const Node& item : node.items()) {
          std::string gpu;
          double share = 0;
          Fields f;
          f.add("gpu", gpu, "id of the GPU").required();
          f.add("awake", share, "share of the limit between kernels").range(0.01, 0.9).required();
          f.read(item);
          awake_[gpu] = share;
        }
      },
      [] { return nlohmann::ordered_json(); }, "measured boards");
  const Node document = parse_yaml(file->content, file->name);
  fields.read(document);
  if (awake_.empty()) document.fail("expected at least one board");
}

BoardPowers::BoardPowers(std::map<std::string, double> awake, double regulated)
    : awake_(std::move(awake)), regulated_(regulated) {}

BoardPower BoardPowers::of(const Gpu& gpu) const {
  if (!gpu.power)
    throw NoData(fmt::format("{}: the data sheet states no power (gpu.power)", gpu.id));
  const auto own = awake_.find(gpu.id);
  const Estimate<double> share =
      own == awake_.end() ? transferred(awake_)
                          : Estimate<double>{own->second, kReadingError, 0, Origin::kMeasured};
  return {
      *gpu.power, {*gpu.power * share.value, share.shared, share.own, share.origin}, regulated_};
}

}  // namespace orrery
