// The readers of AccelForge's files and of its mapping text on any text, and the evaluation of what
// they accept: figures that are no nonsense, in bounded time.
//
// An input is an architecture with a workload and a mapping in one document, or, behind a line
// "----", a mapping as text.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/refusal.h"
#include "orrery/accelerator/architecture/accelforge_architecture.h"
#include "orrery/accelerator/cost/exact_cost.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/mapping/accelforge_mapping.h"
#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/accelerator/problem/accelforge_workload.h"

namespace {

using namespace orrery;

// A figure that a chip may have: none below 0, and none without value.
void require_sane(double figure) {
  if (std::isnan(figure) || figure < 0) std::abort();
}

void evaluate_all(const Chip& chip, const Cascade& cascade, const CascadeMapping& mapping) {
  const CascadeCost cost = cost_cascade(chip, cascade, mapping);
  require_sane(cost.energy);
  require_sane(cost.seconds);
  for (const Overflow& o : overflows(chip, cascade, mapping)) to_text(o, chip, cascade);
  const ExactCascadeCost exact = cost_exact_cascade(chip, cascade, mapping, {});
  require_sane(exact.energy);
  require_sane(exact.cycles);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    constexpr std::string_view kSeparator = "\n----\n";
    const std::size_t end = text.find(kSeparator);
    const Node root = parse_accelforge(text.substr(0, end), "input.yaml");
    const Cascade cascade = read_accelforge_workload(root, "fuzz");
    const Chip chip =
        read_accelforge_architecture(root, {{"input", 8}, {"weight", 8}, {"output", 8}}, "fuzz");
    const CascadeMapping mapping =
        end == std::string_view::npos
            ? read_accelforge_mapping(root, cascade, chip)
            : read_looptree_text(std::string(text.substr(end + kSeparator.size())), "map.txt", 1,
                                 cascade, chip);
    evaluate_all(chip, cascade, mapping);
  });
  return 0;
}
