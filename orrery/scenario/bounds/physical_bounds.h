// Physical bounds of the metrics of an answer. They hold for any tool that predicts the metrics;
// `orrery suite score` uses them where no measurement exists.
//
// Bounds follow from counts (parameters, FLOPs, bytes of weights and of KV cache), from the
// question and from the data sheet. They contain no predicted time:
//   times        at least FLOPs / peak rate, and at least (bytes that a pass must read - bytes that
//                the caches can keep from the previous pass) / memory bandwidth
//   rates        at most those that these times allow, with the question's number of requests
//   collectives  at least the bytes through the narrowest cut of the links
//   memory       at least weights and optimizer states; caches at most the rest of the memory
//   shares       0 to 100 %
//   counts       within 3 % of the count from the dimensions (kCounted, bound_rows.h), because
//                formats differ in scales and padding
// No figure is negative. A bound is the figure of the best possible software with the model,
// formats, layout and hardware of the question. Requests of random length count as the shortest
// ones. Metrics without a known bound have none.
#pragma once

#include <cstdint>

#include "orrery/hardware/cluster.h"
#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// Appends the bounds of the steady state of `load` to Point::bounds.
void bound_requests(const ServedModel& served, const SteadyQuestion& load, Point& p);
// Appends the bounds of a simulated service.
void bound_service(const ServedModel& served, const ServiceQuestion& service, Point& p);
// Appends the bounds of a training job. `p` has the metrics and memory of the answer.
void bound_training(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                    double tokens_to_train, Point& p);
// Appends the bounds of a collective. `p` has the metrics of the answer.
void bound_collective(const GroupLink& link, const Gpu& gpu, Point& p);

}  // namespace orrery
