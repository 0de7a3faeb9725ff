// Number formats from what a checkpoint stores.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {
namespace {

// The kernel that multiplies weights stored so.
Format quantised_format(const Architecture& model, Format plain) {
  const CheckpointQuantization& q = model.quantization;
  switch (q.format) {
    case WeightFormat::kPlain:
      return plain;
    case WeightFormat::kFp8:
      // Weight-only fp8 runs the kernels of weight-only int8 (Marlin): the same bytes and
      // arithmetic.
      if (q.weights_only) return Format::kInt8Weight;
      return q.block_rows > 0 ? Format::kFp8Block : Format::kFp8;
    case WeightFormat::kInt8:
      return q.weights_only ? Format::kInt8Weight : Format::kInt8;
    case WeightFormat::kInt4:
      return q.weights_only ? Format::kInt4Weight : Format::kInt4Fp8;
    case WeightFormat::kMxfp4:
      return q.weights_only ? Format::kMxfp4 : Format::kMxfp4Fp8;
    case WeightFormat::kNvfp4:
      if (!q.weights_only) return Format::kNvfp4;
      throw NoData(
          fmt::format("{}: weight-only nvfp4 is not modelled; name a precision", model.id));
  }
  return plain;
}

bool has_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

bool skips_attention(const CheckpointQuantization& q) {
  return std::any_of(q.skipped.begin(), q.skipped.end(),
                     [](const std::string& s) { return s.find("attn") != std::string::npos; });
}

}  // namespace

Format plain_format(Dtype dtype) {
  if (dtype == Dtype::kFp32) return Format::kFp32;
  return dtype == Dtype::kFp16 ? Format::kFp16 : Format::kBf16;
}

Precision native_precision(const Architecture& model) {
  const Dtype plain = model.dtype == Dtype::kBf16 ? Dtype::kBf16 : Dtype::kFp16;
  Precision p;
  p.weights = p.experts = p.lm_head = plain_format(plain);
  p.activations = p.attention = p.kv_cache = plain;
  p.experts = quantised_format(model, p.weights);
  const bool experts_only =
      has_experts(model) &&
      (model.quantization.format == WeightFormat::kMxfp4 || skips_attention(model.quantization));
  if (experts_only) return p;
  p.weights = p.experts;
  if (skips_attention(model.quantization)) p.mixers = plain_format(plain);
  return p;
}

}  // namespace orrery
