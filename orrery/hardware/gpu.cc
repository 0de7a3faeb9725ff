#include "orrery/hardware/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/hardware/catalog_file.h"

namespace orrery {
namespace {

constexpr double kKilo = 1e3, kMega = 1e6, kGiga = 1e9, kTera = 1e12, kPeta = 1e15;

std::size_t index(Dtype dtype) { return static_cast<std::size_t>(dtype); }

void declare_memory(Fields& f, GpuMemory& m) {
  f.add("kind", m.kind, "kind of memory");
  f.add("inline_ecc", m.inline_ecc,
        "the check bits of ECC share the chips with the data and cost bandwidth");
  f.add("capacity", m.capacity, "nominal capacity").range(kGiga, 100 * kTera).required();
  f.add("usable", m.usable, "memory that the driver gives to a program").range(kGiga, 100 * kTera);
  f.add("bandwidth", m.bandwidth, "peak bandwidth").range(kGiga, kPeta).required();
}

}  // namespace

void declare(Fields& f, Gpu& g) {
  f.add("id", g.id, "short lower-case name").required();
  f.add("name", g.name, "the maker's name");
  f.add("vendor", g.vendor, "maker").required();
  f.add("architecture", g.architecture.id,
        "chip generation; GPUs of one generation run the same kernels")
      .required();
  f.add("sm_version", g.sm_version, "CUDA compute capability times ten; 0 for other makers")
      .range(0, 999);
  f.add("aliases", g.aliases, "other names of the GPU, on one line");
  f.add("node", g.node, "id of the node type in which it is usually sold");
  f.group("memory", [&g](Fields& m) { declare_memory(m, g.memory); }, "device memory").required();
  f.add("l2", g.l2, "largest cache on the compute dies, or on-die SRAM").range(kKilo, 100 * kGiga);
  f.add("l3", g.l3, "memory-side cache").range(kKilo, 100 * kGiga);
  f.add("compute_units", g.compute_units, "SMs, CUs, Xe cores or TensorCores")
      .range(1, 1'000'000)
      .required();
  f.add("shared_memory", g.shared_memory, "scratchpad of one compute unit").range(kKilo, kGiga);
  f.add("boost_clock", g.boost_clock, "highest clock").range(100 * kMega, 10 * kGiga);
  f.add("peak_clock", g.peak_clock, "clock that the data sheet's peaks imply")
      .range(100 * kMega, 10 * kGiga);
  f.add("power", g.power, "thermal design power").range(1, 100 * kKilo);
  f.add("least_power_limit", g.least_power_limit, "lowest power limit that the board accepts")
      .range(1, 100 * kKilo);
  f.add("dies", g.dies, "devices that software sees in one card").range(1, 64);
  f.group(
       "peak",
       [&g](Fields& p) {
         for (std::size_t i = 0; i < kDtypeCount; ++i) {
           p.add(dtype_names()[i], g.peaks[i], "dense peak").range(kGiga, 1000 * kPeta);
         }
       },
       "dense peak of matrix multiplication by number format")
      .required();
  f.group(
      "achievable",
      [&g](Fields& p) {
        for (std::size_t i = 0; i < kDtypeCount; ++i) {
          p.add(dtype_names()[i], g.achievable[i], "rate of the fastest measured product")
              .range(kGiga, 1000 * kPeta);
        }
      },
      "rate of the fastest matrix product that was measured, by number format");
  f.group(
      "scale_up",
      [&g](Fields& s) {
        s.add("kind", g.scale_up.kind, "name of the link").required();
        s.add("bandwidth", g.scale_up.bandwidth, "bandwidth each way, all links together")
            .range(kGiga, kPeta)
            .required();
      },
      "link to the other GPUs of the node");
  f.group(
      "host_link",
      [&g](Fields& h) {
        h.add("kind", g.host_link.kind, "name of the link")
            .one_of({"pcie3", "pcie4", "pcie5", "pcie6", "nvlink-c2c", "unified"})
            .required();
        h.add("bandwidth", g.host_link.bandwidth, "bandwidth each way").range(kMega, kPeta);
      },
      "link to the host");
  f.add("sources", g.sources, "sources of the figures").required();
  f.add("unsure", g.unsure, "keys of doubtful values");
}

Gpu read_gpu(const Node& document) {
  Gpu g;
  Fields fields;
  declare(fields, g);
  read_catalog_file(document, fields, g.id, g.sources, g.unsure);
  if (g.memory.usable && *g.memory.usable > g.memory.capacity) {
    document.at("memory").at("usable").fail("more than memory.capacity");
  }
  if (std::none_of(g.peaks.begin(), g.peaks.end(), [](const auto& p) { return p.has_value(); })) {
    document.at("peak").fail("at least one peak is needed");
  }
  for (std::size_t i = 0; i < kDtypeCount; ++i) {
    if (g.achievable[i] && !(g.peaks[i] && *g.achievable[i] <= *g.peaks[i]))
      document.at("achievable").at(dtype_names()[i]).fail("more than the peak of the format");
  }
  return g;
}

bool Gpu::supports(Dtype dtype) const { return peaks[index(dtype)].has_value(); }

FlopsPerSecond Gpu::peak(Dtype dtype) const {
  if (const auto& p = peaks[index(dtype)]) return *p;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kDtypeCount; ++i) {
    if (peaks[i]) known.push_back(dtype_names()[i]);
  }
  throw NoData(
      fmt::format("{} has no {} peak (it has {})", id, to_text(dtype), fmt::join(known, ", ")));
}

std::optional<double> Gpu::achievable_share(Dtype dtype) const {
  for (const Dtype d : {dtype, Dtype::kBf16, Dtype::kFp16}) {
    if (const auto& rate = achievable[index(d)]) return *rate / peak(d);
  }
  return std::nullopt;
}

Dtype Gpu::compute_dtype(Dtype storage) const {
  if (supports(storage)) return storage;
  if (storage != Dtype::kFp64 && storage != Dtype::kFp32) {
    if (storage != Dtype::kTf32) {
      if (supports(Dtype::kBf16)) return Dtype::kBf16;
      if (supports(Dtype::kFp16)) return Dtype::kFp16;
    }
    if (supports(Dtype::kFp32)) return Dtype::kFp32;
  }
  throw NoData(fmt::format("{} multiplies neither {} nor a wider format", id, to_text(storage)));
}

Bytes Gpu::usable_memory() const { return memory.usable.value_or(memory.capacity); }

}  // namespace orrery
