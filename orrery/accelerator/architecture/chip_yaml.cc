#include "orrery/accelerator/architecture/chip_yaml.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr std::size_t kMostLevels = 32;
constexpr std::size_t kMostAxes = 8;

nlohmann::ordered_json nothing() { return {}; }

ArrayAxis read_axis(const Node& node) {
  ArrayAxis axis;
  Fields f;
  f.add("name", axis.name, "name of the axis").required();
  f.add("size", axis.size, "instances along it").range(1, 1 << 20).required();
  f.custom(
      "shared", Field::Type::kList,
      [&](const Node& n) {
        if (!n.is_list()) n.fail("expected a list of tensors or roles (input, weight, output)");
        axis.shared.emplace();
        for (const Node& name : n.items()) axis.shared->push_back(name.as_string());
      },
      nothing, "tensors or roles that are multicast and added along it; absent: all");
  f.read(node);
  return axis;
}

void read_array(const Node& list, std::vector<ArrayAxis>& array) {
  if (!list.is_list() || list.items().size() > kMostAxes) {
    list.fail(fmt::format("expected a list of at most {} axes", kMostAxes));
  }
  for (const Node& n : list.items()) array.push_back(read_axis(n));
}

void read_widths(const Node& map, std::vector<TensorWidth>& widths) {
  if (!map.is_map()) map.fail("expected a map of tensors or roles to factors");
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const double factor = map.items()[i].as_double();
    if (factor <= 0 || factor > 1024) map.items()[i].fail("expected a factor of 0 to 1024");
    widths.push_back({map.keys()[i], factor});
  }
}

// Picojoules of one access: given so, or for a bit.
double access_energy(const Node& level, const char* key, std::optional<double> pj,
                     std::optional<double> pj_per_bit, double access_bits) {
  if (pj && pj_per_bit) level.at(key).fail("is given for an access and for a bit; give one");
  return pj ? *pj : pj_per_bit.value_or(0) * access_bits;
}

StorageLevel read_level(const Node& node, double clock_hz, int word_bits) {
  StorageLevel level;
  level.word_bits = word_bits;
  std::optional<Bytes> capacity;
  std::optional<BytesPerSecond> shared, read, write;
  std::optional<double> read_pj, write_pj, read_bit, write_bit;
  std::string source;
  int access_bits = word_bits;
  double leak_w = 0;
  Fields f;
  f.add("name", level.name, "name of the level").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add_enum("kind", level.kind, {"memory", "fan_out", "toll"},
             "memory; carrier of an array alone; charge on what passes");
  f.add("capacity", capacity, "of an instance; absent: unbounded");
  f.add("bandwidth", shared, "of reads and writes together");
  f.add("read_bandwidth", read, "of a port for reads");
  f.add("write_bandwidth", write, "of a port for writes");
  f.add("access_bits", access_bits, "bits of an access, a multiple of word_bits").range(1, 1 << 20);
  f.add("read_pj", read_pj, "energy of an access that reads").unit("pJ").range(0, 1e15);
  f.add("write_pj", write_pj, "energy of an access that writes").unit("pJ").range(0, 1e15);
  f.add("read_pj_per_bit", read_bit, "energy of a bit read").unit("pJ").range(0, 1e15);
  f.add("write_pj_per_bit", write_bit, "energy of a bit written").unit("pJ").range(0, 1e15);
  f.add("leak_w", leak_w, "leakage of an instance").unit("W").range(0, 1e6);
  f.add("area", level.area, "of an instance").unit("mm2").range(0, 1e9);
  f.custom(
      "widths", Field::Type::kGroup, [&](const Node& n) { read_widths(n, level.widths); }, nothing,
      "tensors or roles with wider elements here, and the factor");
  f.custom(
      "array", Field::Type::kList, [&](const Node& n) { read_array(n, level.array); }, nothing,
      "the array below an instance");
  f.read(node);
  if (access_bits % word_bits != 0) {
    node.at("access_bits").fail(fmt::format("expected a multiple of word_bits ({})", word_bits));
  }
  if (shared && (read || write)) {
    node.at("bandwidth").fail("is of a port for both; read_bandwidth, write_bandwidth are of two");
  }
  level.block = access_bits / word_bits;
  const double bits_a_cycle = 8 / clock_hz / word_bits;
  if (capacity) level.words = capacity->value() * 8 / word_bits;
  if (shared) level.shared_bandwidth = shared->value() * bits_a_cycle;
  if (read) level.read_bandwidth = read->value() * bits_a_cycle;
  if (write) level.write_bandwidth = write->value() * bits_a_cycle;
  level.energy.read = access_energy(node, "read_pj", read_pj, read_bit, access_bits);
  level.energy.write = access_energy(node, "write_pj", write_pj, write_bit, access_bits);
  level.energy.update = level.energy.write;
  level.energy.leak = leak_w * 1e12 / clock_hz;
  return level;
}

