// The answer of a processor: what its notes say.
#include "orrery/edge/predict/edge_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/graph/ncnn_param.h"

namespace orrery {
namespace edge_answer_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

EdgeAnswer answer(const EdgeGraph& graph) {
  const Bundle bundle;
  const EdgeDevices devices(bundle);
  const EdgeLaw law = read_edge_law(bundle, "ncnn-cpu");
  const EdgePredictor predictor(law, devices.device("raspberry-pi-5"), devices, {}, "ncnn");
  return predictor.answer(graph, EdgePrecision::kFloat);
}

// One of four layers is unknown: how many there are, which, and their share of elements and time.
TEST(EdgeAnswers, UnknownOpsAreNamedWithTheirShareOfTheWork) {
  const EdgeGraph graph = read_ncnn_param(
      "7767517\n4 4\nInput data 0 1 data 0=64 1=64 2=16\nConvolution c 1 1 data c 0=16 1=3 4=1 "
      "6=2304\nWobble w 1 1 c w\nReLU r 1 1 w r\n",
      "net.param");
  EXPECT_THAT(answer(graph).notes, Contains(AllOf(HasSubstr("1 of 3 nodes"), HasSubstr("Wobble 1"),
                                                  HasSubstr("% of the predicted time"))));
  EXPECT_THAT(answer(edge_model(Bundle(), "mobilenet")).notes,
              Not(Contains(HasSubstr("of the predicted time"))));
}

}  // namespace edge_answer_test
}  // namespace orrery
