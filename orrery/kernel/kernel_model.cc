#include "orrery/kernel/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/family.h"
#include "orrery/kernel/surface.h"

namespace orrery {
namespace {

// Errors of the tiers below "measured", relative, shared by all ops of a family (docs/kernels.md).
constexpr double kSameGenerationError = 0.08;
constexpr double kTransferredError = 0.25;
constexpr double kAnalyticalError = 0.40;
constexpr double kAnalyticalOwn = 0.20;

std::string file_path(std::string_view family, std::string_view framework, std::string_view gpu) {
  return fmt::format("kernels/{}/{}-{}.txt", family, framework, gpu);
}

// How unlike two GPUs are as far as kernels care: another generation first, then what decides
// tiling (shared memory), the arithmetic of a unit, the balance of arithmetic and bandwidth, and
// power (throttling).
double distance(const Gpu& a, const Gpu& b) {
  auto ratio = [](double x, double y) { return x > 0 && y > 0 ? std::abs(std::log(x / y)) : 0.5; };
  auto rate = [](const Gpu& g) {
    return rate_for(g.supports(Dtype::kBf16) ? Dtype::kBf16 : Dtype::kFp16, g).value();
  };
  auto shared = [](const Gpu& g) { return g.shared_memory ? g.shared_memory->value() : 0; };
  auto per_unit = [&](const Gpu& g) { return rate(g) / g.compute_units; };
  auto power = [&](const Gpu& g) { return g.power ? g.power->value() / rate(g) : 0; };
  double d = a.architecture == b.architecture ? 0 : 3;
  d += 2 * ratio(shared(a), shared(b)) + ratio(per_unit(a), per_unit(b));
  d += 0.5 * ratio(rate(a) / a.memory.bandwidth.value(), rate(b) / b.memory.bandwidth.value());
  d += 0.5 * ratio(power(a), power(b));
  return d + (a.vendor == b.vendor ? 0 : 5);
}

// The surface that serves a class, and how much it may be trusted here.
struct Served {
  const Surface* surface = nullptr;  // null: physics alone
  const SurfaceFile* file = nullptr;
  std::string gpu;  // it was measured on
  double factor = 1, own = kAnalyticalOwn, shared = kAnalyticalError;
  Origin origin = Origin::kAnalytical;
};

struct FamilyModel {
  const KernelFamily* family = nullptr;
  std::string framework;
  std::vector<Served> classes;  // by KernelFamily::class_of
};

const std::string& framework_of(const KernelClasses& c, std::string_view family) {
  if (family.starts_with("attention")) return c.attention;
  if (family == "moe") return c.moe;
  if (family.starts_with("mla")) return c.mla;
  if (family == "linear_attention") return c.linear_attention;
  return c.gemm;
}

class SurfaceKernelModel : public KernelModel {
 public:
  SurfaceKernelModel(const Gpu& gpu, const KernelClasses& classes, const Bundle& bundle,
                     TierChoice tier)
      : gpu_(gpu), bundle_(bundle) {
    for (const KernelFamily* family : kernel_families()) {
      FamilyModel& m = families_.emplace_back();
      m.family = family;
      m.framework = framework_of(classes, family->name());
      m.classes.resize(family->classes().size());
      if (tier == TierChoice::kAnalytical || gpu.vendor != "nvidia" || family->classes().empty())
        continue;
      const std::vector<std::pair<double, std::string>> measured =
          measured_gpus(*family, m.framework);
      for (std::size_t i = 0; i < m.classes.size(); ++i)
        m.classes[i] = serve(m, family->classes()[i], measured, tier);
    }
  }

  KernelTime predict(const Op& op) const override {
    for (const FamilyModel& m : families_) {
      if (!m.family->accepts(op)) continue;
      const KernelPoint p = m.family->point(op, gpu_, false);
      const int index = m.family->class_of(op);
      const Served* served = index >= 0 ? &m.classes[static_cast<std::size_t>(index)] : nullptr;
      KernelTime t;
      t.compute = p.compute;
      t.memory = p.memory;
      Seconds floor, work;
      if (served && served->surface) {
        const SurfaceCell cell = cell_at(served->file->axes, p.x);
        floor = served->surface->floor;
        work = p.base * (std::exp(served->surface->at(cell)) * served->factor);
        t.time = {floor + work, served->shared, served->own, served->origin};
      } else {
        floor = m.family->analytical_floor();
        work = p.base * m.family->analytical_inefficiency(op, gpu_);
        t.time = m.family->analytical_error();
        t.time.value = floor + work;
      }
      t.time.value = std::max(t.time.value, p.least) + p.rest;
      t.bound = floor > work           ? Bound::kLaunch
                : p.compute > p.memory ? Bound::kCompute
                                       : Bound::kMemory;
      return t;
    }
    return by_roofline(op);
  }

