#include "orrery/replay/trace_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/replay/trace_limits.h"
#include "orrery/replay/traced_op.h"

namespace orrery {
namespace {

constexpr double kReplayError = 0.033;   // mean of Lumos' replays (arXiv:2504.09307)
constexpr double kDataSheetError = 0.2;  // assumed relative error of a ratio of data-sheet values
// Assumed error of a collective of which the trace tells neither kind nor ranks, and whose time is
// kept on another machine or layout.
constexpr double kUnknownError = 0.5;

constexpr std::int64_t kMostGpus = 1 << 22;
// One size of each size class of the network (size_class). The error of a collective whose size the
// trace lacks is the largest one for them: the network's error, and how far its factor is from the
// one without a size.
constexpr std::array<Bytes, 3> kUnknownSizes = {Bytes(1e6), Bytes(32e6), Bytes(1e9)};

struct Factor {
  double value = 1;
  double sigma = 0;
};

Factor ratio(const Estimate<Seconds>& to, const Estimate<Seconds>& from) {
  if (!(from.value > Seconds(0))) return {};
  return {to.value / from.value, std::hypot(to.sigma(), from.sigma())};
}

Family family_of(OpClass c) {
  switch (c) {
    case OpClass::kGemm:
      return Family::kGemm;
    case OpClass::kAttention:
      return Family::kAttention;
    case OpClass::kCommunication:
      return Family::kCollective;
    default:
      return Family::kElementwise;
  }
}

// The times of collectives of any group on one kind of machine.
class Network {
 public:
  Network(const Bundle& bundle, Gpu gpu, std::string node)
      : bundle_(bundle), catalog_(bundle), gpu_(std::move(gpu)), node_(std::move(node)) {}

  // `inner`: distance in ranks between two neighbours of the group.
  Estimate<Seconds> time(Collective c, int inner) {
    if (c.ranks <= 1) return {};
    ParallelPlan plan;
    plan.tp = inner, plan.dp = c.ranks;
    auto& model = models_[{c.ranks, inner}];
    if (!model) {
      const Cluster cluster(catalog_, gpu_, plan.devices(), node_);
      model = make_network_model(cluster, plan, collective_library(gpu_), bundle_);
    }
    return model->predict(c).time;
  }

 private:
  const Bundle& bundle_;
  Catalog catalog_;
  Gpu gpu_;
  std::string node_;
  std::map<std::pair<int, int>, std::unique_ptr<NetworkModel>> models_;
};

class Planner {
 public:
  Planner(const KinetoTrace& t, const TraceGraph& g, const TraceWhatIf& w, const Bundle& bundle)
      : t_(t), g_(g), w_(w), bundle_(bundle), catalog_(bundle) {
    if (!w.gpu.empty() && w.from_gpu.empty()) {
      throw InputError(fmt::format("--gpu {} needs --from-gpu, the GPU that was traced{}", w.gpu,
                                   t.gpu.empty() ? "" : fmt::format(" ('{}')", shortened(t.gpu))));
    }
    if (w.dp < 0 || w.dp > kMostGpus)
      throw InputError(fmt::format("--dp {}: expected 1 to {}", w.dp, kMostGpus));
    if (w.dp > 0) find_group();
    if (w.degrees.tp > 0) find_tensor_group();
    if (w.degrees.pp > 0) find_stages();
    if (!w.gpu.empty()) find_gpus();
    find_networks();
  }

