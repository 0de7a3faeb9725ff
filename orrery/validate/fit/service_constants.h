// The constants of a serving engine that `orrery fit services` fits, and vectors of them.
//
// A fit varies the logarithms of the constants of all classes of GPUs of an engine: those of the
// first class, then of the second, ... Costs on the host do not depend on the GPU: those of the
// first class hold for all classes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace orrery {

struct ServiceConstant {
  const char* key;   // below the profile
  const char* unit;  // empty: a plain factor
  double start, least, most;
  bool host = false;     // a cost on the host
  bool experts = false;  // determined by models with experts alone
  bool shapes = false;   // of engines with rows that set execution.new_shapes
};

inline constexpr std::array<ServiceConstant, 7> kServiceConstants = {{
    {"execution.host_per_step", "us", 500, 10, 8000},
    // The host time of experts is fitted before the launch of operators: if all models have
    // experts, the rows determine only the sum of both. It starts in the middle of 0.4 and 2.9 ms,
    // which engines written in Python take (docs/lab/2026-11-serving-accuracy.md).
    {"execution.host_per_moe_layer", "us", 1080, 10, 3000, true, true},
    // From the launch of one kernel to an operator of several kernels with its Python code. Lone
    // prompts of dense models set the upper end (tests/unit/scenario/lone_prompt_test.cc).
    {"execution.launch", "us", 40, 2, 50, true},
    {"execution.collective_latency", "us", 0.5, 0.01, 20},
    // The kernels are measured, so that this factor covers unbalanced loads and small kernels only.
    {"kernels.moe_prefill_factor", "", 1, 0.8, 1.3},
    // The start is in the middle of what the 99th percentiles of one engine show
    // (EngineProfile::Execution::shape_start_up).
    {"execution.shape_start_up", "us", 1000000, 1000, 5000000, true, false, true},
    // This constant is fitted last, because it would otherwise absorb the errors of the others.
    {"execution.start_up", "us", 100000, 1000, 5000000},
}};

// Index of a constant of a class in a vector of all classes.
std::size_t place(std::size_t gpu_class, std::size_t constant);
// The vector in which the constants of all classes have their start.
std::vector<double> service_start(std::size_t classes);
// The constants of one class, out of a vector of all classes.
std::vector<double> of_class(const std::vector<double>& x, std::size_t gpu_class);

// A value as the text of a profile: "34.4 us", "1.3".
std::string service_text_of(const ServiceConstant& c, double value);

}  // namespace orrery
