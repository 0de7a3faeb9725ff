#include "orrery/kernel/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/calibration.h"
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

// Gradients' products and elementwise kernels on the surfaces of forward ones: other operand
// layouts, sums over rows. Both gradients of a linear layer together take 0.82 to 0.98 of two
// forward products (medians by GPU; V100, A100, MI100, MI210; data/training/neusight_ops).
constexpr double kGradientError = 0.12;

// FlashAttention's backward pass: 2.5 times the forward's FLOPs, at a lower rate: the ratio of the
// rates as training runs show it (../shared/reference/training.md), the mean of the three
// elsewhere. Not measured kernel by kernel: wide.
constexpr double kBackwardFlops = 2.5;
constexpr double kAttentionBackwardError = 0.20;
double backward_factor(const Gpu& gpu) {
  if (gpu.architecture == "ampere") return 1.49;
  if (gpu.architecture == "hopper") return 1.28;
  return gpu.architecture == "blackwell" ? 1.36 : 1.38;
}

bool is_gradient(const Op& op) {
  if (const auto* g = std::get_if<Gemm>(&op)) return g->gradient;
  if (const auto* e = std::get_if<Elementwise>(&op)) return e->gradient;
  return false;
}

// Whose kernels the other frameworks take up when a GPU is new.
const std::string kMaker = "trtllm";

struct FamilyModel {
  const KernelFamily* family = nullptr;
  std::string framework;
  std::vector<ServingSurface> classes;  // by KernelFamily::class_of
  // Where this generation replaced the framework's kernel by TensorRT-LLM's: that one, on the
  // relative. The faster of the two serves.
  std::vector<ServingSurface> replacing;
  // Measured points of this GPU that correct a class, null for those without; empty: none at all.
  std::vector<const Calibration*> calibrations;
};

const std::string& framework_of(const KernelClasses& c, std::string_view family) {
  if (family.starts_with("attention")) return c.attention;
  if (family.starts_with("moe")) return c.moe;
  if (family.starts_with("mla") || family == "sparse_attention") return c.mla;
  if (family == "linear_attention" || family == "causal_convolution") return c.linear_attention;
  if (family == "row_kernels") return c.rows;
  return c.gemm;
}

class SurfaceKernelModel : public KernelModel {
 public:
  SurfaceKernelModel(const Gpu& gpu, const KernelClasses& classes, const Bundle& bundle,
                     TierChoice tier)
      : gpu_(gpu), bundle_(bundle) {
    for (const KernelFamily* family : kernel_families()) {
      if (framework_of(classes, family->name()).empty()) continue;
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
      serve_surfaces(m, tier);
      calibrate(m);
    }
  }

  KernelTime predict(const Op& op) const override {
    if (const auto* backward = std::get_if<AttentionBackward>(&op))
      return attention_backward(*backward);
    KernelTime t = forward(op);
    if (is_gradient(op)) t.time.shared = std::hypot(t.time.shared, kGradientError);
    return t;
  }

  KernelTime predict_repeated(const Op& op, std::string_view family) const override {
    for (const FamilyModel& m : families_) {
      if (m.family->name() == family) return predict(m, op, true);
    }
    return by_roofline(op);
  }

  std::string provenance(const Op& op) const override {
    if (const auto* backward = std::get_if<AttentionBackward>(&op))
      return fmt::format("{:.2f} times the forward pass: {}",
                         kBackwardFlops * backward_factor(gpu_), provenance(backward->forward));
    for (const FamilyModel& m : families_) {
      const int index = m.family->accepts(op) ? m.family->class_of(op) : -1;
      if (index < 0) continue;
      const ServingSurface& s = m.classes[static_cast<std::size_t>(index)];
      const Calibration* points = calibration_of(m, op);
      const std::string calibrated =
          points ? fmt::format(", corrected by {} points measured on it", points->points.size())
                 : "";
      if (!s.surface) return fmt::format("data sheet of {} and physics{}", gpu_.id, calibrated);
      if (s.gpu.empty())
        return fmt::format("{} of {}, fitted on layers of several GPUs", s.surface->kernel_class,
                           m.family->name());
      const char* replaced = replacement(*m.family, s);
      return fmt::format("{} {} of {} measured on {}{}{}", m.framework, s.surface->kernel_class,
                         m.family->name(), s.gpu,
                         replaced ? fmt::format(" (this generation replaced {})", replaced) : "",
                         calibrated);
    }
    return fmt::format("data sheet of {} and physics", gpu_.id);
  }

