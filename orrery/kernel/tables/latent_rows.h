// The columns that the tables mla_kernel and mla_module share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/random.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The core of the latent attention that a row times; empty for a number format without an op.
inline std::optional<LatentAttentionCore> latent_core_of(const CsvReader& row) {
  const std::optional<Dtype> dtype = parse_dtype(row.text(row.column("mla_dtype")));
  const std::optional<Dtype> kv = parse_dtype(row.text(row.column("kv_dtype")));
  if (!dtype || !kv) return {};
  LatentAttentionCore a;
  a.decode = row.text(row.column("phase")) == "decode";
  a.batch = row.integer(row.column("batch"));
  a.new_tokens = row.integer(row.column("isl"));
  a.context = real(a.new_tokens + row.integer(row.column("past")));
  a.heads = static_cast<int>(row.integer(row.column("heads")));
  a.dtype = *dtype;
  a.kv_dtype = *kv;
  return a;
}

// KernelSample::shape of such a row.
inline std::uint64_t latent_shape(const LatentAttentionCore& a) {
  return hash_text(
      fmt::format("{} {} {} {} {}", a.decode, a.batch, a.heads, a.new_tokens, a.context));
}

}  // namespace orrery
