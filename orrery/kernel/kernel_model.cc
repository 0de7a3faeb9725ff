#include "orrery/kernel/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/family.h"
#include "orrery/kernel/surface.h"
#include "orrery/kernel/transfer.h"

namespace orrery {
namespace {

// Errors of physics alone, relative.
constexpr double kAnalyticalError = 0.40;
constexpr double kAnalyticalOwn = 0.20;

// Memory-bound products reach 0.77 to 0.88 of the bandwidth on every NVIDIA GPU (data/kernels).
constexpr double kStreaming = 1 / 0.82;

struct FamilyModel {
  const KernelFamily* family = nullptr;
  std::string framework;
  std::vector<ServingSurface> classes;  // by KernelFamily::class_of
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
      if (tier == TierChoice::kAnalytical) continue;
      const std::string for_any_gpu = surface_path(family->name(), "any", "gpu");
      if (bundle.find(for_any_gpu)) {
        serve_any_gpu(m, load_file(*family, for_any_gpu));
        continue;
      }
      if (gpu.vendor != "nvidia") continue;
      const std::vector<MeasuredGpu> measured = measured_gpus(*family, m.framework, tier);
      const auto load = [&](const std::string& id) -> const SurfaceFile& {
        return load_file(*family, surface_path(family->name(), m.framework, id));
      };
      for (std::size_t i = 0; i < m.classes.size(); ++i) {
        m.classes[i] = choose_surface(family->name(), family->classes()[i], measured, load);
      }
    }
  }

  KernelTime predict(const Op& op) const override {
    for (const FamilyModel& m : families_) {
      if (!m.family->accepts(op)) continue;
      const KernelPoint p = m.family->point(op, gpu_, false);
      const int index = m.family->class_of(op);
      const ServingSurface* served =
          index >= 0 ? &m.classes[static_cast<std::size_t>(index)] : nullptr;
      KernelTime t;
      t.compute = p.compute;
      t.memory = p.memory;
      Seconds floor, work;
      if (served && served->surface) {
        floor = served->surface->floor;
        work = served_work(*m.family, op, p, *served);
        // Of the surface's own error the part of this regime; the rest is that of the transfer.
        const Surface& s = *served->surface;
        const double own = s.own_at(floor / (floor + work));
        const double spread =
            std::sqrt(std::max(0.0, served->own * served->own - s.own * s.own + own * own));
        t.time = {floor + work, served->shared, spread, served->origin};
      } else {
        floor = m.family->analytical_floor();
        work = p.base * m.family->analytical_inefficiency(op, gpu_);
        t.time = {floor + work, kAnalyticalError, kAnalyticalOwn, Origin::kAnalytical};
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
      const ServingSurface& s = m.classes[static_cast<std::size_t>(index)];
      if (!s.surface) break;
      if (s.gpu.empty())
        return fmt::format("{} of {}, fitted on layers of several GPUs", s.surface->kernel_class,
                           m.family->name());
      return fmt::format("{} {} of {} measured on {}", m.framework, s.surface->kernel_class,
                         m.family->name(), s.gpu);
    }
    return fmt::format("data sheet of {} and physics", gpu_.id);
  }

 private:
  // The surface holds for operands as they were measured: those that fit stay in the L2. A call of
  // a step, whose weights come from memory, takes at least that time, and at least what streaming
  // its operands takes. What is slow for another reason (few blocks, latency) is not made slower.
  Seconds served_work(const KernelFamily& family, const Op& op, const KernelPoint& cold,
                      const ServingSurface& s) const {
    const double surface = std::exp(s.file->at(*s.surface, cold)) * s.factor;
    const bool fits = gpu_.l2 && cold.memory * gpu_.memory.bandwidth <= *gpu_.l2 * kBeyondCache;
    if (!fits || s.origin == Origin::kFitted) return cold.base * surface;
    const Seconds measured = family.point(op, gpu_, true).base * surface;
    return std::max(measured, cold.base * std::min(surface, kStreaming));
  }

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

  // One file for all GPUs and frameworks (elementwise work).
  static void serve_any_gpu(FamilyModel& m, const SurfaceFile& file) {
    for (std::size_t i = 0; i < m.classes.size(); ++i) {
      const Surface* s = file.find(m.family->classes()[i].choices.front().name);
      if (s) m.classes[i] = {s, &file, "", 1, s->own, s->shared, Origin::kFitted};
    }
  }

  // GPUs with a file of this family and framework, nearest first.
  std::vector<MeasuredGpu> measured_gpus(const KernelFamily& family, const std::string& framework,
                                         TierChoice tier) const {
    std::vector<MeasuredGpu> out;
    const std::string prefix = fmt::format("kernels/{}/{}-", family.name(), framework);
    const Catalog catalog(bundle_);
    for (const std::string& path : bundle_.list(fmt::format("kernels/{}", family.name()), ".txt")) {
      if (!path.starts_with(prefix)) continue;
      const std::string id = path.substr(prefix.size(), path.size() - prefix.size() - 4);
      const bool own = id == gpu_.id;
      if (own && tier == TierChoice::kTransferred) continue;
      out.push_back({id, own, own ? 0 : distance(gpu_, catalog.gpu(id))});
    }
    std::sort(out.begin(), out.end(), [](const MeasuredGpu& a, const MeasuredGpu& b) {
      return std::tuple(!a.own, a.distance, a.id) < std::tuple(!b.own, b.distance, b.id);
    });
    return out;
  }

  // The parsed file at `path` of the bundle, where there is one.
  const SurfaceFile& load_file(const KernelFamily& family, const std::string& path) {
    std::unique_ptr<SurfaceFile>& slot = files_[path];
    if (slot) return *slot;
    const auto text = bundle_.find(path);
    slot = std::make_unique<SurfaceFile>(parse_surfaces(text->content, text->name));
    if (slot->axes.nodes != family.axes() || slot->series_axes.nodes != family.series_axes()) {
      throw InputError(
          fmt::format("{}: its axes are not those of the family; fit it again", text->name));
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
