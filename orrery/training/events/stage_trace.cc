#include "orrery/training/events/stage_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "orrery/base/index.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Ids = std::vector<std::uint64_t>;

std::size_t slot(int i) { return static_cast<std::size_t>(i); }

ChakraNode::Comm comm_of(Collective::Kind kind) {
  using Comm = ChakraNode::Comm;
  static constexpr Comm kComms[] = {Comm::kAllReduce, Comm::kAllGather, Comm::kReduceScatter,
                                    Comm::kAllToAll,  Comm::kBroadcast, {},
                                    Comm::kReduce};
  return kComms[index(kind)];
}

// Where the virtual stages are, by copy of the model, and what passes there are made of.
class Passes {
 public:
  explicit Passes(const IterationSource& source)
      : source_(source),
        setting_{source.parts, source.constants, source.job, Fidelity::kEvents},
        place_(placement(source.job.plan)),
        question_(pipeline_question(source.parts, source.constants, source.job)),
        schedule_(schedule_of(source.job.plan)),
        shape_(shape_of(source.job)) {
    holders_.resize(slot(schedule_.copies() * shape_.virtual_stages()));
    for (int s = 0; s < shape_.stages; ++s)
      for (int c = 0; c < shape_.chunks * schedule_.copies(); ++c)
        holders_[slot(c / shape_.chunks * shape_.virtual_stages() + virtual_stage(s, c))] = s;
  }

  const IterationSource& source() const { return source_; }
  const PipelineQuestion& question() const { return question_; }
  const PipelineShape& shape() const { return shape_; }
  const PipelineSchedule& schedule() const { return schedule_; }
  const RankPlacement& place() const { return place_; }
  int virtual_stage(int stage, int chunk) const {
    return schedule_.virtual_stage(stage, chunk, shape_);
  }
  // The stage that holds a virtual stage of the copy of the model to which `chunk` belongs.
  int holder(int chunk, int virtual_stage) const {
    return holders_[slot(chunk / shape_.chunks * shape_.virtual_stages() + virtual_stage)];
  }

  const PassNodes& of(int virtual_stage, Pass pass, int micro_batch) {
    const int kind = source_.parts.kind[slot(virtual_stage)];
    const bool scatters =
        source_.job.plan.zero == 3 || micro_batch + 1 < source_.job.micro_batches();
    const auto [it, fresh] = passes_.try_emplace({kind, pass, scatters});
    if (!fresh) return it->second;
    auto& terms = terms_[kind];
    if (terms.empty()) terms = source_.iterations.terms(source_.job, source_.stack, virtual_stage);
    const ScheduledChunk& c = question_.chunks[slot(virtual_stage)];
    const Seconds target = pass == Pass::kForward         ? c.forward
                           : pass == Pass::kBackward      ? c.backward()
                           : pass == Pass::kBackwardInput ? c.backward_input
                                                          : c.backward_weight;
    it->second = pass_nodes({setting_, source_.parts.kinds[slot(kind)], terms, place_, scatters},
                            pass, target);
    return it->second;
  }

 private:
  const IterationSource& source_;
  ChunkSetting setting_;
  RankPlacement place_;
  PipelineQuestion question_;
  const PipelineSchedule& schedule_;
  PipelineShape shape_;
  std::vector<int> holders_;
  std::map<int, std::vector<TrainingTerm>> terms_;
  std::map<std::tuple<int, Pass, bool>, PassNodes> passes_;
};

// A pass whose nodes are being appended.
struct Running {
  const PipelineTask* task = nullptr;
  const PassNodes* pass = nullptr;
  Ids before;       // for which its first nodes wait
  Ids ids;          // of its nodes so far
  double slow = 1;  // factor on its computation

  bool done() const { return ids.size() == pass->nodes.size(); }
  double progress() const {
    return static_cast<double>(ids.size()) / static_cast<double>(pass->nodes.size());
  }
};