  std::string provenance(const Op& op) const override {
    for (const FamilyModel& m : families_) {
      const int index = m.family->accepts(op) ? m.family->class_of(op) : -1;
      if (index < 0) continue;
      const Served& s = m.classes[static_cast<std::size_t>(index)];
      if (!s.surface) break;
      return fmt::format("{} {} of {} measured on {}", m.framework, s.surface->kernel_class,
                         m.family->name(), s.gpu);
    }
    return fmt::format("data sheet of {} and physics", gpu_.id);
  }

 private:
  // Ops of no family: the roofline at the efficiencies that memory-bound and compute-bound kernels
  // commonly reach.
  KernelTime by_roofline(const Op& op) const {
    KernelTime t;
    const Flops work = flops(op);
    if (work > Flops(0)) t.compute = work / rate_for(arithmetic(op), gpu_);
    t.memory = bytes(op) / gpu_.memory.bandwidth;
    const Seconds floor = microseconds(10);
    const Seconds bound = std::max(t.compute, t.memory);
    t.time = {floor + bound * 1.5, kAnalyticalError, kAnalyticalOwn, Origin::kAnalytical};
    t.bound = floor > bound          ? Bound::kLaunch
              : t.compute > t.memory ? Bound::kCompute
                                     : Bound::kMemory;
    return t;
  }

  // GPUs with a file of this family and framework, nearest first.
  std::vector<std::pair<double, std::string>> measured_gpus(const KernelFamily& family,
                                                            const std::string& framework) const {
    std::vector<std::pair<double, std::string>> out;
    const std::string prefix = fmt::format("kernels/{}/{}-", family.name(), framework);
    const Catalog catalog(bundle_);
    for (const std::string& path : bundle_.list(fmt::format("kernels/{}", family.name()), ".txt")) {
      if (!path.starts_with(prefix)) continue;
      const std::string id = path.substr(prefix.size(), path.size() - prefix.size() - 4);
      out.emplace_back(id == gpu_.id ? -1 : distance(gpu_, catalog.gpu(id)), id);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  // Its own sweep first; then the wanted class of a relative of the same generation; then a
  // substitute on this GPU; then both on any relative.
  Served serve(const FamilyModel& m, const KernelFamily::KernelClass& wanted,
               const std::vector<std::pair<double, std::string>>& measured, TierChoice tier) {
    Served best;
    double best_penalty = 1e9;
    for (const KernelFamily::Choice& choice : wanted.choices) {
      for (const auto& [far, id] : measured) {
        const bool own_sweep = far < 0;
        if (own_sweep && tier == TierChoice::kTransferred) continue;
        const double transfer = own_sweep ? 0
                                : far < 3 ? kSameGenerationError * (1 + far)
                                          : kTransferredError;
        const double penalty = transfer + choice.error + (own_sweep ? 0 : 0.01 * far);
        if (penalty >= best_penalty) continue;
        const SurfaceFile& file = load(m, id);
        const Surface* surface = file.find(choice.name);
        if (!surface) continue;
        best_penalty = penalty;
        best = {surface,
                &file,
                id,
                choice.factor,
                std::hypot(surface->own, own_sweep ? 0 : 0.08),
                std::hypot(std::hypot(surface->shared, transfer), choice.error),
                own_sweep && choice.error == 0 ? Origin::kMeasured : Origin::kTransferred};
      }
    }
    return best;
  }

  const SurfaceFile& load(const FamilyModel& m, const std::string& gpu) {
    const std::string path = file_path(m.family->name(), m.framework, gpu);
    auto& slot = files_[path];
    if (!slot) {
      const auto file = bundle_.find(path);
      slot = std::make_unique<SurfaceFile>(parse_surfaces(file->content, file->name));
      if (slot->axes.nodes != m.family->axes()) {
        throw InputError(
            fmt::format("{}: its axes are not those of the family; fit it again", file->name));
      }
    }
    return *slot;
  }

  Gpu gpu_;
  Bundle bundle_;
  std::vector<FamilyModel> families_;
  std::map<std::string, std::unique_ptr<SurfaceFile>> files_;
};

}  // namespace

std::string_view to_text(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLaunch:
      return "launch";
    case Bound::kNetwork:
      return "network";
  }
  return "";
}

std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle, TierChoice tier) {
  return std::make_unique<SurfaceKernelModel>(gpu, classes, bundle, tier);
}

}  // namespace orrery
