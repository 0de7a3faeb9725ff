// Draft models of speculative decoding that are derived from the model they draft for.
//
// All of them use the embedding of the target model and, except for Medusa's heads, its LM head.
// The products that join hidden state and embedding (EAGLE, MTP: 2*hidden x hidden) and Medusa's
// residual blocks (hidden x hidden) are not modelled: about a tenth of a head's weights, LM head
// included.
#pragma once

#include "orrery/model/architecture/architecture.h"

namespace orrery {

// EAGLE: one layer like the last of the target (Li et al. 2024, arXiv:2401.15077).
Architecture eagle_head(const Architecture& target);

// The multi-token-prediction layer that the model was trained with (DeepSeek-V3, GLM). NoData: the
// model has none.
Architecture mtp_head(const Architecture& target);

// Medusa: an LM head alone (Cai et al. 2024, arXiv:2401.10774).
Architecture medusa_head(const Architecture& target);

}  // namespace orrery
