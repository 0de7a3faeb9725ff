// A version of NCCL, and what depends on it.
//
// A version is asked for by its first two numbers or by all: "2.27", "2.27.3". The models know
//
//   since when an algorithm exists          TunerAlgorithm::since
//   by which tables a version chooses       nccl_tables(bundle, version)
//   which versions a curve was measured with    FittedCurve::versions, FittedAcross::versions
//   since when a rack is one NVLink domain  kRackDomains
//
// Kernels for symmetric memory (2.27) run only where a user asks for them: NCCL takes them for
// buffers that the application has registered as windows.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct LibraryVersion {
  int major = 0, minor = 0;
  int patch = -1;  // -1: not stated

  auto operator<=>(const LibraryVersion&) const = default;
  // Whether the first two numbers agree: NCCL's releases of one minor version differ in fixes.
  bool same_release(const LibraryVersion& other) const {
    return major == other.major && minor == other.minor;
  }
};

// The oldest version that the models know: the first with ncclSend and ncclRecv, on which
// all-to-alls rest (NCCL user guide, "Point-to-point communication").
inline constexpr LibraryVersion kOldestNccl{2, 7};
// The first version that communicates over the NVLink of several hosts (NCCL user guide,
// "Environment Variables", NCCL_MNNVL_ENABLE).
inline constexpr LibraryVersion kRackDomains{2, 21};

std::string to_text(const LibraryVersion& version);

// "2.27", "2.27.3", "v2.27.3-1". Nothing if the text is no version of NCCL 2.
std::optional<LibraryVersion> parse_library_version(std::string_view text);

// A version that a user asks for. InputError: no version of NCCL 2, or one before kOldestNccl.
LibraryVersion asked_nccl_version(std::string_view text);

// Whether a curve with rows of these versions is one of the asked version. Versions that the
// sources of rows do not state are not in the list.
bool was_measured_with(const std::vector<std::string>& versions, const LibraryVersion& asked);

}  // namespace orrery
