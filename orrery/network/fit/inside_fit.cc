#include "orrery/network/fit/inside_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "orrery/base/fit.h"
#include "orrery/base/index.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/fit/across_fit.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
using Algorithm = CollectiveAlgorithm;
using MeasuredRow = MeasuredCollective;

constexpr double kNodeHuber = 0.1;  // residuals beyond this count linearly
constexpr std::size_t kFolds = 3;
constexpr int kNodeEvaluations = 5000;
constexpr std::int64_t kLeastChosen = 4;  // a curve that is the fastest for fewer rows is dropped

// A point of the search: logarithms of the curves' times relative to a start, logits of their
// efficiencies.
class CurveSpace {
 public:
  enum class Efficiency { kByRanks, kOne };
  CurveSpace(std::vector<FittedCurve>& curves, std::size_t first, bool with_step,
             Efficiency efficiency)
      : curves_(curves), first_(first), with_step_(with_step), efficiency_(efficiency) {}

  std::size_t dimensions() const {
    std::size_t n = 0;
    for (std::size_t c = first_; c < curves_.size(); ++c) {
      n += 2 + (steps(c) ? 1u : 0u) + (by_ranks(c) ? 3u : 1u);
    }
    return n;
  }

  void set(const std::vector<double>& x) const {
    std::size_t i = 0;
    for (std::size_t c = first_; c < curves_.size(); ++c) {
      CostCurve& curve = curves_[c].curve;
      // A framework's kernel starts within tens of microseconds; the library's range is wider.
      const bool framework = curve_algorithm(curves_[c].algorithm).framework_kernel;
      curve.latency = microseconds(8 * std::exp((framework ? 1 : 2) * x[i++]));
      curve.pipelining = 0.3 * std::exp(2 * x[i++]);
      if (steps(c)) curve.step = microseconds(0.5 * std::exp((framework ? 1.5 : 3) * x[i++]));
      double e = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        if (k == 0 || by_ranks(c)) e = kMostEfficiency / (1 + std::exp(-(0.5 + 4 * x[i++])));
        curve.efficiency[k] = e;
      }
    }
  }

  // Sum of the relative decreases of the transfer from one number of ranks to the next. The search
  // keeps it at zero: a larger group does not transfer faster.
  double falls(CollectiveKind kind) const {
    double sum = 0;
    for (std::size_t c = first_; c < curves_.size(); ++c) {
      double last = 0;
      for (int n = 2; n <= 8; ++n) {
        const double cost = collective_volume(kind, curves_[c].algorithm, n, Bytes(1)).value() /
                            curves_[c].curve.efficiency_at(n);
        sum += std::max(0.0, last / cost - 1);
        last = cost;
      }
    }
    return sum;
  }

 private:
  bool in_switch(std::size_t c) const {
    return curve_algorithm(curves_[c].algorithm).reduces_in_switch;
  }
  bool steps(std::size_t c) const { return with_step_ && !in_switch(c); }
  bool by_ranks(std::size_t c) const {
    return efficiency_ == Efficiency::kByRanks && !in_switch(c);
  }

  std::vector<FittedCurve>& curves_;
  std::size_t first_;  // the curves from here on move
  bool with_step_;
  Efficiency efficiency_;
};

using Predict = std::function<Seconds(const MeasuredRow&)>;

void fit_curves(const CurveSpace& space, const std::vector<const MeasuredRow*>& rows,
                const Predict& predict) {
  const Loss loss = [&](const std::vector<double>& x) {
    space.set(x);
    double sum = 0;
    for (const MeasuredRow* row : rows) {
      sum += huber(std::log(predict(*row) / row->time), kNodeHuber);
    }
    return sum / static_cast<double>(rows.size()) + space.falls(rows.front()->kind);
  };
  const auto n = space.dimensions();
  space.set(minimise(loss, std::vector<double>(n, 0.0), equal_bounds(n, -1.5, 1.5),
                     {.step = 0.25, .evaluations = kNodeEvaluations}));
}

// Fits the curves from `first` on, and writes their rows and error on sizes left out.
void fit(std::vector<FittedCurve>& curves, std::size_t first, const CurveSpace& space,
         const std::vector<const MeasuredRow*>& rows, const Predict& predict) {
  std::set<double> sizes;
  for (const MeasuredRow* row : rows) sizes.insert(row->bytes.value());
  const auto fold = [&](const MeasuredRow& row) {
    return static_cast<std::size_t>(std::distance(sizes.begin(), sizes.find(row.bytes.value()))) %
           kFolds;
  };
  std::array<std::vector<double>, 3> residuals;
  for (std::size_t out = 0; out < kFolds; ++out) {
    std::vector<const MeasuredRow*> kept;
    for (const MeasuredRow* row : rows) {
      if (fold(*row) != out) kept.push_back(row);
    }
    fit_curves(space, kept, predict);
    for (const MeasuredRow* row : rows) {
      if (fold(*row) == out)
        residuals[size_class(row->bytes)].push_back(std::abs(std::log(predict(*row) / row->time)));
    }
  }
  fit_curves(space, rows, predict);
  std::vector<double> all;
  for (const auto& r : residuals) all.insert(all.end(), r.begin(), r.end());
  constexpr std::size_t kEnough = 6;
  for (std::size_t c = first; c < curves.size(); ++c) {
    curves[c].rows = static_cast<std::int64_t>(rows.size());
    for (std::size_t k = 0; k < residuals.size(); ++k)
      curves[c].left_out_error[k] = sigma_of(residuals[k].size() < kEnough ? all : residuals[k]);
  }
}

