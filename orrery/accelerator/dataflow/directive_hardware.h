// Reads a hardware file of MAESTRO, a key a line:
//
//   num_pes: 256          or NumPEs          compute units
//   l1_size_cstr: 100     or L1Size          words of a unit's buffer
//   l2_size_cstr: 3000    or L2Size          words of the shared buffer
//   noc_bw_cstr: 1000     or NoC_BW          elements a cycle of the network
//   offchip_bw_cstr: 50                      elements a cycle of the memory behind it
//   noc_hops: 1           or NoC_NumHops     hops, and cycles of one: noc_hop_latency
//   num_simd_lanes: 1     or VectorWidth     multiply-adds of a unit in a cycle
//
// "//" begins a comment. Keys of the tool's command line are read here too. What is absent keeps
// the value of DirectiveMachine. The sizes of buffers do not change a result: the tool warns where
// they are exceeded.
//
// Source: MAESTRO (maestro-project/maestro, MIT licence), data/hw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/accelerator/dataflow/directive_model.h"

namespace orrery {

struct DirectiveHardware {
  DirectiveMachine machine;
  std::optional<std::int64_t> l1_words, l2_words;
};

// InputError with file, line and key: unknown keys with the nearest one, values that are no
// positive numbers, a key twice.
DirectiveHardware read_directive_hardware(std::string_view text, const std::string& file);

}  // namespace orrery
