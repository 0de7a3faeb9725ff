// The ops of questions about kernels, the meaning of the sizes for each op, and the keys that have
// an effect. An op is added as a line in the table of kernel_ops.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/scenario/kinds/kernel/kernel_question.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct KernelOp {
  std::string_view name, doc;
  // Keys of KernelQuestion that the op reads in addition to m. "context@prefill": it reads context
  // in this phase only.
  std::vector<std::string_view> keys;
  Op (*make)(const KernelQuestion& question, std::int64_t m, std::int64_t context);
};

const std::vector<KernelOp>& kernel_ops();

bool reads(const KernelQuestion& question, std::string_view key);
// The condition under which `key` has an effect, in words: "op prefill, decode or mla".
std::string needs_of(std::string_view key);

// The op of a question at one point. InputError: sizes that do not divide, or a format that the op
// does not have.
Op make_op(const KernelQuestion& question, std::int64_t m, std::int64_t context);

}  // namespace orrery
