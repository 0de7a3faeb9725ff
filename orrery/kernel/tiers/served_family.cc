#include "orrery/kernel/tiers/served_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

// The framework whose kernels the other frameworks adopt when a GPU is new.
constexpr std::string_view kMaker = "trtllm";

}  // namespace

const KernelGpu& SurfaceStore::relative(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto it = gpus_.find(id);
  return it != gpus_.end() ? it->second : gpus_.emplace(id, Catalog(bundle_).gpu(id)).first->second;
}

std::vector<MeasuredGpu> SurfaceStore::measured(const KernelFamily& family,
                                                std::string_view framework, bool own_alone) const {
  std::vector<MeasuredGpu> out;
  const std::string prefix = fmt::format("kernels/{}/{}-", family.name(), framework);
  constexpr std::string_view kEnding = ".txt.gz";
  for (const std::string& path : bundle_.list(fmt::format("kernels/{}", family.name()), kEnding)) {
    if (!path.starts_with(prefix)) continue;
    const std::string id = path.substr(prefix.size(), path.size() - prefix.size() - kEnding.size());
    const bool own = id == gpu_.id;
    if (own ? tier_ == TierChoice::kTransferred : own_alone) continue;
    const KernelGpu& other = own ? gpu_ : relative(id);
    if (other.vendor != gpu_.vendor) continue;  // other libraries, other kernels
    out.push_back({id, own, own ? 0 : distance(gpu_, other)});
  }
  std::sort(out.begin(), out.end(), [](const MeasuredGpu& a, const MeasuredGpu& b) {
    return std::tuple(!a.own, a.distance, a.id) < std::tuple(!b.own, b.distance, b.id);
  });
  return out;
}

const SurfaceFile* SurfaceStore::surfaces(const KernelFamily& family,
                                          const std::string& path) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SurfaceFile>& slot = files_[path];
  if (slot) return slot.get();
  const auto text = bundle_.find(path);
  if (!text) return nullptr;
  SurfaceFile file = parse_surfaces(inflated_surfaces(text->content, text->name), text->name);
  if (file.axes.nodes != family.axes() || file.series_axes.nodes != family.series_axes()) {
    throw InputError(
        fmt::format("{}: its axes are not those of the family; fit it again", text->name));
  }
  slot = std::make_unique<SurfaceFile>(std::move(file));
  return slot.get();
}

const CalibrationFile* SurfaceStore::calibration(const KernelFamily& family,
                                                 const std::string& path) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<CalibrationFile>& slot = calibrations_[path];
  if (slot) return slot.get();
  const auto text = bundle_.find(path);
  if (!text) return nullptr;
  CalibrationFile file = parse_calibration(text->content, text->name);
  for (const KernelClass& c : family.classes()) {
    const Calibration* points = file.find(c.sources.front().name);
    if (points && points->places != family.axes().size() + 1) {
      throw InputError(
          fmt::format("{}: its places are not those of the family; make it again", text->name));
    }
  }
  slot = std::make_unique<CalibrationFile>(std::move(file));
  return slot.get();
}

ServedFamily::ServedFamily(const KernelFamily& family, std::string framework, std::string scaled,
                           const SurfaceStore& store)
    : family_(family),
      framework_(std::move(framework)),
      scaled_(std::move(scaled)),
      store_(store),
      slots_(family.classes().size()) {}

void ServedFamily::look_up(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  if (slot.ready.load(std::memory_order_relaxed)) return;
  if (store_.tier() != TierChoice::kAnalytical) {
    slot.found = find(family_.classes()[index]);
    if (slot.found.served.surface) prepare(slot.found);
  }
  slot.ready.store(true, std::memory_order_release);
}

void ServedFamily::prepare(ServedClass& c) const {
  if (!lookup_) lookup_.emplace(family_.axes(), family_.series_axes());
  c.lookup = &*lookup_;
  const Surface& s = *c.served.surface;
  for (std::size_t regime = 0; regime < c.own.size(); ++regime) {
    const double here = s.own * s.regimes[regime];
    c.own[regime] =
        std::sqrt(std::max(0.0, c.served.own * c.served.own - s.own * s.own + here * here));
  }
}