struct ComputeText {
  ComputeArray units;
  std::string level;  // empty: below the last
};

ComputeText read_compute(const Node& node, double clock_hz, bool beside) {
  ComputeText c;
  std::string source;
  Hertz rate(clock_hz);
  double leak_w = 0;
  Fields f;
  f.add("name", c.units.name, "name of the units").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add("rate", rate, "operations a second and unit");
  f.add("pj", c.units.energy, "energy of an operation").unit("pJ").range(0, 1e15);
  f.add("leak_w", leak_w, "leakage of a unit").unit("W").range(0, 1e6);
  f.add("area", c.units.area, "of a unit").unit("mm2").range(0, 1e9);
  if (beside) f.add("level", c.level, "the level that a unit stands below").required();
  f.read(node);
  if (rate.value() <= 0) node.at("rate").fail("expected a rate above 0");
  c.units.rate = rate.value() / clock_hz;
  c.units.leak = leak_w * 1e12 / clock_hz;
  return c;
}

}  // namespace

Chip read_chip(const Node& root) {
  Chip chip;
  Hertz clock(1e9);
  int word_bits = 8;
  std::string source;
  const Node *levels = nullptr, *compute = nullptr, *beside = nullptr;
  Fields f;
  f.add("name", chip.name, "name of the chip").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add("clock", clock, "clock of levels and compute units");
  f.add("word_bits", word_bits, "bits of a word").range(1, 1024);
  f.custom(
       "levels", Field::Type::kList, [&](const Node& n) { levels = &n; }, nothing,
       "memories and arrays, outermost first")
      .required();
  f.custom(
       "compute", Field::Type::kGroup, [&](const Node& n) { compute = &n; }, nothing,
       "the units below the last level")
      .required();
  f.custom(
      "beside", Field::Type::kList, [&](const Node& n) { beside = &n; }, nothing,
      "compute units of further kinds");
  f.read(root);
  chip.clock_hz = clock.value();
  if (chip.clock_hz <= 0) root.at("clock").fail("expected a clock above 0");
  if (!levels->is_list() || levels->items().empty() || levels->items().size() > kMostLevels) {
    levels->fail(fmt::format("expected a list of 1 to {} levels", kMostLevels));
  }
  std::vector<std::string> names;
  for (const Node& n : levels->items()) {
    chip.levels.push_back(read_level(n, chip.clock_hz, word_bits));
    const std::string& name = chip.levels.back().name;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      n.fail(fmt::format("a second level named '{}'", name));
    }
    names.push_back(name);
  }
  chip.compute = read_compute(*compute, chip.clock_hz, false).units;
  if (beside == nullptr) return chip;
  if (!beside->is_list()) beside->fail("expected a list of compute units");
  for (const Node& n : beside->items()) {
    const ComputeText c = read_compute(n, chip.clock_hz, true);
    const auto level = std::find(names.begin(), names.end(), c.level);
    if (level == names.end()) {
      n.at("level").fail(
          fmt::format("no level named '{}'{}", c.level, did_you_mean(c.level, names)));
    }
    chip.beside.push_back({c.units, static_cast<int>(level - names.begin())});
  }
  return chip;
}

}  // namespace orrery
