#include "orrery/training/events/pass_nodes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <span>

#include "orrery/base/index.h"

namespace orrery {
namespace {

using Work = TrainingPass;
using Terms = std::vector<const TrainingTerm*>;

// Rounding leaves no more than this of a computation whose parts have nodes.
constexpr Seconds kLeast = Seconds(1e-12);

// A collective of a term, before it is placed.
struct Talk {
  std::string name;
  Collective what;
  RankGroup group;
  Seconds time;
  double factor = 1;  // cost_factor: the exposed share; above 1 ranks wait for each other
};

class PassBuilder {
 public:
  explicit PassBuilder(const PassSource& source) : source_(source) {}

  // The terms of one layer, or of the beginning or end of the pass: calls from share `from` to
  // share `to` of all of a term's calls.
  void run(const Terms& terms, double from, double to) {
    for (const TrainingTerm* t : terms) {
      const auto* c = std::get_if<Collective>(&t->op.op);
      const double factor = factor_of(*t);
      if (c == nullptr) {
        compute(*t, factor, to - from);
        continue;
      }
      if (c->ranks <= 1) continue;
      RankPlacement here = source_.place;
      here.context *= t->op.apart;
      const auto calls = [&](double share) { return std::floor(t->op.count * share + 1e-9); };
      const Talk talk{"collective " + std::string(t->op.name), *c,
                      RankGroup{c->ranks, stride_of(*c, here), c->group},
                      t->time.value / t->op.count, factor};
      for (double k = calls(from); k < calls(to); ++k) collective(talk);
    }
  }

  void begin_layer() {
    flush();
    if (gathers_ == nullptr) return mark();
    const bool ahead = plan().dp_overlap && plan().prefetch == Prefetch::kPre;
    const std::vector<int> before = last_;
    const bool here = !backward_ || layer_ > 0;  // the last layer's weights are there backward
    if (here && (!ahead || layer_ == 0)) next_ = transfers(*gathers_, before);
    last_.insert(last_.end(), next_.begin(), next_.end());
    if (ahead && layer_ + 1 < layers_) next_ = transfers(*gathers_, before);
    mark();
  }
  void end_layer() {
    flush();
    if (scatters_ != nullptr) {
      last_scatter_ = transfers(*scatters_, last_);
      if (!plan().dp_overlap) last_ = last_scatter_;
    }
    out_.layer_end.push_back(last_);
    ++layer_;
  }
  void shard(bool backward, int layers) {
    backward_ = backward, layers_ = layers;
    const ChunkParts& p = source_.parts;
    const auto& gathers = backward ? p.gathers_again : p.gathers;
    if (!gathers.empty()) gathers_ = &gathers;
    if (backward && source_.scatters && !p.scatters.empty()) scatters_ = &p.scatters;
  }

  PassNodes take() {
    flush();
    last_.insert(last_.end(), last_scatter_.begin(), last_scatter_.end());
    out_.ends = last_;
    return std::move(out_);
  }

 private:
  const TrainingPlan& plan() const { return source_.setting.job.plan; }

  double factor_of(const TrainingTerm& t) const {
    return cost_factor(source_.setting, source_.parts, t.op.cost, t.op.pass);
  }

  void compute(const TrainingTerm& t, double factor, double share) {
    const Seconds time = share * factor * t.time.value;
    if (time > longest_) longest_ = time, pending_.name = std::string(t.op.name);
    pending_.time += time;
    pending_.operations += share * t.op.count * flops(t.op.op);
    pending_.tensor += share * t.op.count * bytes(t.op.op);
  }

  // Appends a node with this time, and the work that goes with it.
  int append_part(Seconds time, std::vector<int> after) {
    const double share = pending_.time > Seconds(0) ? time / pending_.time : 1;
    PassNode n = pending_;
    n.time = time, n.operations *= share, n.tensor *= share;
    n.after = std::move(after);
    pending_.time -= time, pending_.operations -= n.operations, pending_.tensor -= n.tensor;
    out_.nodes.push_back(std::move(n));
    return static_cast<int>(out_.nodes.size()) - 1;
  }

