// The inputs of a point of a question about training besides the question itself.
#pragma once

#include <string>

#include "orrery/energy/account/price_book.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/question/account_choice.h"

namespace orrery {

// Everything is borrowed.
struct TrainingSetting {
  const Architecture& model;
  const Gpu& gpu;
  std::string node;  // empty: the GPU's usual one
  const KernelModel& kernels;
  bool breakdown = true;               // fill Point::kernels
  bool timeline = false;               // fill TrainingDetail, event by event
  bool bounds = false;                 // fill Point::bounds
  bool chakra = false;                 // fill Point::files, event by event
  const GpuPrice* price = nullptr;     // null: the cost is not asked for
  const PlantChoice* plant = nullptr;  // null: the plant is not asked for
  PowerKnobs knobs = {};               // of the boards
};

}  // namespace orrery