 private:
  KernelTime attention_backward(const AttentionBackward& backward) const {
    const Op op = backward;
    KernelTime t = forward(backward.forward);
    t.compute = flops(op) / rate_for(arithmetic(op), gpu_);
    t.memory = bytes(op) / gpu_.memory.bandwidth;
    t.time = t.time.scaled(kBackwardFlops * backward_factor(gpu_));
    t.time.value = std::max({t.time.value, t.compute, t.memory});
    t.time.shared = std::hypot(t.time.shared, kAttentionBackwardError);
    t.time.origin = std::max(t.time.origin, Origin::kTransferred);
    if (t.bound != Bound::kLaunch)
      t.bound = t.compute > t.memory ? Bound::kCompute : Bound::kMemory;
    return t;
  }

  KernelTime forward(const Op& op) const {
    for (const FamilyModel& m : families_) {
      if (m.family->accepts(op)) return predict(m, op, false);
    }
    return by_roofline(op);
  }

  // Its own surfaces or a relative's, and what replaced the relative's kernels.
  void serve_surfaces(FamilyModel& m, TierChoice tier) {
    m.classes = serve(*m.family, m.framework, tier);
    const auto replaced = [&](const ServingSurface& s) { return replacement(*m.family, s); };
    if (std::none_of(m.classes.begin(), m.classes.end(), replaced)) return;
    if (m.framework != kMaker) m.replacing = serve(*m.family, kMaker, tier);
    for (std::size_t i = 0; i < m.classes.size(); ++i) {
      if (replaced(m.classes[i])) {
        widen_replaced(m.classes[i]);
      } else if (!m.replacing.empty()) {
        m.replacing[i] = {};
      }
    }
  }

  // Classes without a sweep of their own are corrected where points were measured.
  void calibrate(FamilyModel& m) {
    const auto text = bundle_.find(calibration_path(m.family->name(), m.framework, gpu_.id));
    if (!text) return;
    auto file = std::make_unique<CalibrationFile>(parse_calibration(text->content, text->name));
    m.calibrations.resize(m.classes.size());
    for (std::size_t i = 0; i < m.classes.size(); ++i) {
      if (m.classes[i].origin == Origin::kMeasured) continue;
      const Calibration* c = file->find(m.family->classes()[i].choices.front().name);
      if (c && c->places != m.family->axes().size() + 1)
        throw InputError(
            fmt::format("{}: its places are not those of the family; make it again", text->name));
      m.calibrations[i] = c;
    }
    calibrations_.push_back(std::move(file));
  }

  // The surface for each class of a family from a framework's files.
  std::vector<ServingSurface> serve(const KernelFamily& family, const std::string& framework,
                                    TierChoice tier) {
    const std::vector<MeasuredGpu> measured = measured_gpus(family, framework, tier);
    const auto load = [&](const std::string& id) -> const SurfaceFile& {
      return load_file(family, surface_path(family.name(), framework, id));
    };
    std::vector<ServingSurface> classes;
    for (const KernelFamily::KernelClass& wanted : family.classes()) {
      ServingSurface& s =
          classes.emplace_back(choose_surface(family.name(), wanted, measured, load));
      if (!s.surface || s.gpu == gpu_.id) continue;
      if (!relatives_.contains(s.gpu)) relatives_.emplace(s.gpu, Catalog(bundle_).gpu(s.gpu));
      s.relative = &relatives_.at(s.gpu);
    }
    return classes;
  }

  const char* replacement(const KernelFamily& family, const ServingSurface& s) const {
    return s.relative ? replacement_of(family.name(), s.surface->kernel_class, gpu_, *s.relative)
                      : nullptr;
  }

