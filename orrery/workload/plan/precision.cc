// Number formats from what a checkpoint stores.
#include <algorithm>

#include "orrery/workload/plan/plan.h"

namespace orrery {
namespace {

// The kernel that multiplies weights stored so.
Format quantised_format(const StoredFormat& f, Format plain) {
  switch (f.format) {
    case WeightFormat::kPlain:
      return plain;
    case WeightFormat::kFp8:
      // Weight-only fp8 runs the kernels of weight-only int8 (Marlin): the same bytes and
      // arithmetic.
      if (f.weights_only) return Format::kInt8Weight;
      return f.block_rows > 0 ? Format::kFp8Block : Format::kFp8;
    case WeightFormat::kInt8:
      return f.weights_only ? Format::kInt8Weight : Format::kInt8;
    case WeightFormat::kInt4:
      return f.weights_only ? Format::kInt4Weight : Format::kInt4Fp8;
    case WeightFormat::kMxfp4:
      return f.weights_only ? Format::kMxfp4 : Format::kMxfp4Fp8;
    case WeightFormat::kNvfp4:
      // Weight-only nvfp4 runs the kernels of weight-only mxfp4 (Marlin): the same arithmetic, and
      // 4.5 bits a weight in place of 4.25.
      return f.weights_only ? Format::kMxfp4 : Format::kNvfp4;
  }
  return plain;
}

bool has_part(const Architecture& model, WeightPart part) {
  const auto& parts = model.quantization.parts;
  return std::any_of(parts.begin(), parts.end(),
                     [part](const StoredPart& p) { return p.part == part; });
}

// vLLM and SGLang keep entries of compressed attention in fp8 (compressed_entry_bytes).
bool has_narrow_entries(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return kept_state(s.mixer).rotated > 0; });
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
  const auto stored = [&](WeightPart part) {
    return quantised_format(format_of(model.quantization, part), plain_format(plain));
  };
  // Projections of a model without dense MLPs and shared experts have the format of its mixers.
  const WeightPart dense = has_part(model, WeightPart::kDenseMlps) ? WeightPart::kDenseMlps
                           : has_part(model, WeightPart::kSharedExperts)
                               ? WeightPart::kSharedExperts
                               : WeightPart::kMixers;
  p.weights = stored(dense);
  p.experts =
      has_part(model, WeightPart::kRoutedExperts) ? stored(WeightPart::kRoutedExperts) : p.weights;
  p.lm_head = stored(WeightPart::kLmHead);
  if (stored(WeightPart::kMixers) != p.weights) p.mixers = stored(WeightPart::kMixers);
  if (model.quantization.kv_cache || has_narrow_entries(model)) p.kv_cache = Dtype::kFp8;
  return p;
}

}  // namespace orrery
