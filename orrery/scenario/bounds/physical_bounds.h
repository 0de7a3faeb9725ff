// Ranges that physics allows the metrics of an answer, whoever predicts them: the yardstick of
// `orrery suite score` where nothing was measured.
//
// Bounds follow from counts (parameters, FLOPs, bytes of weights and of KV cache), from the
// question and from the data sheet; no predicted time is in them:
//   times       at least FLOPs / peak rate, and at least (bytes that a pass must read - what the
//               caches can keep from the pass before) / memory bandwidth
//   rates       at most what these times allow, with as many requests under way as the question has
//   collectives at least the bytes through the narrowest cut of the links
//   memory      at least weights and optimizer states; caches at most what the weights leave
//   shares      0 to 100 %
//   counts      3 % about the count from the dimensions (kCounted, bound_rows.h): formats differ in scales and
//               padding
// and nothing is negative. Bounds are of the best that any software could reach with the question's
// model, formats, layout and hardware; a metric that none is known of has none. Requests of random
// length are taken as the shortest.
#pragma once

#include <cstdint>

#include "orrery/hardware/cluster.h"
#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// Each function appends to Point::bounds. The steady state of `load`:
void bound_requests(const ServedModel& served, const SteadyQuestion& load, Point& p);
// A simulated service:
void bound_service(const ServedModel& served, const ServiceQuestion& service, Point& p);
// Training; `p` has the answer's metrics and memory:
void bound_training(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                    double tokens_to_train, Point& p);
// A collective; `p` has the answer's metrics:
void bound_collective(const GroupLink& link, const Gpu& gpu, Point& p);

}  // namespace orrery
