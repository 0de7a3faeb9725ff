// Arrivals at one rate: Poisson, gamma, even, and all at once.
#include <boost/math/special_functions/gamma.hpp>

#include "orrery/serving/requests/arrivals.h"

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
    return now +
           boost::math::gamma_p_inv(shape_, random.uniform(), DoubleMath()) / (shape_ * rate_);
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

}  // namespace

std::unique_ptr<ArrivalProcess> make_poisson(const ArrivalParameters& p) {
  return std::make_unique<Poisson>(p);
}
std::unique_ptr<ArrivalProcess> make_gamma(const ArrivalParameters& p) {
  return std::make_unique<Gamma>(p);
}
std::unique_ptr<ArrivalProcess> make_even(const ArrivalParameters& p) {
  return std::make_unique<Even>(p);
}
std::unique_ptr<ArrivalProcess> make_at_once(const ArrivalParameters& p) {
  return std::make_unique<AtOnce>(p);
}

}  // namespace orrery
