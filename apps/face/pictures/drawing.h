// The drawings of an answer, one a file, and the words and places that they share. A drawing is
// empty where the answer has nothing for it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery::face {

// Percentiles of latency over the request rate. Nothing but the rate may differ between points.
std::string draw_load(const Answer& answer);
// Two metrics of each point, and the line of those that no other point beats in both.
std::string draw_front(const Answer& answer);
// The first metric over the key with most values: a line with its band for each combination of the
// other keys, or bars where the key is not a number.
std::string draw_sweep(const Answer& answer);
// The work of each stage or engine over time, of Point::timeline of a single point.
std::string draw_timeline(const Answer& answer);
// The rate of each kernel over its FLOPs per byte, under the roofs of its GPUs.
std::string draw_roofline(const Answer& answer, const Catalog& catalog);
// The longest kernels of the last phase of the first point's step.
std::string draw_kernels(const Answer& answer);
// The time of each phase, stacked by the part of the model.
std::string draw_breakdown(const Answer& answer);
// The memory of a GPU at each point, stacked by class, and its capacity.
std::string draw_memory(const Answer& answer);

// Bars, the first on top.
std::string draw_bars(const DetailBars& bars);

// A JSON value without quotation marks, and a name with spaces in place of '_'.
std::string text_of(const nlohmann::ordered_json& value);
std::string words(std::string name);

// Keys whose values differ between points, in the order of the answer.
std::vector<std::string> varied(const Answer& answer);
// The ones of `keys` that tell points apart which `first` and the keys before do not.
std::vector<std::string> telling(const Answer& answer, const std::vector<std::string>& keys,
                                 const std::string& first);
// The values of `keys` at a point: "tp 8, batch 16".
std::string label_of(const Point& point, const std::vector<std::string>& keys);

// The first of the metrics that some point has; empty: none.
std::string metric_among(const Answer& answer, std::initializer_list<const char*> names);
std::string unit_of(const Answer& answer, const std::string& metric);
// The name, value and unit of a metric.
std::string value_text(const Metric& metric);

// The place of `name` in `names`, where it is added if it is new.
int place_in(std::vector<std::string>& names, const std::string& name);

}  // namespace orrery::face
