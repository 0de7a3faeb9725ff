// One text that holds several texts by name.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace orrery {

// Each text follows a line "--- # <name>", so that a file of YAML texts is YAML of several
// documents. Lines before the first such line are no part of any text. REQUIRES that each text is
// empty or ends with a line's end.
std::string joined_texts(const std::map<std::string, std::string>& texts);
// The inverse.
std::map<std::string, std::string> split_texts(std::string_view joined);

}  // namespace orrery
