// The money of rented GPUs: hours times GPUs times the price.
#include "orrery/scenario/kinds/rent/rent_question.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace rent_test {

Answer answer(const char* text) {
  Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(text, "rent.yaml")));
}

TEST(Rent, IsGpusTimesHoursTimesPrice) {
  const Answer a =
      answer("hardware: {gpu: h100-sxm}\nrent: {gpus: [2, 8], time: 10 h}\ncost: {price: 3}\n");
  ASSERT_EQ(a.points.size(), 2u);
  EXPECT_DOUBLE_EQ(a.points[0].find("rent")->value, 60);
  EXPECT_DOUBLE_EQ(a.points[1].find("rent")->value, 240);
}

TEST(Rent, NeedsAPrice) {
  EXPECT_THROW(answer("hardware: {gpu: h100-sxm}\nrent: {gpus: 2}\n"), InputError);
}

}  // namespace rent_test
}  // namespace orrery