  void flush() {
    if (pending_.time <= kLeast) return;
    const Seconds beside = std::min({behind_, room_, pending_.time});
    if (beside > kLeast) {
      behind_ -= beside;
      last_.push_back(append_part(beside, beside_));
    }
    room_ = Seconds(0);
    if (pending_.time > kLeast) last_ = {append_part(pending_.time, last_)};
    pending_ = {};
    longest_ = Seconds(0);
  }

  void collective(const Talk& talk) {
    flush();
    if (room_ == Seconds(0)) beside_ = last_;
    PassNode n;
    n.name = talk.name, n.talks = true, n.kind = talk.what.kind, n.bytes = talk.what.bytes;
    n.group = talk.group, n.time = talk.time, n.after = last_;
    last_ = {add(std::move(n))};
    room_ += talk.time;
    behind_ += std::max(0.0, 1 - talk.factor) * talk.time;
    if (talk.factor > 1) {
      pending_.time += (talk.factor - 1) * talk.time;
      pending_.name = "wait for ranks";
    }
  }

  std::vector<int> transfers(const std::vector<DataTransfer>& list, const std::vector<int>& after) {
    std::vector<int> added;
    for (const DataTransfer& t : list) {
      PassNode n;
      const bool gathers = t.what.kind == Collective::Kind::kAllGather;
      n.name = gathers ? "gather weights" : "scatter gradients";
      n.time = t.time, n.talks = true, n.kind = t.what.kind, n.bytes = t.what.bytes;
      n.group = {t.what.ranks, stride_of(t.what, source_.place), t.what.group};
      n.after = after;
      added.push_back(add(std::move(n)));
    }
    return added;
  }

  int add(PassNode n) {
    out_.nodes.push_back(std::move(n));
    return static_cast<int>(out_.nodes.size()) - 1;
  }

  void mark() { out_.layer_start.push_back(static_cast<int>(out_.nodes.size())); }

