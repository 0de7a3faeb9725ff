// Drafters of speculative decoding that are made from the model they draft for. All use the
// target's embedding and, except Medusa's heads, its LM head. The products that join hidden state
// and embedding (EAGLE, MTP: 2*hidden x hidden) and Medusa's residual blocks (hidden x hidden) are
// left out: about a tenth of a head's weights, LM head included.
#pragma once

#include "orrery/model/architecture.h"

namespace orrery {

// One layer like the target's last (Li et al. 2024, arXiv:2401.15077).
Architecture eagle_head(const Architecture& target);

// The multi-token-prediction layer that the model was made with (DeepSeek-V3, GLM). NoData if it
// has none.
Architecture mtp_head(const Architecture& target);

// Nothing but an LM head (Cai et al. 2024, arXiv:2401.10774).
Architecture medusa_head(const Architecture& target);

}  // namespace orrery
