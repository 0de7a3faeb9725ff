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

struct GammaParameters {
  double burstiness = 1;  // shape of the gaps, as in vLLM: 1 is Poisson, below 1 is burstier

  void declare(Fields& f) {
    f.add("burstiness", burstiness,
          "gamma arrivals: 1 is the same as poisson, less than 1 is burstier")
        .range(1e-3, 1e6);
  }
};

// Gaps of a gamma distribution; a coefficient of variation of 1/sqrt(burstiness).
class Gamma : public ArrivalProcess {
 public:
  explicit Gamma(const ArrivalParameters& p)
      : rate_(p.rate), shape_(p.own.of<GammaParameters>().burstiness) {}
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
void declare_gamma(Fields& f, OwnParameters& own) { own.of<GammaParameters>().declare(f); }
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
