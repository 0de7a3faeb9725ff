#include "orrery/energy/power/step_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kStepsPath = "power/steps.yaml";

// A part of `work` as a share of its time, at most 1.
double share_of(Seconds part, Seconds time) {
  return time > Seconds(0) ? std::clamp(part / time, 0.0, 1.0) : 0;
}

void read_boards(const Node& node, StepPowerConstants& out) {
  for (const Node& item : node.items()) {
    std::string gpu;
    StepPowerConstants::Board board;
    Fields f;
    f.add("gpu", gpu, "id of the GPU").required();
    f.add("awake", board.awake, "share of the limit between kernels").range(0.01, 0.9).required();
    f.add("gain", board.gain, "factor on the activity").range(0.1, 10).required();
    f.read(item);
    out.boards[gpu] = board;
  }
}

void read_engines(const Node& node, StepPowerConstants& out) {
  for (const Node& item : node.items()) {
    std::string engine;
    double gain = 1;
    Fields f;
    f.add("engine", engine, "id of the engine").required();
    f.add("gain", gain, "factor on the activity").range(0.1, 10).required();
    f.read(item);
    out.engines[engine] = gain;
  }
}

}  // namespace

StepWork& StepWork::operator+=(const StepWork& more) {
  time += more.time, kernels += more.kernels, links += more.links;
  compute += more.compute, memory += more.memory;
  return *this;
}

StepWork StepWork::scaled(double steps) const {
  return {time * steps, kernels * steps, links * steps, compute * steps, memory * steps};
}

StepWork StepWork::stretched(Seconds to, double share) const {
  const double factor =
      to < time ? to / time : 1 + share * ((to - time) / std::max(time, Seconds(1e-12)));
  return {to, kernels * factor, links * factor, compute, memory};
}

StepPowerConstants::Board StepPowerConstants::board(std::string_view gpu) const {
  const auto own = boards.find(std::string(gpu));
  if (own != boards.end()) return own->second;
  double awake = 0, gain = 0;
  for (const auto& [id, b] : boards) {
    awake += std::log(b.awake) / real(boards.size());
    gain += std::log(b.gain) / real(boards.size());
  }
  return {std::exp(awake), std::exp(gain)};
}

double StepPowerConstants::engine(std::string_view id) const {
  const auto own = engines.find(std::string(id));
  if (own != engines.end()) return own->second;
  double gain = 0;
  for (const auto& [name, g] : engines) gain += std::log(g) / real(engines.size());
  return std::exp(gain);
}

StepPowerConstants read_step_power(const Bundle& bundle) {
  const auto file = bundle.find(kStepsPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kStepsPath));
  StepPowerConstants c;
  std::string recipe;
  Fields f;
  const auto number = [&](const char* name, double& value, const char* what, double most) {
    f.add(name, value, what).range(0, most).required();
  };
  f.add("recipe", recipe, "what was fitted").required();
  number("kernels", c.kernels, "activity of kernels of whatever work", 10);
  number("compute", c.compute, "activity at the peak rate", 10);
  number("compute_exponent", c.compute_exponent, "exponent of the arithmetic", 1);
  number("memory", c.memory, "activity at the bandwidth", 10);
  number("memory_exponent", c.memory_exponent, "exponent of the memory", 1);
  number("links", c.links, "activity of collectives", 10);
  f.add("regulated", c.regulated, "share of the limit that a board at its limit draws")
      .range(0.5, 1)
      .required();
  number("error", c.error, "of a single service", 2);
  number("board_error", c.board_error, "that a GPU without readings adds", 2);
  number("engine_error", c.engine_error, "that an engine without readings adds", 2);
  f.custom(
      "boards", Field::Type::kList, [&c](const Node& node) { read_boards(node, c); },
      [] { return nlohmann::ordered_json(); }, "boards with readings");
  f.custom(
      "engines", Field::Type::kList, [&c](const Node& node) { read_engines(node, c); },
      [] { return nlohmann::ordered_json(); }, "engines with readings");
  const Node document = parse_yaml(file->content, file->name);
  f.read(document);
  if (c.boards.empty() || c.engines.empty())
    document.fail("expected at least one board and one engine");
  return c;
}