  std::vector<Factor> factors() {
    std::vector<Factor> out(g_.nodes.size());
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const TraceNode& n = g_.nodes[i];
      if (n.kind != TraceNode::Kind::kGpu) continue;
      Factor& f = out[i];
      if (n.is == OpClass::kCommunication) {
        f = communication(n);
      } else {
        if (from_) f = on_other_gpu(n);
        const double share = w_.degrees.kernel(n.is, sequence_parallel_);
        f.value *= share;
        if (share != 1) f.sigma = std::hypot(f.sigma, kReshapeError);
      }
      if (n.is == OpClass::kOptimizer && sharded_ && w_.dp > 0)
        f.value *= static_cast<double>(from_dp_) / w_.dp;
      for (const auto& [is, factor] : w_.scale) {
        if (is == n.is) f.value *= factor;
      }
    }
    if (unknown_collectives_ > 0) {
      notes.push_back(
          fmt::format("{} collectives have no kind or no number of ranks in the trace; their times "
                      "do not change, and the interval is wider.",
                      unknown_collectives_));
    }
    if (unsized_collectives_ > 0) {
      notes.push_back(fmt::format(
          "{} collectives have no sizes in the trace; their times change by the number of ranks "
          "alone, as on the same network, and the interval is wider.",
          unsized_collectives_));
    }
    if (from_) widen_impossible(out);
    if (without_shapes_ > Seconds(0)) {
      notes.push_back(
          fmt::format("{} of products and attention have no shapes (record_shapes=True); their "
                      "times change by the "
                      "ratio of peaks.",
                      to_text(without_shapes_ * (1.0 / static_cast<double>(g_.steps)))));
    }
    return out;
  }

  std::vector<std::string> notes;

 private:
  // Adds the error of kernels that are faster than the traced GPU, and says which they are.
  void widen_impossible(std::vector<Factor>& factors) {
    const TraceLimits limits = trace_limits(t_, g_, *from_);
    if (limits.kernels == 0) return;
    for (std::size_t i = 0; i < factors.size(); ++i)
      factors[i].sigma = std::hypot(factors[i].sigma, std::log(limits.excess[i]));
    notes.push_back(limits.note(from_->id));
  }

  // Whether a kernel is NCCL's for sends and receives, if the trace has no further fields.
  bool is_send(const TraceNode& n) const {
    return t_.name_of(t_.events[n.event]).find("SendRecv") != std::string_view::npos;
  }

  std::optional<Collective> collective(const TraceNode& n) const {
    const KinetoEvent& e = t_.events[n.event];
    return traced_collective(t_.name_of(e), t_.detail_of(e), t_.world_size);
  }

  // The collectives of the data-parallel group, and whether its optimizer is sharded.
  void find_group() {
    std::set<int> sizes;
    for (const TraceNode& n : g_.nodes) {
      if (n.kind != TraceNode::Kind::kGpu || n.is != OpClass::kCommunication) continue;
      if (const auto c = collective(n); c && c->ranks > 1) sizes.insert(c->ranks);
    }
    if (sizes.empty()) {
      throw InputError(
          "--dp: the trace has no collective with a kind and a number of ranks, from which another "
          "degree could be predicted");
    }
    from_dp_ = w_.from_dp > 0 ? w_.from_dp : *sizes.begin();
    if (!sizes.contains(from_dp_) || (w_.from_dp == 0 && sizes.size() > 1)) {
      throw InputError(fmt::format(
          "--from-dp{}: the trace has collectives of {} ranks; expected the number of "
          "data-parallel "
          "ranks, one of these",
          w_.from_dp > 0 ? fmt::format(" {}", w_.from_dp) : "", fmt::join(sizes, ", ")));
    }
    for (const TraceNode& n : g_.nodes) {
      if (n.kind != TraceNode::Kind::kGpu || n.is != OpClass::kCommunication) continue;
      const auto c = collective(n);
      sharded_ |= c && c->ranks == from_dp_ && c->kind == Collective::Kind::kReduceScatter;
    }
    notes.push_back(fmt::format(
        "The number of data-parallel replicas changes from {} to {}; each has the same work{}.",
        from_dp_, w_.dp,
        sharded_ ? ", except that the optimizer's work is divided among them (gradients are "
                   "reduce-scattered)"
                 : ""));
  }

