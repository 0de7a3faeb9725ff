// 64 H100 on eight nodes: what laws of training draw jobs for. Read once for all draws.
#pragma once

#include <memory>

#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

struct TrainingWorld {
  Bundle bundle;
  Catalog catalog{bundle};
  Gpu gpu = catalog.gpu("h100-sxm");
  Cluster cluster{catalog, gpu, 64};
  std::unique_ptr<KernelModel> kernels = make_kernel_model(gpu, {}, bundle);
  std::unique_ptr<NetworkModel> network = make_network_model(cluster, {}, "nccl", bundle);
  ConstantTable table = read_constant_table(bundle);
};

}  // namespace orrery
