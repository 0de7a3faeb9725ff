#include "orrery/kinds/all_kinds.h"

namespace orrery {

#define KIND(name) const QuestionKind& name##_kind();
#include "orrery/kinds/kinds.def"
#undef KIND

const Kinds& all_kinds() {
  static const Kinds kinds({
#define KIND(name) &name##_kind(),
#include "orrery/kinds/kinds.def"
#undef KIND
  });
  return kinds;
}

}  // namespace orrery
