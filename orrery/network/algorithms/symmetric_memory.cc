// The kernels for symmetric memory: every rank reads and writes the buffers of all others in one
// kernel. NCCL offers them within an NVLink domain, for buffers that the application registers as
// windows (ncclCommWindowRegister), from release 2.27 on.
//
// The estimates are NCCL's own (queryModel_lsa in src/sym_kernels.cc of
// https://github.com/NVIDIA/nccl, 2.30), with which it chooses among these kernels. LL writes every
// buffer to every rank, nine times over: twice the bytes, their processing, and no unrolling.
// Simple reads and writes shares of the buffer (LD, ST), or lets the NVLink switch reduce and copy
// them (LDMC, STMC) where that is faster.
#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

namespace {

constexpr double kGiga = 1.073741824;  // NCCL's GB/s: 2^30 bytes
constexpr double kLlBytes = 9;
constexpr double kBlocks = 64;  // ncclSymkMaxBlocks

struct KernelRates {
  double ll_gather, ll_reduce, gather, reduce_all, reduce;  // microseconds before the first byte
  double block_all_reduce, block;                           // NCCL's GB/s of one block
  double peak, peak_multicast;  // of all; of an all-reduce in the switch
  double multicast_blocks;
};
// The columns of queryModel_lsa: GPUs before Blackwell, and from it on.
constexpr KernelRates kBefore{4.5, 4.5, 7.8, 7.8, 7.8, 65, 44, 320, 480, 16};
constexpr KernelRates kBlackwell{8.5, 11, 13, 19.5, 13, 55, 55, 600, 1000, 32};

const KernelRates& rates(const TunerCall& call) {
  return call.graph.generation == NcclGeneration::kBlackwell ? kBlackwell : kBefore;
}

// A smooth minimum of x and `ceiling`, which loses about `softness` where they meet.
double soft_minimum(double x, double ceiling, double softness) {
  return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
}

// GB/s of the buffer: bytes of the collective over the time of the kernel.
double buffer_rate(const TunerCall& call) {
  const KernelRates& k = rates(call);
  const double n = call.graph.ranks();
  const bool all = call.is_all_reduce();
  const double block = all ? k.block_all_reduce : k.block;
  const double peers = kGiga * soft_minimum(kBlocks * block, k.peak, block);
  // The buffer of an all-gather or reduce-scatter is the whole one, n parts.
  if (call.protocol == CollectiveProtocol::kLl) return peers / (kLlBytes * (all ? n : 1));
  const double by_peers = peers / ((all ? 2 : 1) * (n - 1) / n);
  if (call.graph.nvls_channels == 0 || n <= 2) return by_peers;
  const double blocks = std::ceil(k.multicast_blocks / n);
  const double widened = blocks * block * (all ? n : 0.55 * n);
  const double in_switch = kGiga * soft_minimum(widened, all ? k.peak_multicast : k.peak, block);
  return std::max(by_peers, in_switch / (all ? 1 + 1 / n : (n - 1) / n));
}

}  // namespace

constinit const TunerAlgorithm symmetric_memory_tuner{
    .since = {2, 27},
    .why_not_offered = [](const TunerCall& call) -> std::string_view {
      if (!call.is_all_reduce() && !call.is_gather_or_scatter())
        return "the kernels are for all-reduces, all-gathers and reduce-scatters";
      if (call.graph.nodes > 1 || !call.graph.nvlink)
        return "the kernels work within one NVLink domain";
      if (call.protocol == CollectiveProtocol::kLl128) return "it has LL and Simple";
      return call.graph.symmetric ? "" : "the buffers must be registered as windows";
    },
    .latency =
        [](const TunerCall& call, const StepLatencies&) {
          const KernelRates& k = rates(call);
          const bool gather = call.kind == Collective::Kind::kAllGather;
          if (call.protocol == CollectiveProtocol::kLl) return gather ? k.ll_gather : k.ll_reduce;
          return gather ? k.gather : call.is_all_reduce() ? k.reduce_all : k.reduce;
        },
    .bus_bandwidth = buffer_rate,
    .algorithm_share = [](const TunerCall&) -> double { return 1; },
    .overlap = LatencyOverlap::kAlone,
    .simple_only = false,
    .symmetric = true,
};

}  // namespace orrery
