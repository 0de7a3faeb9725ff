// The message of the error that a call ends in.
#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery {

// The message of the error; empty if the call succeeds. Other errors are thrown on.
template <class Error = InputError, class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace orrery
