#include "orrery/accelerator/chip/core_chip.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kKilo = 1e3, kMega = 1e6, kGiga = 1e9, kTera = 1e12, kPeta = 1e15;
constexpr double kOperationsOfMac = 2;

void declare_memory(Fields& f, CoreChipMemory& m) {
  f.add("kind", m.kind, "kind of memory");
  f.add("capacity", m.capacity, "nominal capacity").range(kMega, 100 * kTera).required();
  f.add("bandwidth", m.bandwidth, "peak bandwidth").range(kMega, kPeta).required();
  f.add("sustained", m.sustained, "share of the peak that a kernel which streams reaches")
      .range(0.01, 1);
  f.add("latency", m.latency, "time from a request to its data").range(0, 1e-3);
  f.add("stacks", m.stacks, "memory stacks at the die's edge, for its area").range(0, 64);
}

void declare_core(Fields& f, CoreChipCore& c) {
  f.add("lanes", c.lanes, "lanes, each with an array and a vector unit").range(1, 4096);
  f.add("l1", c.l1, "local memory for operands").range(kKilo, 100 * kGiga).required();
  f.add("accumulators", c.accumulators, "registers or memory for results").range(kKilo, kTera);
  f.add("l1_bandwidth", c.l1_bandwidth, "from the local memory to the lanes; 0: no bound")
      .range(0, kPeta);
  f.add("elements_in_flight", c.elements_in_flight, "elements of wide rows at a time")
      .range(1, 1e12);
  f.group(
       "array",
       [&c](Fields& a) {
         a.add("rows", c.array.rows, "rows of cells").range(1, 65536).required();
         a.add("columns", c.array.columns, "columns of cells").range(1, 65536).required();
         a.add_enum("dataflow", c.array.dataflow, {"output-stationary", "weight-stationary"},
                    "what stays in the cells");
         a.add("sustained", c.array.sustained, "share of the peak that large products reach")
             .range(0.01, 1);
         a.group(
              "rate",
              [&c](Fields& r) {
                for (std::size_t i = 0; i < kDtypeCount; ++i)
                  r.add(dtype_names()[i], c.array.rates[i], "multiply-adds of a cell and cycle")
                      .range(1e-3, 1e4);
              },
              "multiply-adds of a cell and cycle by number format")
             .required();
       },
       "systolic array of a lane")
      .required();
  f.group(
      "vector",
      [&c](Fields& v) {
        v.add("width", c.vector.width, "elements, each with one operation or multiply-add a cycle")
            .range(1, 65536);
        v.add("exponentials", c.vector.exponentials, "exponentials of the unit in a cycle")
            .range(0.01, 65536);
        v.add("row_registers", c.vector.row_registers, "widest row held in registers")
            .range(1, 1 << 24);
      },
      "vector unit of a lane");
}

void declare_energy(Fields& f, ChipEnergy& e) {
  f.add("memory_pj_per_byte", e.memory, "of device memory").range(0, 1e6).required();
  f.add("l2_pj_per_byte", e.l2, "of the global buffer").range(0, 1e6).required();
  f.add("l1_pj_per_byte", e.l1, "of a local memory").range(0, 1e6).required();
  f.add("multiply_add_pj", e.multiply_add, "of one multiply-add").range(0, 1e6).required();
  f.add("vector_op_pj", e.vector_op, "of one operation of a vector unit").range(0, 1e6).required();
  f.add("idle", e.idle, "drawn all the time").range(0, 1e5);
}

}  // namespace

void declare(Fields& f, CoreChip& c) {
  f.add("kind", c.kind, "what the file describes").one_of({"cores"}).required();
  f.add("id", c.id, "short lower-case name").required();
  f.add("name", c.name, "full name");
  f.add("vendor", c.vendor, "maker whose engines run on the chip");
  f.add("node", c.node, "id of the node type in which the chips are usually joined");
  f.add("clock", c.clock, "clock of the cores").range(kMega, 100 * kGiga).required();
  f.add("cores", c.cores, "cores in use").range(1, 1'000'000).required();
  f.group("memory", [&c](Fields& m) { declare_memory(m, c.memory); }, "device memory").required();
  f.add("l2", c.l2, "global buffer").range(kKilo, 100 * kGiga).required();
  f.add("l2_bandwidth", c.l2_bandwidth, "of the global buffer to all cores together")
      .range(kMega, 1000 * kPeta)
      .required();
  f.group("core", [&c](Fields& m) { declare_core(m, c.core); }, "one core").required();
  f.add("kernel_floor", c.kernel_floor, "time of the smallest kernel").range(0, 1);
  f.add("wave_start", c.wave_start, "of every wave of a product's tiles").range(0, 1);
  f.group(
      "launch",
      [&c](Fields& l) {
        l.add("gemm", c.launch.gemm, "of a product").range(0, 1);
        l.add("softmax", c.launch.softmax, "of a softmax").range(0, 1);
        l.add("norm", c.launch.norm, "of a norm").range(0, 1);
        l.add("gelu", c.launch.gelu, "of elementwise work").range(0, 1);
      },
      "what a host adds to an operator that it launches alone and waits for");
  f.group(
      "link",
      [&c](Fields& l) {
        l.add("kind", c.link.kind, "name of the link");
        l.add("bandwidth", c.link.bandwidth, "each way, all links together")
            .range(kMega, kPeta)
            .required();
        l.add("sustained", c.link.sustained, "share that large messages reach").range(0.01, 1);
        l.add("latency", c.link.latency, "of one step of a ring").range(0, 1);
        l.add("start", c.link.start, "of one collective").range(0, 1);
        l.add("links", c.link.links, "number of links, for the die's area").range(0, 1024);
      },
      "links to other chips");
  c.energy.emplace();
  f.group("energy", [&c](Fields& e) { declare_energy(e, *c.energy); }, "energy of one action");
  f.add("power", c.power, "thermal design power").range(0.001, 1e5);
  f.add("process", c.process, "process of the die").one_of({"7 nm", "6 nm", "5 nm"});
  f.add("disabled_cores", c.disabled_cores, "cores on the die that are not used").range(0, 1000000);
  f.add("core_control", c.core_control, "millions of transistors that join a core to the L2")
      .range(0, 1e6);
  f.add("lane_control", c.lane_control, "millions of transistors that control a vector element")
      .range(0, 1e6);
  f.add("sources", c.sources, "sources of the figures").required();
}

