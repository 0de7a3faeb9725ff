#include "orrery/energy/power/board_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr std::string_view kAwakePath = "power/boards.yaml", kIdlePath = "power/idle.yaml";
// Error of a reading of NVML's, by NVIDIA's statement of 5 W or 5 %.
constexpr double kReadingError = 0.05;
// The least error of a share that is taken from other boards: few are known, and all are NVIDIA's.
constexpr double kLeastTransferError = 0.15;

// The share of `point`, from the board itself or as the mean of those that have it.
Estimate<double> share_of(const std::map<std::string, BoardPowers::Board>& boards,
                          const std::string& id,
                          std::optional<double> BoardPowers::Board::* point) {
  if (const auto own = boards.find(id); own != boards.end() && own->second.*point)
    return {*(own->second.*point), kReadingError, 0, Origin::kMeasured};
  std::vector<double> logs;
  for (const auto& [name, board] : boards) {
    if (board.*point) logs.push_back(std::log(*(board.*point)));
  }
  double mean = 0, square = 0;
  for (const double l : logs) mean += l / real(logs.size());
  for (const double l : logs) square += (l - mean) * (l - mean);
  const double spread = std::sqrt(square / std::max(1.0, real(logs.size()) - 1));
  return {std::exp(mean), std::max(spread, kLeastTransferError), 0, Origin::kTransferred};
}

// Declares the list `boards`: the id of a GPU, and what `more` declares of its board.
void add_boards(Fields& fields, std::function<void(Fields&, BoardPowers::Board&)> more,
                std::map<std::string, BoardPowers::Board>& boards) {
  fields.custom(
      "boards", Field::Type::kList,
      [more = std::move(more), &boards](const Node& node) {
        for (const Node& item : node.items()) {
          std::string gpu;
          BoardPowers::Board board;
          Fields f;
          f.add("gpu", gpu, "id of the GPU").required();
          more(f, board);
          f.read(item);
          BoardPowers::Board& held = boards[gpu];
          if (board.idle) held.idle = board.idle;
          if (board.awake) held.awake = board.awake;
        }
      },
      [] { return nlohmann::ordered_json(); }, "measured boards");
}

void read_file(const Bundle& bundle, std::string_view path, const Fields& fields) {
  const auto file = bundle.find(path);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", path));
  fields.read(parse_yaml(file->content, file->name));
}

}  // namespace

BoardPowers::BoardPowers(const Bundle& bundle) {
  std::string recipe;
  Fields fitted;
  fitted.add("recipe", recipe, "what was fitted").required();
  fitted.add("regulated", regulated_, "share of the limit that a board at its limit draws")
      .range(0.5, 1)
      .required();
  add_boards(
      fitted,
      [](Fields& f, BoardPowers::Board& board) {
        f.add("awake", board.awake, "share of the limit between kernels")
            .range(0.01, 0.9)
            .required();
      },
      boards_);
  read_file(bundle, kAwakePath, fitted);
  Fields cited;
  std::string source;
  add_boards(
      cited,
      [&source](Fields& f, BoardPowers::Board& board) {
        f.add("idle", board.idle, "share of the limit without a program")
            .range(0.01, 0.9)
            .required();
        f.add("source", source, "who measured it").required();
      },
      boards_);
  read_file(bundle, kIdlePath, cited);
}

BoardPowers::BoardPowers(std::map<std::string, Board> boards, double regulated)
    : boards_(std::move(boards)), regulated_(regulated) {}

BoardPower BoardPowers::of(const Gpu& gpu) const {
  if (!gpu.power)
    throw NoData(fmt::format("{}: the data sheet states no power (gpu.power)", gpu.id));
  const auto watts = [&](std::optional<double> Board::* point) {
    const Estimate<double> share = share_of(boards_, gpu.id, point);
    return Estimate<Watts>{*gpu.power * share.value, share.shared, share.own, share.origin};
  };
  BoardPower p{*gpu.power, watts(&Board::idle), watts(&Board::awake), regulated_};
  p.idle.value = std::min(p.idle.value, p.awake.value);
  return p;
}

}  // namespace orrery