  const PassSource& source_;
  PassNodes out_;
  PassNode pending_;  // computation that has no node yet
  Seconds longest_;   // kernel of it
  std::vector<int> last_ = {PassNode::kBefore};
  // Collectives of this length, `room_`, follow the last computation and the nodes `beside_`. As
  // much of the next computation runs beside them as the stack hides of them and those before them,
  // `behind_`.
  Seconds behind_, room_;
  std::vector<int> beside_;
  bool backward_ = false;
  int layer_ = 0, layers_ = 1;
  const std::vector<DataTransfer>* gathers_ = nullptr;
  const std::vector<DataTransfer>* scatters_ = nullptr;
  std::vector<int> next_, last_scatter_;
};

// The terms of some passes at the beginning of the chunk, in its layers, and at its end. Entries
// that run at least once a layer come between the other two.
struct Sections {
  Terms first, layers, last;
};
Sections sections(const std::vector<TrainingTerm>& terms, std::span<const Work> works, int layers) {
  const auto repeated = [&](const TrainingTerm& t) {
    const bool in_layer = t.op.part != Part::kLmHead && t.op.part != Part::kEmbedding;
    return layers > 1 && in_layer && t.op.count >= layers;
  };
  const auto first = std::find_if(terms.begin(), terms.end(), repeated);
  auto last = std::find_if(terms.rbegin(), terms.rend(), repeated).base();
  if (first == terms.end()) last = first;
  Sections s;
  for (auto t = terms.begin(); t != terms.end(); ++t) {
    if (std::find(works.begin(), works.end(), t->op.pass) == works.end()) continue;
    // A chunk of one layer is one section.
    if (first == terms.end()) {
      s.layers.push_back(&*t);
    } else {
      (t < first ? s.first : t < last ? s.layers : s.last).push_back(&*t);
    }
  }
  return s;
}

// Moves context-parallel communication to the core of attention, which hides it.
void beside_attention(Terms& terms) {
  const auto core = std::find_if(terms.begin(), terms.end(), [](const TrainingTerm* t) {
    return t->op.cost == TrainingCost::kAttention || t->op.cost == TrainingCost::kAttentionBackward;
  });
  if (core == terms.end()) return;
  const auto context = [](const TrainingTerm* t) { return t->op.cost == TrainingCost::kContext; };
  Terms in_order;
  std::copy_if(terms.begin(), core, std::back_inserter(in_order), std::not_fn(context));
  std::copy_if(terms.begin(), terms.end(), std::back_inserter(in_order), context);
  std::copy_if(core, terms.end(), std::back_inserter(in_order), std::not_fn(context));
  terms = std::move(in_order);
}

// All computation slower by the factor that gives the pass the length `target`, at least 1.
PassNodes slowed(PassNodes p, Seconds target) {
  constexpr int kRounds = 20;  // collectives hide a part of what is added
  for (int round = 0; round < kRounds; ++round) {
    const Seconds missing = target - p.length();
    Seconds computing;
    for (const PassNode& n : p.nodes)
      if (!n.talks) computing += n.time;
    if (missing <= 1e-6 * target || computing <= Seconds(0)) break;
    for (PassNode& n : p.nodes)
      if (!n.talks) n.time *= 1 + missing / computing;
  }
  return p;
}

}  // namespace

Seconds PassNodes::length() const {
  std::vector<Seconds> end(nodes.size());
  Seconds computing;
  std::map<RankGroup, Seconds> talking;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PassNode& n = nodes[i];
    Seconds& unit = n.talks ? talking[n.group] : computing;
    Seconds start = unit;
    for (const int a : n.after)
      if (a >= 0) start = std::max(start, end[index(a)]);
    unit = end[i] = start + n.time;
  }
  Seconds last;
  for (const int e : ends)
    if (e >= 0) last = std::max(last, end[index(e)]);
  return last;
}

PassNodes pass_nodes(const PassSource& source, Pass pass, Seconds target) {
  PassBuilder builder(source);
  const int layers = std::max(1, source.parts.layers);
  const bool forward = pass == Pass::kForward;
  static constexpr Work kForward[] = {Work::kForward}, kAgain[] = {Work::kRecompute},
                        kBoth[] = {Work::kBackwardInput, Work::kBackwardWeight},
                        kInput[] = {Work::kBackwardInput}, kWeight[] = {Work::kBackwardWeight};
  const std::span<const Work> works = forward                   ? std::span<const Work>(kForward)
                                      : pass == Pass::kBackward ? std::span<const Work>(kBoth)
                                      : pass == Pass::kBackwardInput
                                          ? std::span<const Work>(kInput)
                                          : std::span<const Work>(kWeight);
  Sections s = sections(source.terms, works, layers);
  Sections again;
  if (!forward && pass != Pass::kBackwardWeight) again = sections(source.terms, kAgain, layers);
  if (!forward) {
    for (Terms* t : {&s.first, &s.layers, &s.last}) std::reverse(t->begin(), t->end());
    std::swap(s.first, s.last);
  }
  for (Terms* t : {&s.layers, &again.layers}) beside_attention(*t);
  if (pass != Pass::kBackwardWeight) builder.shard(!forward, layers);
  builder.run(again.last, 0, 1);
  builder.run(s.first, 0, 1);
  for (int l = 0; l < layers; ++l) {
    const double from = 1.0 * l / layers, to = 1.0 * (l + 1) / layers;
    builder.begin_layer();
    builder.run(again.layers, from, to);
    builder.run(s.layers, from, to);
    builder.end_layer();
  }
  builder.run(again.first, 0, 1);
  builder.run(s.last, 0, 1);
  return slowed(builder.take(), target);
}

}  // namespace orrery