  void find_tensor_group() {
    const TraceDegrees& d = w_.degrees;
    bool found = false;
    for (const TraceNode& n : g_.nodes) {
      if (n.kind != TraceNode::Kind::kGpu || n.is != OpClass::kCommunication) continue;
      const auto c = collective(n);
      if (!c || c->ranks != d.from_tp || c->ranks == 1) continue;
      found = true;
      sequence_parallel_ |= c->kind == Collective::Kind::kReduceScatter;
    }
    if (!found)
      throw InputError(fmt::format(
          "--tp {}: the trace has no collective of {} ranks (--from-tp), from which another degree "
          "could be predicted",
          d.tp, d.from_tp));
    notes.push_back(fmt::format("The number of tensor-parallel ranks changes from {} to {}{}.",
                                d.from_tp, d.tp,
                                sequence_parallel_ ? ", with sequence parallelism" : ""));
  }

  void find_stages() {
    const TraceDegrees& d = w_.degrees;
    if (d.from_pp < 2)
      throw InputError(
          fmt::format("--pp {} needs --from-pp, the number of traced stages, at least 2", d.pp));
    notes.push_back(fmt::format(
        "The number of pipeline stages changes from {} to {}; the rank has {:.3g} times as many "
        "layers.",
        d.from_pp, d.pp, d.of_pipeline()));
  }

  void find_gpus() {
    from_ = catalog_.gpu(w_.from_gpu), to_ = catalog_.gpu(w_.gpu);
    KernelClasses classes;
    classes.rows = "pytorch";
    from_model_ = make_kernel_model(*from_, classes, bundle_);
    to_model_ = make_kernel_model(*to_, classes, bundle_);
    notes.push_back(
        fmt::format("{} instead of {}; the times of the host do not change.", to_->id, from_->id));
  }

  // The machines on which collectives run, if the question names them.
  void find_networks() {
    if (w_.gpu.empty() && (w_.dp == 0 || (w_.node.empty() && w_.from_gpu.empty()))) return;
    Gpu from;
    if (!w_.from_gpu.empty()) {
      from = catalog_.gpu(w_.from_gpu);
    } else {
      const NodeType node = catalog_.node_type(w_.node);
      if (node.gpus.empty())
        throw InputError(fmt::format("--node {} has no usual GPU: give --from-gpu", w_.node));
      from = catalog_.gpu(node.gpus.front());
    }
    // If one node type is named and no other GPU, both machines have it.
    const std::string from_node = w_.from_node.empty() && w_.gpu.empty() ? w_.node : w_.from_node;
    from_network_.emplace(bundle_, from, from_node);
    to_network_.emplace(bundle_, to_ ? *to_ : from, w_.node);
  }

  static Collective sized(Collective c, Bytes size) {
    c.bytes = size;
    return c;
  }

  // The factor on the time of a collective whose neighbours are `inner` ranks apart.
  Factor by_network(const Collective& before, const Collective& after, std::int64_t inner) {
    if (inner > kMostGpus || inner * std::max(after.ranks, before.ranks) > kMostGpus)
      throw InputError(fmt::format("more than {} GPUs", kMostGpus));
    return ratio(to_network_->time(after, static_cast<int>(inner)),
                 from_network_->time(before, static_cast<int>(inner)));
  }

  Factor communication(const TraceNode& n) {
    const auto c = collective(n);
    const TraceDegrees& d = w_.degrees;
    const bool send = c ? c->kind == Collective::Kind::kSend : is_send(n);
    if (d.pp > 0 && send) return {d.idle(), kReshapeError};
    if (!c) {
      if (!from_ && w_.dp == 0 && !d.asked()) return {};
      ++unknown_collectives_;
      return {1, kUnknownError};
    }
    const bool data = w_.dp > 0 && c->ranks == from_dp_;
    const bool tensor = d.tp > 0 && c->ranks == d.from_tp;
    if (!data && !tensor && !from_ && !d.asked()) return {};
    Collective after = *c;
    if (data) after.ranks = w_.dp;
    if (tensor) after.ranks = d.tp;
    if (after.ranks == 1 && c->ranks > 1) return {0, 0};
    if (c->ranks == 1) return {};
    // Gradients and weights change with the rank's share of the model. Activations keep their size,
    // for fewer layers.
    const double calls = tensor ? d.of_pipeline() : 1;
    const double share = tensor || send ? 1 : d.parameters();
    after.bytes = after.bytes * share;
    // In a group smaller than the world, data-parallel ranks are a stride apart: the ranks of other
    // groups are between them.
    const auto inner = data ? std::max<std::int64_t>(t_.world_size / c->ranks, 1) : 1;
    if (!from_network_ || !(c->bytes > Bytes(0))) {
      Factor f{calls * share * bus_factor(c->kind, after.ranks) / bus_factor(c->kind, c->ranks),
               kDataSheetError};
      if (from_network_) {
        ++unsized_collectives_;
        for (const Bytes size : kUnknownSizes) {
          const Factor n = by_network(sized(*c, size), sized(after, size * share), inner);
          const double off = std::log(calls * n.value / f.value);
          f.sigma = std::max(f.sigma, std::hypot(n.sigma, off));
        }
      }
      return f;
    }
    const auto key = std::tuple(c->kind, c->ranks, after.ranks, c->bytes.value());
    if (const auto it = collectives_.find(key); it != collectives_.end()) return it->second;
    Factor f = by_network(*c, after, inner);
    f.value *= calls;
    return collectives_[key] = f;
  }

