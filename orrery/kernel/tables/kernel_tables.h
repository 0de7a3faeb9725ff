// The measured tables of a kernel family: how a row becomes a call, and how a surface is fitted to
// the calls.
//
// A KernelFamily predicts and knows nothing of tables; what the fit alone needs is here, so that
// code that predicts includes neither the CSV reader nor any fitting code.
//
// Adding tables to a family: one file of this folder that implements KernelTables, and one line in
// kernel_tables.def. A family without a line is served by physics, or by surfaces fitted elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/kernel/families/families.h"

namespace orrery {

// One measured call.
struct KernelSample {
  Op op;
  std::string framework;     // whose kernel it is: "trtllm", "vllm", "sglang", "pytorch"
  std::string kernel_class;  // name of its class, as in the files
  // Hash of the sizes, number formats excluded. A fit leaves out all rows with the same value or
  // none.
  std::uint64_t shape = 0;
};

// Roughness penalties of a fitted surface along one axis, relative to a row of weight 1
// (grid_fit.h).
struct AxisSmoothness {
  // On the squared difference of neighbouring values, divided by their distance.
  double first_difference = 0.001;
  // On the squared deviation of a value from the line between its two neighbours.
  double second_difference = 0.003;
  // On the squared mixed difference over a cell; the geometric mean of the weights of the two axes
  // counts. A surface that is a sum of functions of one coordinate each, jumps included, costs
  // nothing.
  double mixed_difference = 0.04;
};

// Two axes whose sizes have the same effect on a kernel (sequences and heads): the penalty on the
// squared difference of two nodes whose coordinates have the same sum.
struct EquivalentAxes {
  std::size_t first = 0, second = 0;
  double weight = 0;
};

// Differences at and above which a surface may step between two nodes: larger ones cost in
// proportion to their size, smaller ones to their square. 0: all by their square.
struct Steps {
  double second_difference = 0;  // of the deviations that AxisSmoothness::second_difference weighs
  double mixed_difference = 0;
};

// How the surfaces of a family are solved for (grid_fit.h).
struct SurfaceSolving {
  std::vector<AxisSmoothness> smoothness;  // one for each axis
  double huber = 0.05;  // log error above which a row pulls no harder on the surface
  int rounds = 4;       // iterations of the Huber weights and of the steps
  Steps steps = {};
};

class KernelTables {
 public:
  explicit KernelTables(const KernelFamily& family) : family_(family) {}
  virtual ~KernelTables() = default;

  const KernelFamily& family() const { return family_; }

  // File names of the tables that the family is fitted on, without .csv.gz.
  virtual std::vector<std::string> tables() const { return {}; }
  // True if only a sweep of a user's GPU has these tables (sweep_rows.h).
  virtual bool of_sweeps() const { return false; }
  // Reads the current row of `table` into `sample`. Returns false for rows that are not of this
  // family and for rows that are known to be unsound; a comment at each such test says which.
  // InputError: a value that no table has.
  virtual bool read(const CsvReader& row, std::string_view table, KernelSample& sample) const;

  // Smoothness along each axis of the surface, and along each axis of the series.
  virtual std::vector<AxisSmoothness> smoothness() const;
  virtual std::vector<AxisSmoothness> series_smoothness() const;
  virtual EquivalentAxes equivalent_axes() const { return {}; }
  // True if the kernel changes where products of sizes cross a line (operands that outgrow a cache,
  // blocks that no longer fill the GPU). The fit then looks for such lines (boosted_trees.h).
  virtual bool edges() const { return false; }
  // How the surface of a class is solved for: `smoothness`, without steps.
  virtual SurfaceSolving solving() const { return {.smoothness = smoothness()}; }

 protected:
  // Name of the op's class. REQUIRES that the op has one.
  std::string class_name(const Op& op) const;
  // The sample of a row: a call of `op` by the row's framework. `shape`: KernelSample::shape.
  KernelSample sample_of(const CsvReader& row, const Op& op, std::uint64_t shape) const;

 private:
  const KernelFamily& family_;
};

// All tables, in the order of kernel_tables.def.
std::span<const KernelTables* const> all_kernel_tables();
// The tables of a family; of one without a line, tables without rows.
const KernelTables& tables_of(const KernelFamily& family);

#define ORRERY_KERNEL_TABLES(function) const KernelTables& function();
#include "orrery/kernel/tables/kernel_tables.def"
#undef ORRERY_KERNEL_TABLES

}  // namespace orrery
