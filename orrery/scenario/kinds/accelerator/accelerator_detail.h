// The part of a point that answers about chips have alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

struct AcceleratorDetail : PointDetail {
  bool explained = false;  // whether the longer text is wanted

  // Cycles and energy, and a line for each part; 80 columns.
  virtual std::string summary() const = 0;
  // The summary, and what it follows from.
  virtual std::string explanation() const { return summary(); }
  virtual nlohmann::ordered_json json() const = 0;
  // Empty: it has no such form.
  virtual std::string csv() const { return ""; }

  void add_json(nlohmann::ordered_json& point) const override { point["accelerator"] = json(); }
  std::string text(const Point&) const override { return explained ? explanation() : summary(); }
  std::string markdown(const Point& p) const override { return "```\n" + text(p) + "```\n"; }
};

}  // namespace orrery
