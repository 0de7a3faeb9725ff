// Times of collectives within one fabric: the fastest fitted curve, or the estimate of NCCL's tuner
// for a pair of algorithm and protocol that is forced and has no curve.
#pragma once

#include <string_view>

#include "orrery/network/collectives/judged_time.h"
#include "orrery/network/collectives/measured_cluster.h"

namespace orrery {

class FabricTimes {
 public:
  // `known` outlives the times.
  explicit FabricTimes(const MeasuredCluster& known) : known_(known) {}

  // The time of `c` among `ranks` ranks on `link`, with the kernels of `stack`. REQUIRES that the
  // forced pair is offered.
  JudgedTime of(const Collective& c, const GroupLink& link, int ranks, std::string_view stack,
                const ForcedChoice& forced) const;

 private:
  // The time by a curve of the fabric. REQUIRES best.curve.
  JudgedTime by_curve(const Collective& c, const GroupLink& link, const FabricCollective& on,
                      const CurveChoice& best, const ForcedChoice& forced) const;
  // Sets the error and the origin of a curve that was measured on another server or other GPUs.
  void judge_server(const CurveChoice& best, const FabricCollective& on, JudgedTime& choice) const;
  // The time of a forced reduction in the switch that is too short for the fitted curve.
  void start_of_switch(const Collective& c, const GroupLink& link, Seconds free,
                       const ForcedChoice& forced, JudgedTime& choice) const;
  // Puts the time of a small message in a domain that is larger than any measured one between that
  // of the curve and that of a reduction in the domain's switches.
  void count_switches(const Collective& c, const GroupLink& link, JudgedTime& choice) const;
  // Limits a time within a domain that is larger than any measured one by that of two such domains
  // over a network that was measured.
  void limit_by_two_domains(const Collective& c, JudgedTime& choice) const;
  // Gives a send on wires that nobody measured the start of the measured sends.
  void start_of_pair(const FittedCurve& send, const Fabric& fabric, const MeasuredConstants& known,
                     JudgedTime& choice) const;

  const MeasuredCluster& known_;
};

}  // namespace orrery