std::string step_power_text(const StepPowerConstants& c, const std::string& recipe) {
  std::string text = fmt::format(
      "# Made by `orrery fit energy`: do not edit. Constants of orrery/energy/power/step_power.h.\n"
      "recipe: \"{}\"\nkernels: {:.4f}\ncompute: {:.4f}\ncompute_exponent: {:.4f}\n"
      "memory: {:.4f}\nmemory_exponent: {:.4f}\nlinks: {:.4f}\nregulated: {:.4f}\n"
      "error: {:.3f}\nboard_error: {:.3f}\nengine_error: {:.3f}\nboards:\n",
      recipe, c.kernels, c.compute, c.compute_exponent, c.memory, c.memory_exponent, c.links,
      c.regulated, c.error, c.board_error, c.engine_error);
  for (const auto& [gpu, b] : c.boards)
    text += fmt::format("  - {{gpu: {}, awake: {:.4f}, gain: {:.4f}}}\n", gpu, b.awake, b.gain);
  text += "engines:\n";
  for (const auto& [engine, gain] : c.engines)
    text += fmt::format("  - {{engine: {}, gain: {:.4f}}}\n", engine, gain);
  return text;
}

namespace {

// The shares of the time that the law reads, those of arithmetic and memory with their exponents.
struct Activity {
  Activity(const StepPowerConstants& c, const StepWork& work)
      : kernels(share_of(work.kernels, work.time)),
        compute(std::pow(share_of(work.compute, work.time), c.compute_exponent)),
        memory(std::pow(share_of(work.memory, work.time), c.memory_exponent)),
        links(share_of(work.links, work.time)) {}

  // The share of the limit that the board draws: the softened minimum of the demand and the limit,
  // written so that no exponential overflows.
  double drawn(const StepPowerConstants& c, const StepPowerConstants::Board& board,
               double engine_gain) const {
    const double activity =
        board.gain * engine_gain *
        (c.kernels * kernels + c.compute * compute + c.memory * memory + c.links * links);
    const double demanded = board.awake + (1 - board.awake) * activity;
    const double least = std::min(demanded, c.regulated);
    const double apart = std::abs(demanded - c.regulated);
    return least - kSoftness * std::log1p(std::exp(-apart / kSoftness));
  }

  double kernels, compute, memory, links;
};

}  // namespace

double share_of_limit(const StepPowerConstants& c, const StepPowerConstants::Board& board,
                      double engine_gain, const StepWork& work) {
  return Activity(c, work).drawn(c, board, engine_gain);
}

PowerParts power_parts(const StepPowerConstants& c, const StepPowerConstants::Board& board,
                       double engine_gain, const StepWork& work) {
  const Activity activity(c, work);
  const double scale = (1 - board.awake) * board.gain * engine_gain;
  PowerParts parts{0, scale * c.kernels * activity.kernels, scale * c.compute * activity.compute,
                   scale * c.memory * activity.memory, scale * c.links * activity.links};
  const double active = parts.sum();
  parts.drawn = activity.drawn(c, board, engine_gain);
  const double left = active > 0 ? std::max(0.0, parts.drawn - board.awake) / active : 0;
  for (double* part : {&parts.kernels, &parts.compute, &parts.memory, &parts.links}) *part *= left;
  parts.awake = parts.drawn - parts.sum();
  return parts;
}

PowerDemand step_demand(const StepPowerConstants& c, const StepPowerConstants::Board& board,
                        double engine_gain, const StepWork& work) {
  const auto of = [&](Seconds part) { return share_of(part, work.time); };
  const double scale = (1 - board.awake) * board.gain * engine_gain;
  return {board.awake + scale * (c.memory * std::pow(of(work.memory), c.memory_exponent) +
                                 c.links * of(work.links)),
          scale * c.kernels * of(work.kernels),
          scale * c.compute * std::pow(of(work.compute), c.compute_exponent)};
}

Estimate<Watts> step_power(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                           const StepWork& work) {
  if (!gpu.power)
    throw NoData(fmt::format("{}: the data sheet states no power (gpu.power)", gpu.id));
  const bool board = c.boards.count(gpu.id) != 0;
  const bool known_engine = c.engines.count(std::string(engine)) != 0;
  const double share = share_of_limit(c, c.board(gpu.id), c.engine(engine), work);
  const double unknown = std::hypot(board ? 0 : c.board_error, known_engine ? 0 : c.engine_error);
  return {*gpu.power * share, unknown, c.error,
          board && known_engine ? Origin::kFitted : Origin::kTransferred};
}

double energy_follows_time(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                           const StepWork& work) {
  if (work.time <= Seconds(0)) return 1;
  constexpr double kLonger = 1.05;
  const auto energy = [&](double longer) {
    return longer * share_of_limit(c, c.board(gpu.id), c.engine(engine),
                                   work.stretched(work.time * longer, 1));
  };
  return std::clamp(std::log(energy(kLonger) / energy(1)) / std::log(kLonger), 0.0, 1.0);
}

}  // namespace orrery
