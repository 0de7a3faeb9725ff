// A chip of cores as a source of kernel times: the interface through which every question of a GPU
// is answered (estimate, simulate, train), for a chip of the user's own.
//
// Ops are mapped as follows; times have no launch of a host.
//
//   products          the search over tiles (chip_products.h); experts as a batch of products, one
//                     for each expert in use
//   attention         two products whose scores stay on the chip and the exponentials of the scores
//                     on the vector units, which run beside the arrays; causal attention leaves out
//                     the tiles above the diagonal
//   latent attention  the same with the latent as keys and values; its projections as products
//   norms, softmax    rows on the vector units (chip_rows.h)
//   elementwise, embeddings, optimizers, convolutions, linear attention
//                     pointwise work on the vector units
//   gradients         of attention: 2.5 times the forward pass; of products and elementwise work:
//                     as the same op forward
//
// Sparse attention blocks are refused by name.
#pragma once

#include <memory>

#include "orrery/accelerator/chip/chip_products.h"
#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The model remembers the products that it was asked for, so that a simulation of many steps
// searches for each of them once. Thread-safe. Bounds and origins: analytical, never below the
// roofline of the chip's data sheet. NoData: an op that the chip does not map, a number format that
// neither the arrays nor a wider one of theirs multiply.
std::unique_ptr<KernelModel> make_chip_kernel_model(const CoreChip& chip);

// Traffic and operations of one call of an op; nothing for collectives.
ChipWork work_of(const CoreChip& chip, const Op& op);

// Energy of one call: its actions by the chip's table of energies, without what the chip draws when
// idle. A chip without a table has none; its power is the better figure then.
Joules energy_of(const CoreChip& chip, const ChipWork& work);

}  // namespace orrery
