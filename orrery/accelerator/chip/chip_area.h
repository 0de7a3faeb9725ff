// The area of a chip's die, from counts of transistors.
//
// Logic is transistors over the density of the process, memories are bits over the density of a
// cell and the share of an array that cells fill. What drives pins (memory and link PHYs) does not
// shrink with the process. The counts are those of LLMCompass (ISCA 2024, section III-E and its
// repository): floating-point units from Ariane, integer units from OpenPiton's SPARC T1, SRAM
// efficiency from CACTI, PHYs from annotated photographs of dies. What controls the lanes was
// derived there from the dies of A100 and MI210, so that these two dies are no test of it.
#pragma once

#include "orrery/accelerator/chip/core_chip.h"

namespace orrery {

struct ChipArea {  // square millimetres
  double cores = 0, l2 = 0, memory_control = 0, memory_phy = 0, link_control = 0, link_phy = 0;
  double total() const {
    return cores + l2 + memory_control + memory_phy + link_control + link_phy;
  }
};

ChipArea area_of(const CoreChip& chip);

}  // namespace orrery