  Factor on_other_gpu(const TraceNode& n) {
    const KinetoEvent& e = t_.events[n.event];
    const Factor bandwidth{from_->memory.bandwidth / to_->memory.bandwidth, kDataSheetError};
    if (n.is == OpClass::kCopy) {
      const std::string_view name = t_.name_of(e);
      const bool host = name.find("HtoD") != name.npos || name.find("DtoH") != name.npos;
      return host ? Factor{} : bandwidth;
    }
    if (n.is != OpClass::kGemm && n.is != OpClass::kAttention) return bandwidth;
    if (n.op > 0) {
      const KinetoEvent& op = t_.events[n.op - 1];
      const auto key = std::pair(op.name, op.detail);
      auto it = shaped_.find(key);
      if (it == shaped_.end()) it = shaped_.emplace(key, of_op(op)).first;
      if (it->second) return *it->second;
    }
    without_shapes_ += Seconds(static_cast<double>(n.duration.count()) * 1e-9);
    return {from_->peak(from_->compute_dtype(Dtype::kBf16)) /
                to_->peak(to_->compute_dtype(Dtype::kBf16)),
            kDataSheetError};
  }

  std::optional<Factor> of_op(const KinetoEvent& e) const {
    const auto op = traced_op(t_.name_of(e), t_.detail_of(e));
    if (!op) return {};
    return ratio(to_model_->predict(*op).time, from_model_->predict(*op).time);
  }

  const KinetoTrace& t_;
  const TraceGraph& g_;
  const TraceWhatIf& w_;
  const Bundle& bundle_;
  Catalog catalog_;
  int from_dp_ = 0;
  bool sharded_ = false, sequence_parallel_ = false;
  std::optional<Gpu> from_, to_;
  std::unique_ptr<KernelModel> from_model_, to_model_;
  std::optional<Network> from_network_, to_network_;
  std::map<std::tuple<Collective::Kind, int, int, double>, Factor> collectives_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<Factor>> shaped_;
  std::uint64_t unknown_collectives_ = 0, unsized_collectives_ = 0;
  Seconds without_shapes_;
};

// Notes on the conclusions of the graph.
void note_graph(const TraceGraph& g, std::vector<std::string>& notes) {
  const auto ms = [](Nanoseconds x) {
    return to_text(Seconds(static_cast<double>(x.count()) * 1e-9));
  };
  if (!g.marked)
    notes.push_back("The trace marks no steps (profiler.step()); it counts as one step.");
  if (g.recorded_waits == 0 && g.ordered_waits > 0) {
    notes.push_back(fmt::format(
        "{} waits between streams are concluded from the order of calls; enable_cuda_sync_events "
        "would record them.",
        g.ordered_waits));
  }
  if (g.inferred_waits > 0)
    notes.push_back(
        fmt::format("{} waits between streams are inferred from times alone.", g.inferred_waits));
  if (g.unexplained > Nanoseconds(0))
    notes.push_back(
        fmt::format("{} of waits (summed over streams) have no cause in the trace and do not "
                    "change.",
                    ms(g.unexplained)));
  if (g.orphans > 0)
    notes.push_back(fmt::format("{} pieces of GPU work have no launch in the trace.", g.orphans));
  if (g.carried > g.measured / 20)
    notes.push_back(fmt::format(
        "{} of GPU work was launched before the steps and is counted in them; a trace of more "
        "steps has less of it.",
        ms(g.carried)));
  bool collectives = false;
  for (const TraceNode& n : g.nodes) collectives |= n.is == OpClass::kCommunication;
  if (collectives) notes.push_back("Times of collectives include waiting for the slowest rank.");
}

}  // namespace

