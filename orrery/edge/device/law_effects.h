// Factors of a fitted law beyond that of all rows, by the name of what they belong to: an engine,
// an architecture, a core.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "orrery/base/fields.h"

namespace orrery {

using LawEffects = std::map<std::string, double, std::less<>>;  // natural logarithms

// The logarithm of a factor; 0 for a name that was not fitted.
double effect_of(const LawEffects& effects, std::string_view name);

// Adds a list of {name, beyond} to the fields of a law's file, which is read into `effects`.
void add_effects(Fields& fields, const char* list, LawEffects& effects);

// The list of such a file.
std::string effects_text(const char* list, const LawEffects& effects);

}  // namespace orrery
