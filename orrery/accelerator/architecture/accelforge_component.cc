#include "orrery/accelerator/architecture/accelforge_component.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr double kPicojoules = 1e12;        // of a joule
constexpr double kSquareMillimetres = 1e6;  // of a square metre

// An action: energy in joules, seconds of one, and the bits that it moves.
struct ActionText {
  double energy = 0, seconds = 0, bits = 1;
};

double positive(const Node& node, const ExpressionNames& names) {
  const double value = evaluate_number(node, names);
  if (value < 0) node.fail(fmt::format("expected a value of at least 0, got {:g}", value));
  return value;
}

double scale(const Node& node, const char* key, const ExpressionNames& names) {
  const Node* factor = node.find(key);
  return factor == nullptr ? 1 : positive(*factor, names);
}

bool is_dummy(const Node& component) {
  const Node* name = component.find("component_class");
  if (name == nullptr) return false;
  std::string text = name->as_string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == "dummy";
}

[[noreturn]] void refuse_missing(const Node& at, const std::string& what, const Node& component) {
  const Node* name = component.find("component_class");
  at.fail(name == nullptr
              ? fmt::format("{} is missing", what)
              : fmt::format("{} is missing, and models of components such as '{}' are not read: "
                            "give the value",
                            what, name->as_string()));
}

const Node* find_action(const Node& component, const std::string& name) {
  const Node* actions = component.find("actions");
  if (actions == nullptr) return nullptr;
  if (!actions->is_list()) actions->fail("expected a list of actions");
  for (const Node& a : actions->items()) {
    const Node* given = a.find("name");
    if (given != nullptr && given->as_string() == name) return &a;
  }
  return nullptr;
}

ActionText read_action(const Node& component, const std::string& name,
                       const ExpressionNames& names) {
  static const std::string kKeys[] = {"name",
                                      "energy",
                                      "energy_scale",
                                      "latency",
                                      "latency_scale",
                                      "throughput",
                                      "throughput_scale",
                                      "bits_per_action",
                                      "extra_attributes_for_component_model"};
  const Node* action = find_action(component, name);
  if (action == nullptr && !is_dummy(component)) {
    refuse_missing(component, fmt::format("the action {}", name), component);
  }
  ActionText a;
  if (const Node* bits = component.find("bits_per_action")) a.bits = positive(*bits, names);
  if (action == nullptr) return a;
  require_keys(*action, kKeys);
  if (const Node* bits = action->find("bits_per_action")) a.bits = positive(*bits, names);
  if (a.bits < 1 || a.bits > 1 << 20 || a.bits != std::floor(a.bits)) {
    action->fail("expected bits_per_action from 1 to 2^20");
  }
  if (const Node* energy = action->find("energy")) {
    a.energy = positive(*energy, names) * scale(component, "energy_scale", names) *
               scale(*action, "energy_scale", names);
  } else if (!is_dummy(component)) {
    refuse_missing(*action, "energy", component);
  }
  const Node* latency = action->find("latency");
  const Node* throughput = action->find("throughput");
  if (throughput != nullptr) {
    const double rate = positive(*throughput, names) * scale(*action, "throughput_scale", names);
    if (rate == 0) throughput->fail("expected more than 0");
    a.seconds = 1 / rate;
  } else if (latency != nullptr) {
    a.seconds = positive(*latency, names);
  } else if (!is_dummy(component)) {
    refuse_missing(*action, "latency", component);
  }
  a.seconds *= scale(component, "latency_scale", names) * scale(*action, "latency_scale", names);
  a.seconds /= std::max(1.0, scale(component, "n_parallel_instances", names));
  if (!std::isfinite(a.seconds) || !std::isfinite(a.energy)) {
    action->fail("expected finite energies and latencies");
  }
  return a;
}

// Whether reads and writes have ports of their own.
bool separate_ports(const Node& node) {
  bool separate = false;
  if (const Node* ports = node.find("separate_read_write_ports")) separate = ports->as_bool();
  const Node* total = node.find("total_latency");
  if (total == nullptr) return separate;
  std::string text;
  for (const char c : total->as_string()) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) text += c;
  }
  if (text == "max(read_latency,write_latency)") return true;
  if (text == "sum(*action2latency.values())" || text == "read_latency+write_latency") return false;
  total->fail(
      "expected max(read_latency, write_latency), or read_latency + write_latency; give "
      "other latencies to the actions");
}

