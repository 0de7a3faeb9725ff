#include "orrery/network/fit/unseen_fit.h"

#include <cmath>
#include <map>
#include <memory>

#include "orrery/base/estimate.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/collectives/unseen_servers.h"
#include "orrery/network/fit/send_transfer.h"

namespace orrery {
namespace {

// Standard deviation of the next group by its 90 % interval, from `n` groups with a root mean
// square error of `rms`.
double of_next(double rms, double n) {
  const double z = normal_quantile(0.95);
  return rms * std::sqrt(1 + 1 / n) * z * (1 + (z * z + 1) / (4 * n)) / heavy_quantile(0.95);
}

}  // namespace

void UnseenFit::add(const std::string& fabric, const std::string& gpu,
                    const std::vector<MeasuredCollective>& rows, const Bundle& without,
                    NodeOf& node_of) {
  const Cluster& cluster = node_of(gpu);
  std::map<int, std::unique_ptr<NetworkModel>> models;
  Group group{fabric, false, {}, {}, {}};
  for (const MeasuredCollective& row : rows) {
    if (row.gpu != gpu || row.stack != "library") continue;
    auto& model = models[row.ranks];
    if (!model) {
      model = make_network_model(cluster, {.tp = row.ranks}, collective_library(cluster.gpu()),
                                 without);
      group.same_fabric =
          NetworkConstants(without).of(*cluster.link(row.ranks).fabric).origin <= Origin::kFitted;
    }
    if (row.time < bisection_bound(cluster, cluster.link(row.ranks), row.kind, row.bytes)) continue;
    if (row.kind == Collective::Kind::kSend) group.sends.push_back(row);
    const Collective c{row.kind, Collective::Group::kTensor, row.ranks, row.bytes};
    const double error = std::log(model->predict(c).time.value / row.time);
    const std::size_t size = size_class(row.bytes);
    group.squares[size] += error * error;
    ++group.rows[size];
  }
  if (group.rows != std::array<double, 3>{}) groups_.push_back(group);
}

std::array<double, 3> UnseenFit::errors(const std::string& without, bool same_fabric,
                                        std::size_t& groups) const {
  std::array<double, 3> sums{}, n{};
  double sum = 0;
  groups = 0;
  for (const Group& g : groups_) {
    if (g.fabric == without || g.same_fabric != same_fabric) continue;
    ++groups;
    double squares = 0, rows = 0;
    for (std::size_t size = 0; size < sums.size(); ++size) {
      squares += g.squares[size], rows += g.rows[size];
      if (g.rows[size] > 0) sums[size] += g.squares[size] / g.rows[size], ++n[size];
    }
    sum += squares / rows;
  }
  std::array<double, 3> out{};
  if (groups == 0) return out;
  for (std::size_t size = 0; size < out.size(); ++size) {
    out[size] = n[size] < 2 ? of_next(std::sqrt(sum / static_cast<double>(groups)),
                                      static_cast<double>(groups))
                            : of_next(std::sqrt(sums[size] / n[size]), n[size]);
  }
  return out;
}

std::string UnseenFit::text_without(const std::string& fabric) const {
  UnseenServers e;
  std::array<std::size_t, 2> groups{};
  e.same_fabric = errors(fabric, true, groups[0]);
  e.other_fabric = errors(fabric, false, groups[1]);
  std::vector<std::vector<MeasuredCollective>> sends;
  for (const Group& g : groups_) {
    if (g.fabric != fabric && !g.sends.empty()) sends.push_back(g.sends);
  }
  e.send_start = start_of_sends(sends);
  return to_yaml(e, groups);
}

}  // namespace orrery
