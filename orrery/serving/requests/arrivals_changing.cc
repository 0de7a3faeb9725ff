// Poisson arrivals at a rate that changes: a ramp, and a daily wave.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orrery/serving/requests/arrivals.h"

namespace orrery {
namespace {

// Poisson with a rate that changes: candidates at the highest rate, kept by chance (Lewis and
// Shedler 1979).
class Thinned : public ArrivalProcess {
 public:
  explicit Thinned(double highest) : highest_(highest) {}
  double next(double now, RandomStream& random) override {
    do {
      now += random.exponential() / highest_;
    } while (random.uniform() * highest_ >= rate(now));
    return now;
  }

 protected:
  virtual double rate(double t) const = 0;

 private:
  double highest_;
};

class Ramp : public Thinned {
 public:
  explicit Ramp(const ArrivalParameters& p) : Thinned(std::max(p.rate, p.end_rate)), p_(p) {}

 protected:
  double rate(double t) const override {
    return p_.rate + (p_.end_rate - p_.rate) * std::min(t / p_.period.value(), 1.0);
  }

 private:
  ArrivalParameters p_;
};

class Diurnal : public Thinned {
 public:
  explicit Diurnal(const ArrivalParameters& p) : Thinned(p.rate * (1 + p.amplitude)), p_(p) {}

 protected:
  double rate(double t) const override {
    return p_.rate * (1 + p_.amplitude * std::sin(2 * std::numbers::pi * t / p_.period.value()));
  }

 private:
  ArrivalParameters p_;
};

}  // namespace

std::unique_ptr<ArrivalProcess> make_ramp(const ArrivalParameters& p) {
  return std::make_unique<Ramp>(p);
}
std::unique_ptr<ArrivalProcess> make_diurnal(const ArrivalParameters& p) {
  return std::make_unique<Diurnal>(p);
}

}  // namespace orrery
