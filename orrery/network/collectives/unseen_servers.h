// The errors of collectives within a node on servers of which no row was fitted:
// catalog/network/unseen-servers.yaml, written by `orrery fit network`.
//
// The constants of each fabric are fitted without one GPU at a time, and predict its rows
// (network_folds.h). What they miss is what a server may be off that nobody measured. All
// collectives of such a server err together.
#pragma once

#include <array>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

// The errors are standard deviations of ln(predicted / measured), by size_class of the message.
struct UnseenServers {
  std::array<double, 3> same_fabric{};   // other GPUs were measured on the fabric
  std::array<double, 3> other_fabric{};  // the constants are those of another fabric
  // The start of a send between two GPUs on a wire without a switch of which no row was fitted, as
  // the measured sends have it in common (start_of_sends). Zero: no send was measured.
  Seconds send_start{};
};

inline constexpr const char* kUnseenServersPath = "network/unseen-servers.yaml";

// Zeros if the catalog has no such file. InputError: the file is malformed.
UnseenServers read_unseen_servers(const Bundle& bundle);

// The text of the file. `groups`: numbers of groups left out, of the same and of another fabric.
std::string to_yaml(const UnseenServers& errors, const std::array<std::size_t, 2>& groups);

}  // namespace orrery