  KernelTime predict(const FamilyModel& m, const Op& op, bool repeated) const {
    const KernelPoint p = m.family->point(op, gpu_, repeated);
    KernelTime t = uncalibrated(m, op, p, repeated);
    if (const Calibration* c = calibration_of(m, op)) {
      // It was made for repeated calls: what they are off by, a call of a step is too.
      const KernelPoint warm = repeated ? p : m.family->point(op, gpu_, true);
      const Seconds its_time = repeated ? t.time.value : uncalibrated(m, op, warm, true).time.value;
      const double factor = c->factor(calibration_place(its_time, warm));
      t.time = {std::max(t.time.value * factor, p.least), c->shared, c->own, Origin::kTransferred};
    }
    if (!repeated) t.time.value += p.rest;
    return t;
  }

  // The measured points of this GPU that correct the class of an op, or null.
  static const Calibration* calibration_of(const FamilyModel& m, const Op& op) {
    if (m.calibrations.empty()) return nullptr;
    const int index = m.family->class_of(op);
    return index < 0 ? nullptr : m.calibrations[static_cast<std::size_t>(index)];
  }

  // `p`: of the same op, repeated or not. Without KernelPoint::rest.
  KernelTime uncalibrated(const FamilyModel& m, const Op& op, const KernelPoint& p,
                          bool repeated) const {
    const int index = m.family->class_of(op);
    const ServingSurface* served =
        index >= 0 ? &m.classes[static_cast<std::size_t>(index)] : nullptr;
    KernelTime t;
    t.compute = p.compute;
    t.memory = p.memory;
    Seconds floor, work;
    if (served && served->surface) {
      floor = served->surface->floor;
      work = work_of(*m.family, op, p, *served, repeated);
      if (!m.replacing.empty()) {
        const ServingSurface& other = m.replacing[static_cast<std::size_t>(index)];
        if (other.surface) {
          const Seconds its_work = work_of(*m.family, op, p, other, repeated);
          if (other.surface->floor + its_work < floor + work) {
            floor = other.surface->floor;
            work = its_work;
          }
        }
      }
      t.time = {floor + work, served->shared, served->own, served->origin};
    } else {
      floor = m.family->analytical_floor();
      work = p.base * m.family->analytical_inefficiency(op, gpu_);
      t.time = {floor + work, kAnalyticalError, kAnalyticalOwn, Origin::kAnalytical};
    }
    t.time.value = std::max(t.time.value, p.least);
    t.bound = floor > work           ? Bound::kLaunch
              : p.compute > p.memory ? Bound::kCompute
                                     : Bound::kMemory;
    return t;
  }

  Seconds work_of(const KernelFamily& family, const Op& op, const KernelPoint& p,
                  const ServingSurface& s, bool repeated) const {
    return repeated ? p.base * surface_factor(family, op, s, p) : served_work(family, op, p, s);
  }

  // What the surface makes of `base` on this GPU.
  double surface_factor(const KernelFamily& family, const Op& op, const ServingSurface& s,
                        const KernelPoint& p) const {
    const double there = std::exp(s.surface->at(cell_at(s.file->axes, p.x)));
    if (!s.relative) return there * s.factor;
    return carried_over(there, op, p, gpu_, family.point(op, *s.relative, true), *s.relative) *
           s.factor;
  }

  // The surface holds for operands as they were measured: those that fit stay in the L2. A call of
  // a step, whose weights come from memory, takes at least that time, and at least what streaming
  // its operands takes. What is slow for another reason (few blocks, latency) is not made slower.
  Seconds served_work(const KernelFamily& family, const Op& op, const KernelPoint& cold,
                      const ServingSurface& s) const {
    const double surface = surface_factor(family, op, s, cold);
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
      if (s) m.classes[i] = {s, &file, "", 1, s->own, s->shared, Origin::kFitted, nullptr};
    }
  }

  // GPUs of the same maker with a file of this family and framework, nearest first.
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
      const Gpu relative = catalog.gpu(id);
      if (relative.vendor != gpu_.vendor) continue;  // other libraries, other kernels
      out.push_back({id, own, own ? 0 : distance(gpu_, relative)});
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
    if (slot->axes.nodes != family.axes()) {
      throw InputError(
          fmt::format("{}: its axes are not those of the family; fit it again", text->name));
    }
    return *slot;
  }

  Gpu gpu_;
  Bundle bundle_;
  std::vector<FamilyModel> families_;
  std::map<std::string, std::unique_ptr<SurfaceFile>> files_;
  std::map<std::string, Gpu> relatives_;
  std::vector<std::unique_ptr<CalibrationFile>> calibrations_;
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
