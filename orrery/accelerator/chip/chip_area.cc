#include "orrery/accelerator/chip/chip_area.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {
namespace {

struct Process {
  double density;  // million transistors in a square millimetre
  double bit;      // square millimetres of an SRAM cell
};

// Published densities and cells of TSMC's N7, N6 and N5.
Process process_of(const CoreChip& chip) {
  if (chip.process == "5 nm") return {138.2, 1.25e-7};
  if (chip.process == "6 nm") return {114.2, 1.40e-7};
  return {96.3, 1.70e-7};
}

// Millions of transistors of a 64-bit floating-point unit. Narrower ones shrink with the square of
// their mantissa.
constexpr double kFp64Unit = 0.6853, kFp64Mantissa = 52, kFp32Mantissa = 23, kFp16Mantissa = 10;
constexpr double kInt32Unit = 0.17769;
double float_unit(double mantissa) { return kFp64Unit * std::pow(mantissa / kFp64Mantissa, 2); }

// Share of an SRAM array that its cells fill, for 4 KiB, 8 KiB, ... 1 MiB; larger memories are made
// of units of 512 KiB.
constexpr std::array<double, 9> kFilled = {0.076, 0.142, 0.247, 0.393, 0.559,
                                           0.704, 0.526, 0.602, 0.561};
constexpr double kLeastUnit = 4096, kMostUnit = 524288;
double sram(const Process& p, Bytes size) {
  if (size <= Bytes(0)) return 0;
  const double units = std::ceil(size.value() / kMostUnit);
  const double unit = std::max(kLeastUnit, size.value() / units);
  const double step = std::ceil(std::log2(unit / kLeastUnit));
  const auto i = std::min(static_cast<std::size_t>(step), kFilled.size() - 1);
  return units * unit * 8 * p.bit / kFilled[i];
}

// Registers have two read ports and a write port: their cells are taken as twice those of an SRAM.
constexpr double kRegisterCells = 2;

// One memory stack with a 1,024-bit interface of HBM2e, and one link (NVLink 3 of two sub-links, or
// Infinity Fabric of 16 lanes): millions of transistors of the controller, square millimetres of
// the PHY.
constexpr double kStackControl = 552.743, kStackPhy = 10.45;
constexpr double kNvlinkControl = 74.632, kNvlinkPhy = 1.888;
constexpr double kFabricControl = 348.148, kFabricPhy = 5.69;

}  // namespace

ChipArea area_of(const CoreChip& c) {
  const Process p = process_of(c);
  const SystolicUnit& a = c.core.array;
  const double lane =
      real(a.rows) * a.columns * float_unit(kFp16Mantissa) +
      c.core.vector.width * (float_unit(kFp32Mantissa) + kInt32Unit + c.lane_control);
  const double core = (c.core.lanes * lane + c.core_control) / p.density + sram(p, c.core.l1) +
                      kRegisterCells * sram(p, c.core.accumulators);
  const bool fabric = c.link.kind.starts_with("xgmi");
  ChipArea area;
  area.cores = (c.cores + c.disabled_cores) * core;
  area.l2 = sram(p, c.l2);
  area.memory_control = c.memory.stacks * kStackControl / p.density;
  area.memory_phy = c.memory.stacks * kStackPhy;
  area.link_control = c.link.links * (fabric ? kFabricControl : kNvlinkControl) / p.density;
  area.link_phy = c.link.links * (fabric ? kFabricPhy : kNvlinkPhy);
  return area;
}

}  // namespace orrery
