// How far readings of nearly the same call differ: what no model of the call alone can explain.
//
// Two calls are twins if they have one GPU, framework and class, and their utilisations, their time
// and their coordinates on the surface of their family (sizes, usually as binary logarithms) lie
// within kTwinDistance of each other, as a Euclidean distance of binary logarithms. Each call is
// compared with its nearest twin.
#pragma once

#include <memory>
#include <vector>

#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

inline constexpr double kTwinDistance = 0.32;

struct TwinReadings {
  std::size_t calls = 0;  // that have a twin
  double difference = 0;  // mean |log| of the two powers
};

// The twins among the calls whose time is at least `from` and below `to`.
TwinReadings twin_readings(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to);

// The readings themselves in the place of a model, as what they can tell at best: the power of a
// left-out call is the geometric mean of its nearest readings, the nearer the heavier. They are
// calls of its GPU, framework and class that a fit may see, by the distance of twins. Their mean
// holds what ran before them, as the left-out reading does, and says nothing about another GPU.
class NearestReadings {
 public:
  static constexpr std::size_t kReadings = 4;

  explicit NearestReadings(const std::vector<KernelPowerRow>& rows);
  ~NearestReadings();
  NearestReadings(NearestReadings&&) noexcept;
  NearestReadings& operator=(NearestReadings&&) noexcept;

  // 0 where the class has fewer than kReadings readings.
  Watts of(const KernelPowerRow& call) const;

 private:
  struct Classes;
  std::unique_ptr<Classes> classes_;
};

}  // namespace orrery