class StageWriter {
 public:
  StageWriter(Passes& passes, int stage)
      : passes_(passes),
        job_(passes.source().job),
        stage_(stage),
        parts_(passes.source().parts.stages[slot(stage)]),
        share_(data_shares(passes.source().constants, job_.plan)),
        chunks_(passes.shape().chunks * passes.schedule().copies()),
        updates_(slot(chunks_)),
        left_(slot(chunks_)) {
    passes.schedule().order(stage, passes.shape(), tasks_);
    for (const PipelineTask& t : tasks_) left_[slot(t.chunk)] += makes_weights(t);
  }

  StageTrace write() {
    gather_updates();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      std::vector<Running> together = {start(tasks_[i])};
      if (tasks_[i].paired) together.push_back(start(tasks_[++i]));
      run(together);
    }
    end();
    return std::move(out_);
  }

 private:
  static bool makes_weights(const PipelineTask& t) {
    return t.pass == Pass::kBackward || t.pass == Pass::kBackwardWeight;
  }

  std::uint64_t add(StageNode n, const Ids& after) {
    n.node.id = out_.nodes.size();
    n.node.depends = after;
    out_.nodes.push_back(std::move(n));
    return out_.nodes.back().node.id;
  }

  // Whole microseconds, whose sum follows that of the times.
  Seconds whole(Seconds time) {
    owed_ += time / microseconds(1);
    const double micros = std::max(1.0, std::round(owed_));
    owed_ -= micros;
    return microseconds(micros);
  }

  void compute(const char* name, Seconds time) {
    if (time <= Seconds(0)) return;
    StageNode n;
    n.node.name = name, n.node.type = Type::kComp, n.node.duration = whole(time);
    last_ = {add(std::move(n), last_)};
  }

  std::uint64_t collective(const std::string& name, Collective::Kind kind, RankGroup group,
                           Bytes bytes, const Ids& after) {
    StageNode n;
    n.node.name = name, n.node.type = Type::kCollective, n.node.comm = comm_of(kind);
    n.node.size = kind == Collective::Kind::kAllGather ? bytes / group.ranks : bytes;
    n.node.size = Bytes(std::round(n.node.size.value()));
    n.group = group;
    return add(std::move(n), after);
  }

  // A share of each of the transfers, one after the other.
  Ids transfers(const std::vector<DataTransfer>& list, const char* name, double share,
                const Ids& after) {
    Ids ids;
    for (const DataTransfer& t : list) {
      const RankGroup group{t.what.ranks, stride_of(t.what, passes_.place()), t.what.group};
      ids.push_back(collective(name, t.what.kind, group, share * t.count * t.what.bytes, after));
    }
    return ids;
  }

  int pieces_of(int chunk) const {
    return passes_.question().chunks[slot(passes_.virtual_stage(stage_, chunk))].pieces;
  }

  // The updated weights of every chunk, in the order of the first forwards.
  void gather_updates() {
    if (parts_.updates.empty()) return;
    std::vector<bool> seen(slot(chunks_));
    for (const PipelineTask& t : tasks_) {
      if (t.pass != Pass::kForward || seen[slot(t.chunk)]) continue;
      seen[slot(t.chunk)] = true;
      const int pieces = pieces_of(t.chunk);
      for (int p = 0; p < pieces; ++p) {
        const Ids piece = transfers(parts_.updates, "gather updated weights",
                                    share_.scheduled / chunks_ / pieces, {});
        if (passes_.question().overlap_gather) {
          updates_[slot(t.chunk)].push_back(piece);
        } else {
          last_.insert(last_.end(), piece.begin(), piece.end());
        }
      }
    }
  }

  // Numbers of the message that brings a virtual stage the input of a pass.
  std::uint32_t tag(const PipelineTask& t, bool back, int virtual_stage) const {
    const int stages = passes_.shape().virtual_stages();
    return static_cast<std::uint32_t>((2 * t.micro_batch + (back ? 1 : 0)) * stages +
                                      virtual_stage + 1);
  }

  std::uint64_t message(Type type, const PipelineTask& t, bool back, int other, int to_stage,
                        const Ids& after) {
    StageNode n;
    n.node.type = type;
    n.node.name = back ? "gradients of activations" : "activations";
    n.node.size = Bytes(std::round(passes_.source().parts.send_bytes.value()));
    n.node.tag = tag(t, back, to_stage);
    n.peer = (other - stage_) * passes_.place().pipeline;
    return add(std::move(n), after);
  }

  Running start(const PipelineTask& task) {
    Running r;
    r.task = &task;
    const int v = passes_.virtual_stage(stage_, task.chunk);
    r.pass = &passes_.of(v, task.pass, task.micro_batch);
    r.before = last_;
    r.slow = slowdown(task, r.pass->length());
    if (task.pass == Pass::kBackwardWeight) return r;
    const bool back = task.pass != Pass::kForward;
    const int from = back ? v + 1 : v - 1;
    if (from < 0 || from == passes_.shape().virtual_stages()) return r;
    const int holder = passes_.holder(task.chunk, from);
    if (holder != stage_) r.before.push_back(message(Type::kRecv, task, back, holder, v, {}));
    return r;
  }

  // Computation takes longer while buckets of gradients or updated weights travel: all but the last
  // one of the pass.
  double slowdown(const PipelineTask& task, Seconds pass) const {
    const PipelineQuestion& q = passes_.question();
    const bool gathers = task.pass == Pass::kForward && !updates_[slot(task.chunk)].empty();
    const bool reduces = makes_weights(task) && left_[slot(task.chunk)] == 1;
    Seconds travels;
    if (gathers) travels = parts_.gather;
    if (reduces && q.overlap_reduce) travels = parts_.reduce;
    const int pieces = pieces_of(task.chunk);
    travels *= share_.scheduled / chunks_ * (pieces - 1) / pieces;
    if (travels <= Seconds(0) || pass <= Seconds(0)) return 1;
    return 1 + (1 - 1 / q.overlap_slowdown) * (std::min(travels, pass) / pass);
  }

  // Appends the nodes of passes that run at the same time, in turn, and what follows them.
  void run(std::vector<Running>& together) {
    for (;;) {
      Running* behind = nullptr;
      for (Running& r : together)
        if (!r.done() && (behind == nullptr || r.progress() < behind->progress())) behind = &r;
      if (behind == nullptr) break;
      step(*behind);
    }
    last_.clear();
    for (Running& r : together) {
      const Ids ends = nodes_of(r, r.pass->ends);
      last_.insert(last_.end(), ends.begin(), ends.end());
      send(r, ends);
      if (makes_weights(*r.task) && --left_[slot(r.task->chunk)] == 0) reduce(r);
    }
  }

  Ids nodes_of(const Running& r, const std::vector<int>& numbers) const {
    Ids ids;
    for (const int n : numbers) {
      if (n == PassNode::kBefore) {
        ids.insert(ids.end(), r.before.begin(), r.before.end());
      } else {
        ids.push_back(r.ids[slot(n)]);
      }
    }
    return ids;
  }

  void step(Running& r) {
    const auto number = static_cast<int>(r.ids.size());
    const PassNode& p = r.pass->nodes[slot(number)];
    Ids after = nodes_of(r, p.after);
    // A layer that needs updated weights waits for its share of their pieces.
    auto& updates = updates_[slot(r.task->chunk)];
    if (r.task->pass == Pass::kForward && !updates.empty()) {
      const std::size_t layers = r.pass->layer_start.size();
      std::size_t begun = 0;
      while (begun < layers && r.pass->layer_start[begun] <= number) ++begun;
      const std::size_t due =
          std::max<std::size_t>(1, std::max<std::size_t>(1, begun) * updates.size() / layers);
      for (std::size_t i = arrived_; i < due; ++i)
        after.insert(after.end(), updates[i].begin(), updates[i].end());
      arrived_ = std::max(arrived_, due);
      if (number + 1 == static_cast<int>(r.pass->nodes.size())) updates.clear(), arrived_ = 0;
    }
    if (p.talks) {
      r.ids.push_back(collective(p.name, p.kind, p.group, p.bytes, after));
      return;
    }
    StageNode n;
    n.node.name = std::string(to_text(r.task->pass)) + " " + p.name, n.node.type = Type::kComp;
    n.node.duration = whole(r.slow * p.time);
    n.node.operations = std::round(p.operations.value());
    n.node.tensor = Bytes(std::round(p.tensor.value()));
    r.ids.push_back(add(std::move(n), after));
  }

  void send(const Running& r, const Ids& ends) {
    if (r.task->pass == Pass::kBackwardWeight) return;
    const bool back = r.task->pass != Pass::kForward;
    const int v = passes_.virtual_stage(stage_, r.task->chunk), to = back ? v - 1 : v + 1;
    if (to < 0 || to == passes_.shape().virtual_stages()) return;
    const int holder = passes_.holder(r.task->chunk, to);
    if (holder != stage_) message(Type::kSend, *r.task, back, holder, to, ends);
  }

  // Reduces the gradients of a chunk, piece by piece, as its last pass makes them.
  void reduce(const Running& r) {
    const int pieces = pieces_of(r.task->chunk);
    const int layers = static_cast<int>(r.pass->layer_end.size());
    for (int p = 0; p < pieces; ++p) {
      const int layer = std::max(1, (p + 1) * layers / pieces) - 1;
      const bool last = p + 1 == pieces;
      Ids after = last ? last_ : nodes_of(r, r.pass->layer_end[slot(layer)]);
      const double share = share_.scheduled / chunks_ / pieces;
      if (passes_.question().overlap_reduce) {
        reduce(share, after);
      } else {
        deferred_ += share;
      }
    }
  }
  void reduce(double share, const Ids& after) {
    if (share <= 0) return;
    const Ids ids = transfers(parts_.reductions, "reduce gradients", share, after);
    reduced_.insert(reduced_.end(), ids.begin(), ids.end());
  }

  // Appends the nodes that follow the last pass.
  void end() {
    reduce(deferred_ + share_.blocking, last_);
    last_.insert(last_.end(), reduced_.begin(), reduced_.end());
    const auto follow = [&](const std::vector<DataTransfer>& list, const char* what, double share) {
      const Ids ids = transfers(list, what, share, last_);
      if (!ids.empty()) last_ = ids;
    };
    follow(parts_.late_reductions, "reduce gradients", 1);
    const IterationSource& s = passes_.source();
    compute("copy gradients to the host", parts_.to_host);
    compute("optimizer", s.constants[TrainingConstant::kOptimizer] * parts_.optimizer +
                             host_step(parts_, Fidelity::kEvents) + s.paging);
    constexpr const char* kGather = "gather updated weights";
    if (share_.blocking > 0) follow(parts_.updates, kGather, share_.blocking);
    for (const DataTransfer& t : parts_.late_updates)
      for (double k = 0; k < t.count; ++k) follow({{t.what, 1, t.time}}, kGather, 1);
    compute("copy weights into place", late_gather_time(parts_, s.constants) - parts_.late_gather);
    compute("host", s.constants.host_time());
    compute("slowest rank", iteration_time(s.parts, s.constants, s.job).stragglers);
  }

  Passes& passes_;
  const TrainingJob& job_;
  int stage_;
  const StageParts& parts_;
  DataShares share_;
  int chunks_;
  std::vector<PipelineTask> tasks_;
  StageTrace out_;
  Ids last_;         // for which the next pass waits
  double owed_ = 0;  // microseconds that rounding has left out so far
  // By chunk: the pieces of updated weights for which its first forward waits.
  std::vector<std::vector<Ids>> updates_;
  std::size_t arrived_ = 0;  // pieces for which the forward that runs has waited
  std::vector<int> left_;    // by chunk: passes of weight gradients that have not ended
  double deferred_ = 0;      // share of the gradients that is reduced after all passes
  Ids reduced_;
};

}  // namespace

std::vector<StageTrace> stage_traces(const IterationSource& source) {
  Passes passes(source);
  std::vector<StageTrace> stages;
  for (int s = 0; s < source.job.plan.pp; ++s) stages.push_back(StageWriter(passes, s).write());
  return stages;
}

}  // namespace orrery
