#include "orrery/validate/rows/row_cells.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.h"

namespace orrery {

std::string RowCells::text(const char* name) const {
  return std::string(csv_.text(csv_.column(name)));
}

std::optional<double> RowCells::number(const char* name) const {
  return csv_.optional_number(csv_.column(name));
}

std::optional<std::int64_t> RowCells::whole(const char* name) const {
  const auto v = number(name);
  return v ? std::optional<std::int64_t>(std::llround(*v)) : std::nullopt;
}

int RowCells::whole(const char* name, int otherwise) const {
  return static_cast<int>(whole(name).value_or(otherwise));
}

void read_layout(TrainingPlan& p, const RowCells& get, int gpus) {
  p.tp = get.whole("tp", 1), p.pp = get.whole("pp", 1), p.cp = get.whole("cp", 1);
  p.vp = p.pp > 1 ? get.whole("vp", 1) : 1;
  const int inner = p.tp * p.pp * p.cp;
  if (gpus % inner != 0)
    throw NoData(
        fmt::format("tp {} x pp {} x cp {} does not divide {} GPUs", p.tp, p.pp, p.cp, gpus));
  p.dp = gpus / inner;
}

}  // namespace orrery