bool is_core_chip(const Node& document) {
  const Node* kind = document.find("kind");
  return kind != nullptr && kind->is_scalar() && kind->text() == "cores";
}

CoreChip read_core_chip(const Node& document) {
  CoreChip c;
  Fields fields;
  declare(fields, c);
  fields.read(document);
  if (document.find("energy") == nullptr) c.energy.reset();
  if (c.sources.empty()) document.at("sources").fail("at least one source is needed");
  const auto& rates = c.core.array.rates;
  if (std::none_of(rates.begin(), rates.end(), [](const auto& r) { return r.has_value(); }))
    document.at("core").at("array").at("rate").fail("at least one number format is needed");
  if (c.core.accumulators <= Bytes(0)) c.core.accumulators = c.core.l1;
  if (c.name.empty()) c.name = c.id;
  return c;
}

std::optional<CoreChip> find_core_chip(std::string_view name, const Bundle& bundle) {
  const bool path = name.find('/') != std::string_view::npos || name.ends_with(".yaml") ||
                    name.ends_with(".yml") || name.ends_with(".json");
  if (path) {
    const Node document = read_document(std::string(name));
    if (!is_core_chip(document)) return {};
    return read_core_chip(document);
  }
  const std::string wanted = canonical_name(name);
  const auto file = bundle.find(fmt::format("accelerators/{}.yaml", wanted));
  if (!file) return {};
  const Node document = parse_yaml(file->content, file->name);
  if (!is_core_chip(document)) return {};
  return read_core_chip(document);
}

FlopsPerSecond CoreChip::peak(Dtype dtype) const {
  const auto& rate = core.array.rates[index(dtype)];
  if (!rate) return FlopsPerSecond(0);
  const double cells = real(core.array.rows) * core.array.columns * core.lanes * cores;
  return FlopsPerSecond(kOperationsOfMac * *rate * cells * clock.value());
}

double CoreChip::operations_per_second() const {
  return real(core.vector.width) * core.lanes * cores * clock.value();
}

FlopsPerSecond CoreChip::vector_peak() const {
  return FlopsPerSecond(kOperationsOfMac * operations_per_second());
}

double CoreChip::exponentials_per_second() const {
  return core.vector.exponentials * core.lanes * cores * clock.value();
}

Gpu data_sheet(const CoreChip& c) {
  Gpu g;
  g.id = c.id;
  g.name = c.name;
  g.vendor = c.vendor;
  g.architecture.id = g.architecture.kernels = "chip:" + c.id;
  g.node = c.node;
  g.memory.kind = c.memory.kind;
  g.memory.capacity = c.memory.capacity;
  g.memory.bandwidth = c.memory.bandwidth;
  g.l2 = c.l2;
  g.compute_units = c.cores;
  g.shared_memory = c.core.l1;
  g.boost_clock = g.peak_clock = c.clock;
  g.power = c.power;
  for (std::size_t i = 0; i < kDtypeCount; ++i) {
    const FlopsPerSecond peak = c.peak(static_cast<Dtype>(i));
    if (peak > FlopsPerSecond(0)) g.peaks[i] = peak;
  }
  if (!g.peaks[index(Dtype::kFp32)]) g.peaks[index(Dtype::kFp32)] = c.vector_peak();
  if (c.link.bandwidth > BytesPerSecond(0)) {
    g.scale_up.kind = c.link.kind;
    g.scale_up.bandwidth = c.link.bandwidth;
  }
  g.sources = c.sources;
  return g;
}

}  // namespace orrery
