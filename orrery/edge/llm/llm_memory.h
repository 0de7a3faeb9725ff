// Whether an LLM fits into a device's memory, in whole: weights, cache of a context, compute
// buffers, what the backend takes for itself. The table of embeddings, which is looked up, stays
// with the host's processor.
//
// A program may take:
//   own memory         all that the driver gives (catalog/gpus: usable), or 97 % of the nominal
//   Apple              two thirds of the memory up to 36 GiB, three quarters above: the default
//                      of Metal's recommendedMaxWorkingSetSize, which `sysctl
//                      iogpu.wired_limit_mb` raises
//   phones             60 %: the system ends a program that takes more (assumed)
//   other shared       90 % (assumed)
// The compute buffer holds the logits of a pass (`ubatch` tokens); its sizes in llama.cpp's logs,
// such as 258.50 MiB for Llama 3 8B, follow from that.
#pragma once

#include <optional>

#include "orrery/edge/llm/llm_chip.h"
#include "orrery/edge/llm/llm_work.h"

namespace orrery {

struct LlmMemory {
  Bytes memory;  // of one device, as sold; 0: the chip's largest configuration
  int devices = 1;
  double context = 0;  // tokens that the cache is made for
  double ubatch = 512;
};

struct LlmFit {
  Bytes weights, cache, buffers;  // of all devices
  Bytes limit;                    // what a program may take, of all devices
  Bytes needed() const { return weights + cache + buffers; }
  bool fits() const { return needed() <= limit; }
};

// The bytes that a program may take of a device with `memory` (0: the chip's own).
Bytes memory_limit(const LlmChip& chip, Bytes memory);

LlmFit memory_fit(const LlmFile& file, const LlmChip& chip, const LlmMemory& memory);

// The longest context that fits; nothing where not even the weights do.
std::optional<double> longest_context(const LlmFile& file, const LlmChip& chip, LlmMemory memory);

}  // namespace orrery
