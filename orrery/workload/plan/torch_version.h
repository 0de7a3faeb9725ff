// Releases of PyTorch, by which the kernels of stacks in PyTorch differ (training_stack.h).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

struct TorchVersion {
  int major = 0, minor = 0;
  auto operator<=>(const TorchVersion&) const = default;
};

// "2.11", "2.11.0", "2.11.0+cu130". InputError: the text is no version of PyTorch 1 or 2.
TorchVersion read_torch_version(std::string_view text);
std::string to_text(TorchVersion version);

// The newest release at a date in years (2025.5: the beginning of July 2025), by the months of
// catalog/training/torch-releases.yaml; none: the date is before all of them.
std::optional<TorchVersion> torch_at(double date);

}  // namespace orrery