ServedClass ServedFamily::find(const KernelClass& wanted) const {
  ServedClass c;
  const std::string& name = wanted.sources.front().name;
  const std::string& framework = framework_of(wanted);
  // One file for all GPUs and frameworks (elementwise work), unless this GPU has a sweep.
  if (const SurfaceFile* any =
          store_.surfaces(family_, surface_path(family_.name(), "any", "gpu"))) {
    c.served = own_of_torch(wanted);
    c.by_torch = c.served.surface;
    for (const KernelClassSource& choice : wanted.sources) {
      const Surface* s = c.served.surface ? nullptr : any->find(choice.name);
      if (s) c.served = {s, any, "", 1, s->own, s->shared, Origin::kFitted, nullptr};
    }
    return c;
  }
  c.served = choose(wanted, framework);
  if (wanted.torch_error > 0 && framework != kTorch && c.served.origin != Origin::kMeasured) {
    ServingSurface torch = own_of_torch(wanted);
    torch.shared = std::hypot(torch.shared, wanted.torch_error);
    if (torch.surface && (!c.served.surface || std::hypot(torch.shared, torch.own) <
                                                   std::hypot(c.served.shared, c.served.own))) {
      torch.origin = Origin::kTransferred;
      c.served = torch;
      c.by_torch = true;
    }
  }
  if (c.served.origin != Origin::kMeasured && !c.by_torch) {
    const bool own = c.served.surface && !c.served.relative;
    const KernelGpu* of = own ? &store_.gpu() : c.served.relative;
    c.rule = engine_kernel(family_.name(), framework, name, store_.gpu(), of);
  }
  if (c.rule) {
    by_rule(wanted, c);
  } else if (c.served.relative) {
    c.replaced = replacement_of(family_.name(), c.served.surface->kernel_class, store_.gpu(),
                                *c.served.relative);
  }
  if (c.replaced) {
    widen_replaced(c.served);
    if (framework != kMaker) c.replacing = choose(wanted, std::string(kMaker));
  }
  // Classes with a sweep of their own need no points.
  if (c.served.origin != Origin::kMeasured) {
    const CalibrationFile* file =
        store_.calibration(family_, calibration_path(family_.name(), framework, store_.gpu().id));
    if (file) c.points = file->find(name);
  }
  return c;
}

void ServedFamily::by_rule(const KernelClass& wanted, ServedClass& c) const {
  if (c.rule->how == EngineKernel::How::kPhysics) {
    c.served = {};
    return;
  }
  const ServingSurface its = choose(served_class(*c.rule, wanted), std::string(c.rule->served_by));
  if (!its.surface) {
    c.rule = nullptr;
    return;
  }
  if (c.rule->how == EngineKernel::How::kInstead) {
    c.served = its;
  } else {
    c.replacing = its;
  }
  if (c.rule->how != EngineKernel::How::kSome) widen_replaced(c.served);
}

ServingSurface ServedFamily::own_of_torch(const KernelClass& wanted) const {
  const std::vector<MeasuredGpu> gpus = store_.measured(family_, kTorch, true);
  const auto load = [&](const std::string& id) -> const SurfaceFile& {
    return *store_.surfaces(family_, surface_path(family_.name(), kTorch, id));
  };
  return choose_surface(family_.name(), wanted, gpus, load);
}

ServingSurface ServedFamily::choose(const KernelClass& wanted, const std::string& framework) const {
  const auto load = [&](const std::string& id) -> const SurfaceFile& {
    return *store_.surfaces(family_, surface_path(family_.name(), framework, id));
  };
  // Nothing is nearer than a sweep of the class on the GPU itself.
  const ServingSurface own =
      choose_surface(family_.name(), wanted, store_.measured(family_, framework, true), load);
  if (own.origin == Origin::kMeasured) return own;
  std::vector<MeasuredGpu> gpus = store_.measured(family_, framework);
  std::erase_if(gpus, [&](const MeasuredGpu& g) {
    return !g.own && !family_.same_kernels(wanted, store_.gpu(), store_.relative(g.id));
  });
  ServingSurface s = choose_surface(family_.name(), wanted, gpus, load);
  if (s.surface && s.gpu != store_.gpu().id) {
    s.relative = &store_.relative(s.gpu);
    if (!s.surface->series.empty()) s.surface = &relatives_.emplace_back(as_relative(*s.surface));
    s.latency = latency_ratio(family_.name(), s.surface->kernel_class, store_.gpu(), *s.relative);
  }
  return s;
}

}  // namespace orrery
