// The sizes of a layer that a tensor parallel size must divide.
#pragma once

#include <string_view>

namespace orrery {

// Collects the rules of a layer for one `tp` and remembers the first that fails.
class TensorRules {
 public:
  static constexpr int kBlock = 128;  // of fp8_block weights

  // `blocks`: widths of MLPs are cut into whole blocks of kBlock.
  constexpr TensorRules(int tp, bool blocks) : tp_(tp), blocks_(blocks) {}

  constexpr void divides(int size, std::string_view what) {
    if (size % tp_ != 0) fail(size, what, Fault::kDivides);
  }
  // tp divides `groups`, or `groups` tp (Width::grouped).
  constexpr void divides_groups(int groups, std::string_view what) {
    if (groups % tp_ != 0 && tp_ % groups != 0) fail(groups, what, Fault::kGroups);
  }
  constexpr void divides_width(int width, std::string_view what) {
    if (width % tp_ != 0) {
      fail(width, what, Fault::kDivides);
    } else if (blocks_ && width / tp_ % kBlock != 0) {
      fail(width, what, Fault::kBlocks);
    }
  }

  // kGroups: neither divides the other. kBlocks: divides, but not into whole blocks.
  enum class Fault { kNone, kDivides, kGroups, kBlocks };
  constexpr Fault fault() const { return fault_; }
  constexpr bool fails() const { return fault_ != Fault::kNone; }
  constexpr int size() const { return size_; }               // that the failed rule is about
  constexpr std::string_view what() const { return what_; }  // its name, such as "attention heads"

 private:
  constexpr void fail(int size, std::string_view what, Fault fault) {
    if (!fails()) size_ = size, what_ = what, fault_ = fault;
  }

  int tp_;
  bool blocks_;
  Fault fault_ = Fault::kNone;
  int size_ = 0;
  std::string_view what_;
};

}  // namespace orrery
