// Ops: the work that a GPU is asked to do, as plain data. An op knows its FLOPs and the bytes that
// it must move to and from device memory. It knows nothing about time.
//
// All sizes are those of one rank, already divided by tp, ep and so on. FLOPs count a multiply-add
// as two. They count only products with weights, attention and recurrent state, as published
// utilisations do. Bytes are the least traffic: every operand read once, every result written once.
//
// Adding an op: a struct with the members below, in this file or in a header of this folder that it
// includes, and its name in `Op`. Then a kernel family serves it (kernel/families/family.h); until
// one does, its time is the roofline's.
//
//   static constexpr std::string_view kName    what it is called in answers
//   static constexpr Family kFamily            whose shared error its time has (base/estimate.h)
//   Flops flop_count() const                   0 if none are counted
//   Bytes byte_count() const
//   Dtype arithmetic() const                   format whose peak rate bounds it; fp32 without FLOPs
//   std::string description() const            its sizes for a person
//   bool operator==(const ...&) const = default
//
// An op whose queries attend to cached keys also has `static constexpr bool kAttends = true`. If
// different kernels serve different calls of an op, it has `enum class Kernel`, their number
// `static constexpr std::size_t kKernels` and `Kernel kernel() const`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "orrery/base/dtype.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/workload/ops/attention.h"
#include "orrery/workload/ops/format.h"
#include "orrery/workload/ops/products.h"
#include "orrery/workload/ops/sparse_attention.h"
#include "orrery/workload/ops/token_mixers.h"

namespace orrery {

// Memory-bound work on `rows` rows of `width` elements: norms, activations, residual adds, rotary
// embedding, quantisation.
struct Elementwise {
  static constexpr std::string_view kName = "elementwise";
  static constexpr Family kFamily = Family::kElementwise;
  enum class Kernel { kPointwise, kQuantise };
  static constexpr std::size_t kKernels = 2;

  enum class Kind {
    kNorm,
    kAddNorm,
    kActivation,
    kAdd,
    kRotary,
    kQuantise,
    kSoftmax,
    kSample,
    kCopy
  };
  Kind kind = Kind::kNorm;
  std::int64_t rows = 1, width = 1;
  Bytes read, written;    // by the whole op
  bool gradient = false;  // the kernel of the backward pass; `read` and `written` are its own

  Kernel kernel() const { return kind == Kind::kQuantise ? Kernel::kQuantise : Kernel::kPointwise; }
  bool operator==(const Elementwise&) const = default;
  Flops flop_count() const { return {}; }
  Bytes byte_count() const { return read + written; }
  Dtype arithmetic() const { return Dtype::kFp32; }
  std::string description() const;
};

// The backward kernel of elementwise work: it reads the gradients of the results and the operands,
// and writes the gradients of the operands. That of an add moves nothing; those of copies and
// rotary embeddings move the gradient alone.
Elementwise gradient(const Elementwise& forward);

// A gather of `tokens` rows of `hidden` elements from a table.
struct Embedding {
  static constexpr std::string_view kName = "embedding";
  static constexpr Family kFamily = Family::kElementwise;

  std::int64_t tokens = 1, hidden = 1;
  Dtype dtype = Dtype::kBf16;

  bool operator==(const Embedding&) const = default;
  Flops flop_count() const { return {}; }
  Bytes byte_count() const;
  Dtype arithmetic() const { return Dtype::kFp32; }
  std::string description() const;
};

// One step of an optimizer over `parameters` weights of a rank: elementwise, without FLOPs. The
// bytes per parameter follow from the number formats (adam_step).
struct OptimizerStep {
  static constexpr std::string_view kName = "optimizer";
  static constexpr Family kFamily = Family::kElementwise;

  std::int64_t parameters = 1;
  Bytes read{14}, written{14};  // per parameter

  bool operator==(const OptimizerStep&) const = default;
  Flops flop_count() const { return {}; }
  Bytes byte_count() const;
  Dtype arithmetic() const { return Dtype::kFp32; }
  std::string description() const;
};

// Fused Adam in mixed precision. It reads the gradient, the master weight (if there is one beside
// the weight) and two moments, and writes the moments, the master weight and the weight. With bf16
// weights and gradients and fp32 states: 14 bytes read and 14 written per parameter.
OptimizerStep adam_step(std::int64_t parameters, Dtype weight, Dtype gradient,
                        std::optional<Dtype> master, Dtype moments);

// A collective over a group of ranks. `bytes` is the size of the full buffer: what a rank holds
// before an all-reduce or a reduce-scatter or after an all-gather; for all-to-all all that a rank
// sends, its own share included; for send one message. Its time is the network room's matter, and
// it moves no bytes of device memory here.
struct Collective {
  static constexpr std::string_view kName = "collective";
  static constexpr Family kFamily = Family::kCollective;

  enum class Kind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kSend, kReduce };
  // The parallel dimension whose ranks form the group. Where those ranks are is the network room's
  // matter (RankPlacement). The last three occur in training: context parallelism, copies of a
  // sharded set of weights, copies of experts.
  enum class Group { kTensor, kPipeline, kData, kExpert, kContext, kReplica, kExpertData };
  Kind kind = Kind::kAllReduce;
  Group group = Group::kTensor;
  int ranks = 1;
  Bytes bytes;

  bool operator==(const Collective&) const = default;
  Flops flop_count() const { return {}; }
  Bytes byte_count() const { return {}; }
  Dtype arithmetic() const { return Dtype::kFp32; }
  std::string description() const;
};
std::string_view to_text(Collective::Kind kind);

using Op = std::variant<Gemm, PrefillAttention, DecodeAttention, LatentAttentionCore, MlaModule,
                        MoeExperts, LinearAttentionCore, Elementwise, Embedding, Collective,
                        AttentionBackward, OptimizerStep, CausalConvolution, SparseAttentionBlock>;

// The members above, of the op that `op` holds.
Flops flops(const Op& op);
Bytes bytes(const Op& op);
Dtype arithmetic(const Op& op);
std::string_view kind_name(const Op& op);
Family family_of(const Op& op);
std::string describe(const Op& op);
// True if queries of the op attend to cached keys, so that its time grows with the context.
bool attends(const Op& op);

}  // namespace orrery
