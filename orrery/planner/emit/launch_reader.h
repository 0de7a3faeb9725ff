// Reads the command that starts an engine back as what it starts, by the facts that it was written
// from (launch_facts.h, platforms.h).
//
//   vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len 8192
//
// Values of flags may also follow '=', and other words that the facts know for a flag are read as
// it (-tp). Flags that the facts do not know are listed, so that nobody takes a command for read
// that was read in part. Flags of speculation are read where all of them together are those of a
// method of the facts, and listed otherwise.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

struct LaunchRead {
  // Without GPU, power limit and clock, and the acceptance of drafts, which no flag tells.
  EngineOption option;
  std::string model;               // as the engine reads it
  std::int64_t max_model_len = 0;  // 0: the engine's own
  bool apart = false;              // it prefills or decodes alone
  std::vector<std::string> unread;
};

// `options`: the text of the file of options that the command names; empty: it is not at hand, and
// the flag is listed as not read. InputError: no engine of the catalog is started like this, a flag
// has no whole number, or the ranks do not divide into the data-parallel groups.
LaunchRead read_launch(const Bundle& bundle, const std::string& command,
                       const std::string& options = "");

// The words of a command as a shell splits it: quotes and backslashes are taken away.
std::vector<std::string> shell_words(const std::string& command);

}  // namespace orrery
