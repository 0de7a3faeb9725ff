// Poisson arrivals at a rate that changes: a ramp, and a daily wave.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "orrery/base/error.h"
#include "orrery/serving/requests/arrivals.h"

namespace orrery {
namespace {

struct ChangingParameters {
  double end_rate = 1;             // requests a second at the end of ramp's period and after it
  Seconds period = Seconds(3600);  // length of diurnal's wave or of ramp's rise
  double amplitude = 0.5;          // swing of diurnal's rate relative to the rate, 0 to 1

  void declare_period(Fields& f) {
    f.add("period", period, "ramp: how long the rate rises; diurnal: length of a wave");
  }
};

// The parameters. Throws InputError for a period that is too short or too long.
const ChangingParameters& checked(const ArrivalParameters& p) {
  const auto& own = p.own.of<ChangingParameters>();
  constexpr double kLeast = 1e-3, kMost = 1e9;
  if (!(own.period.value() >= kLeast && own.period.value() <= kMost))
    throw InputError(
        fmt::format("load.period: expected {} to {}, got {}", kLeast, kMost, own.period.value()));
  return own;
}

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
  Ramp(double rate, const ChangingParameters& p)
      : Thinned(std::max(rate, p.end_rate)), rate_(rate), p_(p) {}

 protected:
  double rate(double t) const override {
    return rate_ + (p_.end_rate - rate_) * std::min(t / p_.period.value(), 1.0);
  }

 private:
  double rate_;
  ChangingParameters p_;
};

class Diurnal : public Thinned {
 public:
  Diurnal(double rate, const ChangingParameters& p)
      : Thinned(rate * (1 + p.amplitude)), rate_(rate), p_(p) {}

 protected:
  double rate(double t) const override {
    return rate_ * (1 + p_.amplitude * std::sin(2 * std::numbers::pi * t / p_.period.value()));
  }

 private:
  double rate_;
  ChangingParameters p_;
};

}  // namespace

void declare_ramp(Fields& f, OwnParameters& own) {
  auto& p = own.of<ChangingParameters>();
  f.add("end_rate", p.end_rate, "ramp: arrivals per second at the end of the ramp")
      .range(1e-9, 1e9);
  p.declare_period(f);
}
std::unique_ptr<ArrivalProcess> make_ramp(const ArrivalParameters& p) {
  return std::make_unique<Ramp>(p.rate, checked(p));
}

void declare_diurnal(Fields& f, OwnParameters& own) {
  auto& p = own.of<ChangingParameters>();
  p.declare_period(f);
  f.add("amplitude", p.amplitude, "diurnal: amplitude of the rate, relative to its mean")
      .range(0, 1);
}
std::unique_ptr<ArrivalProcess> make_diurnal(const ArrivalParameters& p) {
  return std::make_unique<Diurnal>(p.rate, checked(p));
}

}  // namespace orrery
