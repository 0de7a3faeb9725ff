#include "orrery/network/fit/network_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/collectives/unseen_servers.h"
#include "orrery/network/fit/across_fit.h"
#include "orrery/network/fit/expert_fit.h"
#include "orrery/network/fit/inside_fit.h"
#include "orrery/network/fit/joined_texts.h"
#include "orrery/network/fit/measured_collectives.h"
#include "orrery/network/fit/network_folds.h"
#include "orrery/network/fit/send_transfer.h"
#include "orrery/network/fit/unseen_fit.h"

namespace orrery {
namespace {

const std::string kRack = "nvlink5-nvl72", kRackBoard = "nvlink5-nvswitch";
constexpr const char* kDeepEp = "deepep";
constexpr const char* kMade = "# Made by `orrery fit network`.\n";

using Constants = std::map<std::string, FabricConstants>;  // by fabric id
using Experts = std::map<std::string, std::vector<ExpertCurve>>;

// The fabrics that were never measured and use a file's constants (network_constants.h).
std::vector<std::string> stands_for(const std::string& fabric) {
  if (fabric == "nvlink3-nvswitch") return {"nvlink1", "nvlink2", "nvlink3", "mesh"};
  if (fabric == "nvlink4-nvswitch") return {"nvlink4", "switch"};
  if (fabric == "nvlink5-nvswitch") return {"nvlink5"};
  if (fabric == "xgmi-mi300x") return {"xgmi", "xe-link", "torus"};
  if (fabric == "pcie5") return {"pcie3", "pcie4", "pcie6", "bus"};
  if (fabric == "ib-ndr") return {"ib", "nic"};
  if (fabric == "roce-400") return {"roce", "gaudi"};
  if (fabric == "tcpxo-200") return {"tcpx"};
  if (fabric == "efa-100") return {"efa", "slingshot"};
  return {};
}

// The fabric that stands for what `fabric` stood for once no row of `fabric` is left. Empty: a
// fabric of the same kind stands for it anyway.
std::string heir(const std::string& fabric) {
  if (fabric == "xgmi-mi300x") return "nvlink3-nvswitch";
  if (fabric == "nvlink3-nvswitch") return "nvlink4-nvswitch";
  return "";
}

// The constants of one fabric from its rows. A rack needs those of the board in `made`.
FabricConstants constants_of(const std::string& id, const FabricRows& table,
                             const AcrossFit& across, const Constants& made, bool frameworks) {
  FabricConstants c;
  c.fabrics = {id};
  c.measured_on = fmt::format("{}", fmt::join(table.systems, ", "));
  if (!table.across.empty()) {
    c.recipe = fmt::format("fit_network of {} rows; errors on groups left out in turn",
                           table.across.size());
    c.across = across.classes.at(id);
    return c;
  }
  c.recipe =
      fmt::format("fit_network of {} rows; errors on every third message size left out in turn",
                  table.rows.size());
  if (id == kRack) {
    c.curves = rack_curves(table, made.at(kRackBoard).curves);
    c.origin = Origin::kFitted;
  } else {
    c.curves = fit_curves_inside(table, frameworks);
  }
  return c;
}

// Adds what follows from all fabrics together: who stands for whom, the experts' curves, the send
// of another NVLink switch where no send was measured, and the factors of classes of GPUs that were
// not measured on a network.
Constants completed(Constants all, const MeasuredFabrics& tables, const Experts& experts,
                    const AcrossFit& across) {
  // The send of the last fabric that has one, and the ring of that fabric.
  std::optional<FittedCurve> send, ring;
  for (const auto& [id, c] : all) {
    for (const FittedCurve& f : c.curves) {
      if (f.kind != Collective::Kind::kSend || reducing_ring(c.curves) == nullptr) continue;
      send = f, ring = *reducing_ring(c.curves);
    }
  }
  for (auto& [id, c] : all) {
    c.stands_for = stands_for(id);
    for (const auto& [other, rows] : tables) {
      if (all.contains(other) || heir(other) != id) continue;
      for (const std::string& name : stands_for(other)) c.stands_for.push_back(name);
    }
    if (const auto e = experts.find(id == kRack ? kRackBoard : id); e != experts.end())
      c.experts = e->second;
    const auto has_send = std::any_of(c.curves.begin(), c.curves.end(), [](const FittedCurve& f) {
      return f.kind == Collective::Kind::kSend;
    });
    const FittedCurve* own_ring = reducing_ring(c.curves);
    if (send && !has_send && own_ring != nullptr &&
        tables.at(id).fabric.kind == FabricKind::kSwitch)
      c.curves.push_back(transferred_send(*send, *ring, *own_ring));
    if (c.across.empty()) continue;
    for (const char* gpus : kAcrossClasses) {
      if (std::any_of(c.across.begin(), c.across.end(),
                      [&](const FittedAcross& a) { return a.gpus == gpus; }))
        continue;
      c.across.push_back({gpus, across.most, 0, across.elsewhere, across.elsewhere, 0, {}});
    }
  }
  return all;
}

std::map<std::string, std::string> texts_of(const Constants& all) {
  std::map<std::string, std::string> texts;
  for (const auto& [id, c] : all) texts["network/" + id + ".yaml"] = kMade + to_yaml(c);
  return texts;
}

std::string library_of(const Catalog& catalog, const std::string& gpu) {
  return std::string(collective_library(catalog.gpu(gpu)));
}

std::set<NetworkGroup> groups_of(const MeasuredFabrics& tables, const Catalog& catalog,
                                 const std::set<ExpertGroup>& experts) {
  std::set<NetworkGroup> groups;
  for (const auto& [id, table] : tables) {
    for (const MeasuredCollective& row : table.rows)
      groups.insert({id, row.gpu, library_of(catalog, row.gpu)});
    for (const MeasuredAcross& row : table.across)
      groups.insert({id, row.gpu, library_of(catalog, row.gpu)});
  }
  for (const ExpertGroup& e : experts) groups.insert({e.fabric, e.gpu, kDeepEp});
  return groups;
}

// The tables without the rows of a GPU on a fabric. A fabric without other rows is not in it.
MeasuredFabrics tables_without(MeasuredFabrics tables, const NetworkGroup& group) {
  FabricRows& table = tables.at(group.fabric);
  std::erase_if(table.rows, [&](const auto& row) { return row.gpu == group.gpu; });
  std::erase_if(table.across, [&](const auto& row) { return row.gpu == group.gpu; });
  table.systems.erase(group.gpu);
  if (table.rows.empty() && table.across.empty()) tables.erase(group.fabric);
  return tables;
}

AcrossFit across_of(const MeasuredFabrics& tables) {
  std::map<std::string, std::vector<MeasuredAcross>> rows;
  for (const auto& [id, table] : tables) {
    if (!table.across.empty()) rows[id] = table.across;
  }
  return fit_across(rows);
}

class NetworkFitter {
 public:
  NetworkFitter(const std::filesystem::path& data, const Bundle& bundle)
      : data_(data), bundle_(bundle), node_of_(bundle) {
    tables_ = read_measured_collectives(data, node_of_);
    experts_ = fit_experts(data, node_of_, {}, expert_groups_);
    across_ = across_of(tables_);
    fit_fabrics(tables_, across_, "", true, all_);
    complete_ = completed(all_, tables_, experts_, across_);
  }

