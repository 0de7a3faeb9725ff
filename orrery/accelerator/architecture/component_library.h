// Energy and area of the parts of a chip, from published tables (catalog/accelerators/
// components.yaml, with a source beside each figure).
//
//   SRAM        energy of an access over its capacity, interpolated between the published sizes on
//               logarithmic scales, proportional to the bits of the access
//   registers   energy and area of a bit
//   DRAM        energy of a bit, by kind
//   multiply-add  by number format
//   ADC         energy of a conversion, doubled for each bit of resolution (Walden's rule)
//   wire        energy of a bit and millimetre
//   network     energy of a bit that a mesh of routers or a link in a package delivers
//
// Between two process nodes with published figures a figure is interpolated on logarithmic scales.
// Beyond them it is scaled by the energy of logic (Stillmaker and Baas 2017), between 7 and 130 nm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct ComponentEstimate {
  double pj = 0;              // of an access or operation
  std::optional<double> um2;  // absent: no published area
  std::string source;
};

class ComponentLibrary {
 public:
  // InputError: the facts file is malformed.
  explicit ComponentLibrary(const Bundle& bundle);

  // Each is NoData with the known kinds, formats or nodes if there is no figure.
  ComponentEstimate sram(double bytes, double access_bits, double nm) const;
  ComponentEstimate registers(double access_bits, double bits, double nm) const;
  ComponentEstimate dram(const std::string& kind, double access_bits) const;
  ComponentEstimate multiply_add(const std::string& format, double nm) const;

  // `resolution` is in bits, from 4 to 10.
  ComponentEstimate adc(int resolution, double nm) const;
  ComponentEstimate wire(double bits, double millimetres, double nm) const;
  // `kind` is mesh or package-link.
  ComponentEstimate network(const std::string& kind, double bits, double nm) const;

  // Energy of logic at `to` nanometres in units of that at `from`.
  double logic_energy_ratio(double from, double to) const;

 private:
  struct Node {
    double nm = 0, energy = 0;
  };
  struct Point {
    double nm = 0, pj = 0;
    std::optional<double> um2;
    std::string source;
  };
  struct SramTable {
    double nm = 0;
    std::vector<std::pair<double, double>> points;  // KiB and picojoules
    std::string source;
  };
  struct Named {
    std::string name;
    Point point;
  };
  struct Converter {
    int bits = 0;
    Point point;
  };
  double logic_energy(double nm) const;
  ComponentEstimate at_node(std::vector<Point> points, double nm) const;

  std::vector<Node> nodes_;  // falling
  std::vector<SramTable> sram_;
  std::vector<Point> registers_;
  std::vector<Named> dram_, mac_, network_;
  std::vector<Converter> adc_;
  std::vector<Point> wire_;
};

}  // namespace orrery