FittedCurve blank(std::string stack, Algorithm algorithm, CollectiveKind kind) {
  FittedCurve curve;
  curve.stack = std::move(stack);
  curve.algorithm = algorithm;
  curve.kind = kind;
  return curve;
}

// The smallest measured group beyond which NCCL chose NVLS by default: 7 H200. It chose rings for 4
// ranks of H200 and 5 of B200.
constexpr int kNvlsRanks = 7;
// The GPUs of a board, beyond which the switches of a rack start later.
constexpr int kBoardGpus = 8;

// Notes the largest group of the rows, by size of message, and their versions of the library.
void see_groups(const std::vector<const MeasuredRow*>& rows, FittedCurve& curve) {
  std::set<std::string> versions(curve.versions.begin(), curve.versions.end());
  for (const MeasuredRow* row : rows) {
    if (!row->version.empty()) versions.insert(row->version);
    int& most = curve.most_ranks[size_class(row->bytes)];
    most = std::max(most, row->ranks);
  }
  curve.versions.assign(versions.begin(), versions.end());
}

// The step of a curve for which a single size of group was measured, after the rings on NVLink and
// PCIe (0.8 to 1.3 us).
constexpr Seconds kStepInside = microseconds(0.9);

void fit_inside(const FabricRows& table, const std::string& stack, CollectiveKind kind,
                std::vector<FittedCurve>& curves) {
  std::vector<const MeasuredRow*> rows;
  for (const MeasuredRow& row : table.rows) {
    if (row.stack == stack && row.kind == kind) rows.push_back(&row);
  }
  if (rows.empty()) return;
  std::set<int> group_sizes;
  for (const MeasuredRow* row : rows) group_sizes.insert(row->ranks);
  const bool sizes_differ = group_sizes.size() > 1;
  const std::size_t first = curves.size();
  if (stack != "library") {
    curves.push_back(blank(stack, Algorithm::kOneShot, kind));
    curves.push_back(blank(stack, Algorithm::kTwoShot, kind));
  } else {
    const bool direct = kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSend;
    curves.push_back(blank(stack, direct ? Algorithm::kDirect : Algorithm::kRing, kind));
    if (!sizes_differ) curves.back().curve.step = kStepInside;
    if (kind == CollectiveKind::kAllReduce && table.fabric.in_network_reduction) {
      curves.push_back(blank(stack, Algorithm::kNvls, kind));
      curves.back().least_ranks = kNvlsRanks;
    }
  }
  const CurveSpace space(
      curves, first, sizes_differ,
      sizes_differ ? CurveSpace::Efficiency::kByRanks : CurveSpace::Efficiency::kOne);
  const auto choose = [&](const MeasuredRow& r) {
    return fastest(curves, stack, {table.fabric, kind, r.ranks, r.bytes, r.bandwidth, r.bridged});
  };
  fit(curves, first, space, rows, [&](const MeasuredRow& r) { return choose(r).time.total; });
  std::vector<std::int64_t> chosen(curves.size());
  for (const MeasuredRow* row : rows) ++chosen[index(choose(*row).curve - curves.data())];
  for (std::size_t c = curves.size(); c-- > first;) {
    if (chosen[c] < kLeastChosen) curves.erase(curves.begin() + static_cast<std::ptrdiff_t>(c));
  }
  for (std::size_t c = first; c < curves.size(); ++c) see_groups(rows, curves[c]);
}

// The switches of a rack reduce like those of a board, but start later for every GPU beyond the
// board's eight. The rack's few measured messages are all large, so that step and the share of the
// bandwidth are fitted; the rest is the board's.
constexpr double kRackPipelining = 0.1;
// The grid of the search: steps of 0, 0.1, 0.2, ... us while eight of them are within the board's
// start; shares from 0.45 to 0.65, 0.0025 apart.
constexpr int kShares = 80;
constexpr double kStepApart = 0.1, kLeastShare = 0.45, kShareApart = 0.0025;

}  // namespace

std::vector<FittedCurve> fit_curves_inside(const FabricRows& table, bool frameworks) {
  std::vector<FittedCurve> curves;
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kSend}) {
    fit_inside(table, "library", kind, curves);
  }
  if (!frameworks) return curves;
  for (const char* stack : {"vllm", "trtllm", "sglang"})
    fit_inside(table, stack, CollectiveKind::kAllReduce, curves);
  return curves;
}

std::vector<FittedCurve> rack_curves(const FabricRows& table, std::vector<FittedCurve> board) {
  std::vector<const MeasuredRow*> rows;
  for (const MeasuredRow& row : table.rows) rows.push_back(&row);
  for (FittedCurve& c : board) {
    if (c.algorithm != Algorithm::kNvls) continue;
    c.curve.pipelining = kRackPipelining;
    c.rows = static_cast<std::int64_t>(rows.size());
    double best = 1e300;
    CostCurve found = c.curve;
    const Seconds board_start = c.curve.latency;
    for (int i = 0; i * kStepApart * kBoardGpus < board_start / microseconds(1); ++i) {
      for (int k = 0; k < kShares; ++k) {
        const double share = kLeastShare + k * kShareApart;
        c.curve.step = microseconds(i * kStepApart);
        c.curve.latency = board_start - c.curve.step * kBoardGpus;
        c.curve.efficiency.fill(share);
        double sum = 0;
        for (const MeasuredRow* r : rows) {
          sum += std::abs(std::log(
              curve_time(c.curve, r->kind, c.algorithm, r->ranks, r->bytes, r->bandwidth).total /
              r->time));
        }
        if (sum < best) best = sum, found = c.curve;
      }
    }
    c.curve = found;
    see_groups(rows, c);
  }
  return board;
}

}  // namespace orrery