  NetworkFit result(PartMeter* meter) {
    NetworkFit result;
    result.kept_back = across_.kept_back;
    result.most = across_.most;
    result.files = texts_of(complete_);
    std::map<NetworkGroup, std::map<std::string, std::string>> folds;
    UnseenFit unseen;
    const auto groups = groups_of(tables_, node_of_.catalog(), expert_groups_);
    expect_parts(meter, groups.size());
    for (const NetworkGroup& group : groups) {
      folds[group] = fold(group);
      finish_parts(meter);
      if (group.library == kDeepEp || tables_.at(group.fabric).fabric.kind == FabricKind::kBus)
        continue;
      unseen.add(group.fabric, group.gpu, tables_.at(group.fabric).rows,
                 with_network_files(bundle_, folds[group]), node_of_);
    }
    result.files[kUnseenServersPath] = unseen.text_without("");
    for (auto& [group, files] : folds) {
      files[kUnseenServersPath] = unseen.text_without(group.fabric);
      result.files[network_fold_path(group)] = kMade + joined_texts(files);
    }
    return result;
  }

 private:
  // Fits `only` (all, if empty) and the rack that follows from it. Constants without rows are
  // erased.
  static void fit_fabrics(const MeasuredFabrics& tables, const AcrossFit& across,
                          const std::string& only, bool frameworks, Constants& all) {
    for (const auto& [id, table] : tables) {
      if (id != kRack && (only.empty() || id == only))
        all[id] = constants_of(id, table, across, all, frameworks);
    }
    if (!only.empty() && !tables.contains(only)) all.erase(only);
    const bool rack = only.empty() || only == kRack || only == kRackBoard;
    if (rack && tables.contains(kRack) && all.contains(kRackBoard))
      all[kRack] = constants_of(kRack, tables.at(kRack), across, all, frameworks);
  }

  // The files that a fit without the group changes, of those that predict the group.
  std::map<std::string, std::string> fold(const NetworkGroup& group) {
    Constants all = all_;
    AcrossFit across = across_;
    Experts experts = experts_;
    if (group.library == kDeepEp) {
      std::set<ExpertGroup> ignored;
      experts = fit_experts(data_, node_of_, {group.fabric, group.gpu}, ignored);
    } else {
      const MeasuredFabrics tables = tables_without(tables_, group);
      if (!tables_.at(group.fabric).across.empty()) across = across_of(tables);
      fit_fabrics(tables, across, group.fabric, false, all);
    }
    const auto before = texts_of(complete_);
    const auto after = texts_of(completed(std::move(all), tables_, experts, across));
    std::map<std::string, std::string> changed;
    for (const auto& [path, text] : before) {
      const auto found = after.find(path);
      const std::string& now = found == after.end() ? std::string() : found->second;
      if (now != text && (now.empty() || predicts(path, group))) changed[path] = now;
    }
    return changed;
  }

  // Whether the constants of `path` may serve the group's fabric: a network's factors serve no
  // fabric within nodes, and the other way round.
  bool predicts(const std::string& path, const NetworkGroup& group) const {
    const std::string id = path.substr(8, path.size() - 8 - 5);  // network/<id>.yaml
    return (tables_.at(id).fabric.kind == FabricKind::kNic) ==
           (tables_.at(group.fabric).fabric.kind == FabricKind::kNic);
  }

  const std::filesystem::path data_;
  const Bundle& bundle_;
  NodeOf node_of_;
  MeasuredFabrics tables_;
  std::set<ExpertGroup> expert_groups_;
  Experts experts_;
  AcrossFit across_;
  Constants all_, complete_;  // as fitted, and with what follows from all fabrics together
};

}  // namespace

NetworkFit fit_network(const std::filesystem::path& data, const Bundle& bundle, PartMeter* meter) {
  return NetworkFitter(data, bundle).result(meter);
}

}  // namespace orrery
