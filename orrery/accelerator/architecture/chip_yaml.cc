#include "orrery/accelerator/architecture/chip_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

// Keys that the parts of a chip have in common.
struct Common {
  double clock_hz = 1e9;
  int word_bits = 8;
  double nm = 0;  // 0: no process is given
  const ComponentLibrary* library = nullptr;
};

// The published figures of a part. `find` asks the library.
template <class Find>
ComponentEstimate component_of(const Node& part, const Common& chip, bool process, Find find) {
  const Node& key = part.at("component");
  if (chip.library == nullptr) key.fail("needs the library of components");
  if (process && chip.nm == 0) key.fail("needs the chip's process, such as 'process: 16 nm'");
  try {
    return find(*chip.library);
  } catch (const NoData& e) {
    key.fail(e.what());
  }
}

void set_component(const Node& node, const std::string& kind, int resolution, const Common& chip,
                   StorageLevel& level) {
  for (const char* own : {"read_pj", "write_pj", "read_pj_per_bit", "write_pj_per_bit"}) {
    if (node.find(own) != nullptr) {
      node.at(own).fail("is given beside a component, which has energies; give one");
    }
  }
  const double access_bits = real(level.block) * level.word_bits;
  const bool array = kind == "sram" || kind == "registers";
  const bool toll = kind == "adc" || kind == "mesh" || kind == "package-link";
  if (array && !level.words) node.at("component").fail("needs the capacity of the memory");
  if (toll && level.kind != StorageLevel::Kind::kToll) {
    node.at("component").fail("is no memory: needs 'kind: toll'");
  }
  if (kind == "adc" && resolution == 0) node.at("component").fail("needs its resolution in bits");
  if (kind != "adc" && resolution != 0) node.at("resolution").fail("belongs to an adc");
  const double bits = level.words.value_or(0) * level.word_bits;
  constexpr double kBitsOfByte = 8, kSquareMillimetre = 1e6;  // in square micrometres
  const ComponentEstimate e =
      component_of(node, chip, array || toll, [&](const ComponentLibrary& library) {
        return kind == "sram"        ? library.sram(bits / kBitsOfByte, access_bits, chip.nm)
               : kind == "registers" ? library.registers(access_bits, bits, chip.nm)
               : kind == "adc"       ? library.adc(resolution, chip.nm)
               : toll                ? library.network(kind, access_bits, chip.nm)
                                     : library.dram(kind, access_bits);
      });
  level.energy.read = level.energy.write = level.energy.update = e.pj;
  if (level.area == 0) level.area = e.um2.value_or(0) / kSquareMillimetre;
}

void read_holds(const Node& list, StorageLevel& level) {
  const std::vector<std::string> roles = {"input", "weight", "output"};
  if (!list.is_list()) list.fail("expected a list of roles (input, weight, output)");
  level.holds.emplace();
  for (const Node& role : list.items()) {
    if (std::find(roles.begin(), roles.end(), role.as_string()) == roles.end()) {
      role.fail(fmt::format("expected input, weight or output, got '{}'{}", role.text(),
                            did_you_mean(role.text(), roles)));
    }
    level.holds->push_back(role.as_string());
  }
}

StorageLevel read_level(const Node& node, const Common& chip) {
  const double clock_hz = chip.clock_hz;
  StorageLevel level;
  int word_bits = chip.word_bits, access_bits = 0, resolution = 0;
  std::optional<Bytes> capacity;
  std::optional<BytesPerSecond> shared, read, write;
  std::optional<double> read_pj, write_pj, read_bit, write_bit;
  std::string source, component;
  double leak_w = 0;
  Fields f;
  f.add("name", level.name, "name of the level").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add_enum("kind", level.kind, {"memory", "fan_out", "toll"},
             "memory; carrier of an array alone; charge on what passes");
  f.add("component", component,
        "sram, registers, a kind of DRAM, adc, mesh or package-link, whose published energies "
        "apply")
      .verbatim();
  f.add("resolution", resolution, "of an adc, in bits").range(1, 32);
  f.custom(
      "holds", Field::Type::kList, [&](const Node& n) { read_holds(n, level); }, nothing,
      "roles of the tensors that it is built for (input, weight, output); absent: all");
  f.add("capacity", capacity, "of an instance; absent: unbounded");
  f.add("bandwidth", shared, "of reads and writes together");
  f.add("read_bandwidth", read, "of a port for reads");
  f.add("write_bandwidth", write, "of a port for writes");
  f.add("word_bits", word_bits, "bits of a word there; absent: of the chip").range(1, 1024);
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
  level.word_bits = word_bits;
  if (access_bits == 0) access_bits = word_bits;
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
  if (!component.empty()) set_component(node, component, resolution, chip, level);
  return level;
}