void add_scale(TraceWhatIf& w, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, std::min(equals, text.size()));
  const auto c = parse_op_class(name);
  if (equals == text.npos || (!c && name != "cpu")) {
    std::vector<std::string> known = {"cpu"};
    for (OpClass k : kAllOpClasses) known.emplace_back(to_text(k));
    throw InputError(fmt::format("--scale {}: expected CLASS=FACTOR with a class of {}{}",
                                 shortened(text), fmt::join(known, ", "),
                                 did_you_mean(name, known)));
  }
  const std::string_view number = text.substr(equals + 1);
  double factor = 0;
  const auto r = std::from_chars(number.data(), number.data() + number.size(), factor);
  constexpr double kMost = 1000;
  if (r.ec != std::errc() || r.ptr != number.data() + number.size() ||
      !(factor >= 0 && factor <= kMost)) {
    throw InputError(
        fmt::format("--scale {}: expected a factor from 0 to {}", shortened(text), kMost));
  }
  if (c) {
    w.scale.emplace_back(*c, factor);
  } else {
    w.cpu *= factor;
  }
}

TraceAnswer answer_trace(const KinetoTrace& t, const TraceGraph& g, const TraceWhatIf& w,
                         const Bundle& bundle) {
  TraceAnswer a;
  a.measured =
      Seconds(static_cast<double>(g.measured.count()) * 1e-9 / static_cast<double>(g.steps));
  a.timeline = replay_trace(g);
  a.replayed = a.what_if = break_down(t, g, a.timeline);
  a.difference = a.measured > Seconds(0) ? a.replayed.total / a.measured - 1 : 0;
  const double composition = std::max(std::abs(a.difference), kReplayError);
  a.time = {a.replayed.total, 0, composition, Origin::kMeasured};
  if (w.asked()) {
    Planner planner(t, g, w, bundle);
    const std::vector<Factor> factors = planner.factors();
    std::vector<double> values;
    values.reserve(factors.size());
    for (const Factor& f : factors) values.push_back(f.value);
    a.changed = true;
    const double cpu = w.cpu * w.degrees.of_pipeline();  // kernels of fewer layers are launched
    a.timeline = replay_trace(g, values, cpu);
    a.what_if = break_down(t, g, a.timeline, cpu);
    // Errors of the work on the critical path. The errors of kernels of one class are shared.
    EstimateSum<Seconds> sum;
    Seconds on_path;
    const double per = 1.0 / static_cast<double>(g.steps);
    bool predicted = false;
    for (const Factor& f : factors) predicted |= f.sigma > 0;
    for (std::uint32_t i = a.timeline.last;; i = a.timeline.cause[i]) {
      const Seconds time(static_cast<double>((a.timeline.end[i] - a.timeline.start[i]).count()) *
                         1e-9 * per);
      sum.add(family_of(g.nodes[i].is), {time, factors[i].sigma, 0, Origin::kMeasured});
      on_path += time;
      if (a.timeline.cause[i] == i) break;
    }
    const Seconds rest = std::max(a.what_if.total - on_path, Seconds(0));
    sum.add(Family::kHost, {rest, 0, 0, Origin::kMeasured});
    a.time = sum.total(composition);
    a.time.value = a.what_if.total;
    a.time.origin = predicted ? Origin::kTransferred : Origin::kMeasured;
    a.notes = std::move(planner.notes);
  }
  note_graph(g, a.notes);
  return a;
}

}  // namespace orrery
