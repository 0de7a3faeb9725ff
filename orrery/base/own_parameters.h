// A struct of each of several types: the parameters that policies declare for themselves.
//
// Whoever holds the parameters does not know their types. A policy asks for its own:
//
//   struct GammaParameters { double burstiness = 1; };
//   own.of<GammaParameters>().burstiness
//
// A struct that nobody has set has the defaults of its type. References to a struct stay valid when
// other OwnParameters are assigned to its owner, as those to a member do, so that Fields can borrow
// it.
#pragma once

#include <map>
#include <memory>
#include <typeindex>

namespace orrery {

class OwnParameters {
 public:
  OwnParameters() = default;
  OwnParameters(const OwnParameters& other) { *this = other; }
  OwnParameters& operator=(const OwnParameters& other) {
    if (this == &other) return *this;
    for (auto& [type, slot] : slots_) {
      if (!other.slots_.contains(type)) slot->reset();
    }
    for (const auto& [type, slot] : other.slots_) {
      std::unique_ptr<Slot>& mine = slots_[type];
      if (mine == nullptr) mine = slot->blank();
      mine->assign(*slot);
    }
    return *this;
  }

  template <class Parameters>
  Parameters& of() {
    std::unique_ptr<Slot>& slot = slots_[typeid(Parameters)];
    if (slot == nullptr) slot = std::make_unique<SlotOf<Parameters>>();
    return static_cast<SlotOf<Parameters>&>(*slot).value;
  }
  template <class Parameters>
  const Parameters& of() const {
    static const Parameters kDefaults{};
    const auto at = slots_.find(typeid(Parameters));
    return at == slots_.end() ? kDefaults
                              : static_cast<const SlotOf<Parameters>&>(*at->second).value;
  }

 private:
  struct Slot {
    virtual ~Slot() = default;
    virtual std::unique_ptr<Slot> blank() const = 0;
    virtual void assign(const Slot& other) = 0;  // of the same type
    virtual void reset() = 0;
  };
  template <class Parameters>
  struct SlotOf : Slot {
    std::unique_ptr<Slot> blank() const override { return std::make_unique<SlotOf>(); }
    void assign(const Slot& other) override { value = static_cast<const SlotOf&>(other).value; }
    void reset() override { value = Parameters(); }
    Parameters value;
  };

  std::map<std::type_index, std::unique_ptr<Slot>> slots_;
};

class Fields;

// The declaration of a policy without parameters, for entries of registries.
inline void no_parameters(Fields& /*fields*/, OwnParameters& /*own*/) {}

}  // namespace orrery
