#include "orrery/serving/arrivals.h"

#include <fmt/format.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

#include "orrery/base/double_math.h"
#include "orrery/base/error.h"
#include "orrery/base/kinds.h"

namespace orrery {
namespace {

class Poisson : public ArrivalProcess {
 public:
  explicit Poisson(const ArrivalParameters& p) : rate_(p.rate) {}
  double next(double now, RandomStream& random) override {
    return now + random.exponential() / rate_;
  }

 private:
  double rate_;
};

// Gaps of a gamma distribution; a coefficient of variation of 1/sqrt(burstiness).
class Gamma : public ArrivalProcess {
 public:
  explicit Gamma(const ArrivalParameters& p) : rate_(p.rate), shape_(p.burstiness) {}
  double next(double now, RandomStream& random) override {
    return now + boost::math::gamma_p_inv(shape_, random.uniform(), DoubleMath()) / (shape_ * rate_);
  }

 private:
  double rate_, shape_;
};

class Even : public ArrivalProcess {
 public:
  explicit Even(const ArrivalParameters& p) : gap_(1 / p.rate) {}
  double next(double, RandomStream&) override { return static_cast<double>(++count_) * gap_; }

 private:
  double gap_;
  long count_ = 0;
};

class AtOnce : public ArrivalProcess {
 public:
  explicit AtOnce(const ArrivalParameters&) {}
  double next(double now, RandomStream&) override { return now; }
};

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

template <class A>
std::unique_ptr<ArrivalProcess> make(const ArrivalParameters& p) {
  return std::make_unique<A>(p);
}

}  // namespace

const std::vector<ArrivalKind>& arrival_kinds() {
  static const std::vector<ArrivalKind> kinds = {
      {"poisson", "independent of each other", make<Poisson>},
      {"gamma", "gaps of a gamma distribution with shape `burstiness`", make<Gamma>},
      {"even", "equal gaps", make<Even>},
      {"at-once", "all at the start", make<AtOnce>},
      {"ramp", "Poisson, the rate rises from `rate` to `end_rate` within `period`", make<Ramp>},
      {"diurnal", "Poisson, the rate swings by `amplitude` with `period`", make<Diurnal>},
  };
  return kinds;
}

std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p) {
  const auto need = [](const char* key, double v, double least, double most) {
    if (v >= least && v <= most) return;
    throw InputError(fmt::format("load.{}: expected {} to {}, got {}", key, least, most, v));
  };
  need("rate", p.rate, 1e-9, 1e9);
  need("burstiness", p.burstiness, 1e-3, 1e6);
  need("end_rate", p.end_rate, 1e-9, 1e9);
  need("period", p.period.value(), 1e-3, 1e9);
  need("amplitude", p.amplitude, 0, 1);
  return kind_named(arrival_kinds(), "arrivals", name).make(p);
}

}  // namespace orrery