struct ComputeText {
  ComputeArray units;
  std::string level;  // empty: below the last
};

ComputeText read_compute(const Node& node, const Common& chip, bool beside) {
  const double clock_hz = chip.clock_hz;
  ComputeText c;
  std::string source, component;
  Hertz rate(clock_hz);
  double leak_w = 0;
  Fields f;
  f.add("name", c.units.name, "name of the units").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add("component", component, "number format, whose published energies apply").verbatim();
  f.add("rate", rate, "operations a second and unit");
  f.add("pj", c.units.energy, "energy of an operation").unit("pJ").range(0, 1e15);
  f.add("leak_w", leak_w, "leakage of a unit").unit("W").range(0, 1e6);
  f.add("area", c.units.area, "of a unit").unit("mm2").range(0, 1e9);
  if (beside) f.add("level", c.level, "the level that a unit stands below").required();
  f.read(node);
  if (rate.value() <= 0) node.at("rate").fail("expected a rate above 0");
  c.units.rate = rate.value() / clock_hz;
  c.units.leak = leak_w * 1e12 / clock_hz;
  if (component.empty()) return c;
  if (const Node* own = node.find("pj")) {
    own->fail("is given beside a component, which has an energy; give one");
  }
  const ComponentEstimate e = component_of(node, chip, true, [&](const ComponentLibrary& library) {
    return library.multiply_add(component, chip.nm);
  });
  c.units.energy = e.pj;
  if (c.units.area == 0) c.units.area = e.um2.value_or(0) * 1e-6;
  return c;
}

// "16 nm"
double read_process(const Node& node) {
  const std::string& text = node.as_string();
  double nm = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nm);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  if (error != std::errc() || unit != "nm" || nm <= 0) {
    node.fail(fmt::format("expected a process node such as '16 nm', got '{}'", text));
  }
  return nm;
}

}  // namespace

bool is_chip(const Node& document) {
  return document.is_map() && document.find("levels") != nullptr;
}

bool has_components(const Node& root) {
  const auto has = [](const Node& part) {
    return part.is_map() && part.find("component") != nullptr;
  };
  const auto any = [&](const char* list) {
    const Node* parts = root.find(list);
    return parts != nullptr && std::any_of(parts->items().begin(), parts->items().end(), has);
  };
  const Node* compute = root.find("compute");
  return any("levels") || any("beside") || (compute != nullptr && has(*compute));
}

Chip read_chip(const Node& root, const ComponentLibrary* library) {
  Chip chip;
  Hertz clock(1e9);
  int word_bits = 8;
  double nm = 0;
  std::string source;
  const Node *levels = nullptr, *compute = nullptr, *beside = nullptr;
  Fields f;
  f.add("name", chip.name, "name of the chip").required();
  f.add("source", source, "where the numbers are from").verbatim();
  f.add("clock", clock, "clock of levels and compute units");
  f.add("word_bits", word_bits, "bits of a word").range(1, 1024);
  f.custom(
      "process", Field::Type::kText, [&](const Node& n) { nm = read_process(n); }, nothing,
      "process node of components, such as 16 nm");
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
  const Common common{chip.clock_hz, word_bits, nm, library};
  std::vector<std::string> names;
  for (const Node& n : levels->items()) {
    chip.levels.push_back(read_level(n, common));
    const std::string& name = chip.levels.back().name;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      n.fail(fmt::format("a second level named '{}'", name));
    }
    names.push_back(name);
  }
  chip.compute = read_compute(*compute, common, false).units;
  if (beside == nullptr) return chip;
  if (!beside->is_list()) beside->fail("expected a list of compute units");
  for (const Node& n : beside->items()) {
    const ComputeText c = read_compute(n, common, true);
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