double leak_of(const Node& node, double clock_hz, const ExpressionNames& names) {
  const Node* leak = node.find("leak_power");
  if (leak == nullptr) return 0;
  return positive(*leak, names) * scale(node, "leak_power_scale", names) *
         scale(node, "n_parallel_instances", names) * kPicojoules / clock_hz;
}

double area_of(const Node& node, const ExpressionNames& names) {
  const Node* area = node.find("area");
  if (area == nullptr) return 0;
  return positive(*area, names) * scale(node, "area_scale", names) *
         scale(node, "n_parallel_instances", names) * kSquareMillimetres;
}

void read_ports(const Node& node, const ActionText& read, const ActionText& write, double clock_hz,
                StorageLevel& level) {
  const auto bits_a_cycle = [&](const ActionText& a) { return a.bits / a.seconds / clock_hz; };
  const bool alone = read.seconds == 0 || write.seconds == 0 || separate_ports(node);
  if (!alone) {
    const double r = bits_a_cycle(read), w = bits_a_cycle(write);
    if (std::abs(r - w) > 1e-9 * r) {
      node.fail("reads and writes of a shared port are expected to take the same time a bit");
    }
    level.shared_bandwidth = r;
    return;
  }
  if (read.seconds > 0) level.read_bandwidth = bits_a_cycle(read);
  if (write.seconds > 0) level.write_bandwidth = bits_a_cycle(write);
}

void read_scales(const Node& node, const ExpressionNames& names, StorageLevel& level) {
  const Node* scales = node.find("bits_per_value_scale");
  if (scales == nullptr) return;
  if (!scales->is_map()) scales->fail("expected a map of sets to factors");
  for (std::size_t i = 0; i < scales->keys().size(); ++i) {
    const Node& value = scales->items()[i];
    const double factor = positive(value, names);
    if (factor <= 0 || factor > 1024) value.fail("expected a factor of 0 to 1024");
    for (const std::string& tensor : evaluate_set(scales->keys()[i], value, names)) {
      level.widths.push_back({tensor, factor});
    }
  }
}

}  // namespace

std::span<const std::string> accelforge_component_keys() {
  static const std::string kKeys[] = {"kind",
                                      "name",
                                      "component_class",
                                      "size",
                                      "actions",
                                      "spatial",
                                      "tensors",
                                      "enabled",
                                      "area",
                                      "area_scale",
                                      "leak_power",
                                      "leak_power_scale",
                                      "energy_scale",
                                      "latency_scale",
                                      "total_latency",
                                      "n_parallel_instances",
                                      "bits_per_action",
                                      "bits_per_value_scale",
                                      "separate_read_write_ports",
                                      "support_concurrent_binding",
                                      "direction",
                                      "extra_attributes_for_component_model"};
  return kKeys;
}

StorageLevel read_accelforge_memory(const Node& node, bool toll, double clock_hz,
                                    const ExpressionNames& names) {
  StorageLevel level;
  level.name = node.at("name").as_string();
  level.kind = toll ? StorageLevel::Kind::kToll : StorageLevel::Kind::kMemory;
  level.word_bits = 1;
  const ActionText read = read_action(node, "read", names);
  const ActionText write = toll ? ActionText{0, 0, read.bits} : read_action(node, "write", names);
  level.block = static_cast<int>(read.bits);
  level.energy.read = read.energy * kPicojoules;
  level.energy.write = write.energy * kPicojoules * read.bits / write.bits;
  level.energy.update = level.energy.write;
  level.energy.leak = leak_of(node, clock_hz, names);
  level.area = area_of(node, names);
  read_ports(node, read, write, clock_hz, level);
  read_scales(node, names, level);
  if (toll) {
    if (const Node* way = node.find("direction"); way != nullptr && way->text() != "up_and_down") {
      way->fail("only tolls of both directions (up_and_down) are read");
    }
    return level;
  }
  const double size = positive(node.at("size"), names);
  if (std::isfinite(size)) level.words = size;
  return level;
}

ComputeArray read_accelforge_compute(const Node& node, double clock_hz,
                                     const ExpressionNames& names) {
  ComputeArray units;
  units.name = node.at("name").as_string();
  if (const Node* total = node.find("total_latency")) {
    total->fail("give the latency to the action compute");
  }
  const ActionText action = read_action(node, "compute", names);
  // Units that take no time have a rate beyond any memory's.
  constexpr double kInstant = 1e15;
  units.energy = action.energy * kPicojoules;
  units.rate = action.seconds > 0 ? 1 / action.seconds / clock_hz : kInstant;
  units.leak = leak_of(node, clock_hz, names);
  units.area = area_of(node, names);
  return units;
}

}  // namespace orrery
