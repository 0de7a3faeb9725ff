// A systolic array with a fixed dataflow: cycles, stalls, utilisation and traffic of a matrix
// product, in the convention of SCALE-Sim v3.
//
// The array has R x C multiply-adders. A product Z[M, N] = A[M, K] B[K, N] (A is the input feature
// map, B the filter, Z the output feature map) is cut into folds, each of which maps one dimension
// to the rows, one to the columns, and streams the third in time T:
//
//   dataflow              rows  columns  time  cycles of a fold
//   output stationary      M      N       K     T + R + C - 2
//   weight stationary      K      N       M     T + 2 R + C - 2
//   input stationary       K      M       N     T + 2 R + C - 2
//
// Folds run one after the other, those along the rows innermost, and the clock starts at 0: without
// stalls a product takes folds * cycles - 1. Three memories feed the array: A's and B's memory hold
// a part of the operand in use and prefetch another, Z's memory collects results and drains
// (operand_memory.h, result_memory.h).
//
// Source: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
// Accelerators using SCALE-Sim", ISPASS 2020; behaviour of SCALE-Sim v3 (MIT licence).
#pragma once

#include <cstdint>

namespace orrery {

enum class SystolicDataflow { kOutputStationary, kWeightStationary, kInputStationary };

// How long the array waits for words that its memory does not hold yet. `kScaleSim` is the tool's
// count: when a request is answered d cycles after the word was due, 2 d cycles are added, and
// where the answer was early, the surplus is deducted from what other words of that cycle wait.
// `kOnce` waits until the word is there.
enum class LateWords { kScaleSim, kOnce };

struct SystolicArray {
  std::int64_t rows = 8, columns = 8;
  SystolicDataflow dataflow = SystolicDataflow::kOutputStationary;
  // Words of the three memories; half of each is in use, the other half is filled or drained.
  std::int64_t input_words = 8192, filter_words = 8192, output_words = 8192;
  // Words a cycle between each memory and the backing store. `stall_free` takes the read bandwidth
  // to be what the array needs and reports what is then read; the results drain at one word for
  // each column and cycle. The tool's mode CALC is `stall_free`, its mode USER is not.
  bool stall_free = false;
  std::int64_t read_bandwidth = 10, write_bandwidth = 10;
  LateWords late_words = LateWords::kScaleSim;
};

struct MatrixProduct {
  std::int64_t m = 1, n = 1, k = 1;
};

struct SystolicRun {
  std::int64_t cycles = 0, stalls = 0;  // cycles include stalls
  double utilization = 0;               // multiply-adds / (cycles * R * C)
  double mapping_efficiency = 0;        // share of the units that a fold uses, mean over folds
  // Multiply-adds of a fold / (its cycles * R * C), mean over folds. The tool counts C - 1 cycles
  // more for a fold of the weight- and the input-stationary dataflow, and so does this figure.
  double compute_utilization = 0;
  // Words between the memories and the array. With stationary outputs the tool adds R + C writes
  // to those of every fold.
  std::int64_t input_reads = 0, filter_reads = 0, output_writes = 0;
  // Words between the memories and the backing store. Requests are whole lines of the bandwidth,
  // so that these can exceed the operands.
  std::int64_t input_fetches = 0, filter_fetches = 0, output_drains = 0;
};

// InputError: a size or a bandwidth is not positive, a memory has under 100 words, or the product
// more than 2^53 multiply-adds.
SystolicRun run_systolic(const SystolicArray& array, const MatrixProduct& product);

}  // namespace orrery
