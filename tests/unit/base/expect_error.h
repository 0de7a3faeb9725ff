// The message of the InputError that `call` must throw.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "orrery/base/error.h"

namespace orrery {

template <class Call>
std::string input_error(Call call) {
  try {
    call();
  } catch (const InputError& e) {
    return e.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

}  // namespace orrery
