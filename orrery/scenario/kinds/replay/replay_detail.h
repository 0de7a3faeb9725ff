// Where the time of a replayed iteration goes.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A class of work in a replayed trace, something else that takes time, or a stream. Times and
// kernels are of one iteration.
struct ReplayRow {
  enum class Part {
    kClass,   // a class of work; has all times
    kIdle,    // nothing ran on the GPU; has the exposed time
    kPath,    // something else on the path that decides; has the critical time
    kStream,  // has the busy time
  };
  struct Times {
    Seconds busy;      // sum over the kernels
    Seconds exposed;   // while no other class ran on any stream
    Seconds critical;  // on the path that decides the iteration's time
  };
  Part part = Part::kClass;
  std::string name;    // "gemm"; "GPU idle"; "device 0, stream 7"
  double kernels = 0;  // 0 where it is no class or stream
  Times replayed;      // as it was recorded
  Times what_if;       // with what was asked; the same as `replayed` where nothing was
};

struct ReplayDetail : PointDetail {
  std::vector<ReplayRow> rows;
  std::string trace;  // on request

  void add_json(nlohmann::ordered_json& point) const override;
  std::string text(const Point& point) const override;
  std::string markdown(const Point& point) const override;
  Timeline timeline() const override { return {"Timeline of an iteration", trace}; }
};

}  // namespace orrery
