// The machines of measured collectives, each with the network model of the bundle and with the one
// that was fitted without the machine's group of rows (network_folds.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/network_model.h"

namespace orrery {

// `gpu` and `fabric` as network/measured.csv spells them (measured_place.h).
struct MeasuredMachine {
  std::string gpu, fabric;
  int ranks = 2, nodes = 1;
  std::string stack = "nccl";  // make_network.h
  bool experts = false;        // the rows are DeepEP's exchanges
};

class NetworkMachines {
 public:
  struct Machine {
    Cluster cluster;
    std::unique_ptr<NetworkModel> model;
    // Fitted without the group; the same model again if no fit has seen the group.
    std::unique_ptr<NetworkModel> left_out;
    bool fitted = false;  // a fit has seen the group
  };
  // `bundle` must outlive the machines.
  explicit NetworkMachines(const Bundle& bundle) : bundle_(bundle), catalog_(bundle) {}

  const Catalog& catalog() const { return catalog_; }
  // NoData: the source does not describe the network. InputError: as measured_place.
  const Machine& of(const MeasuredMachine& measured);

 private:
  const Bundle& bundle_;
  Catalog catalog_;
  std::map<std::string, Machine> machines_;
  std::map<std::string, std::optional<Bundle>> folds_;  // by the group's name
};

}  // namespace orrery
